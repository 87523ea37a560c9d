// Package book runs the commands of the book as a reader would paste them, on a real control plane with our programs.
package book

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/test/harness/book"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// root is the directory of the module.
const root = "../../.."

// shared is the cluster of all pages, and referee watches it.
var (
	shared  *cluster.Cluster
	referee *ordercheck.Referee
)

func TestMain(m *testing.M) {
	flag.Parse()
	cluster.Main(m, 4, controlplane.Options{Nodes: 3}, func(c *cluster.Cluster) error {
		shared = c
		etcd, err := c.EtcdConfig()
		if err != nil {
			return err
		}
		if referee, err = ordercheck.Start(context.Background(), etcd, ordercheck.Options{}); err != nil {
			return err
		}
		c.AtStop(func() error { referee.Stop(); return nil })
		return nil
	})
}

// Readers save the files that a page has, and paste its commands one block after another. All must succeed, and the order that the
// page promises must be kept.
func TestTheCommandsOfTheBookWork(t *testing.T) {
	pages, err := book.Pages(root)
	require.NoError(t, err)
	t.Run("pages", func(t *testing.T) {
		ran := 0
		for _, page := range pages {
			if !strings.HasPrefix(page.File, "docs/howto/") && !strings.HasPrefix(page.File, "docs/migrate/") && page.File != "docs/quickstart.md" {
				continue
			}
			ran++
			t.Run(strings.TrimSuffix(strings.TrimPrefix(page.File, "docs/"), ".md"), func(t *testing.T) {
				t.Parallel()
				follow(t, page)
			})
		}
		require.Greater(t, ran, 10)
	})
	verdict := ordercheck.Judge(referee.History(t.Context()), ordercheck.JudgeOptions{})
	assert.Empty(t, verdict.Violations, "%s", verdict)
	assert.Empty(t, verdict.FalseRecords, "%s", verdict)
	assert.NotZero(t, verdict.Bindings)
}

// pluginPath puts kubectl podseq on the PATH of a script.
func pluginPath(t *testing.T) string {
	t.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(t, err)
	bin, err = filepath.Abs(bin)
	require.NoError(t, err)
	return fmt.Sprintf("PATH=\"$PATH:%s\"\n", bin)
}

// follow does what a page says, and checks what comes of it.
func follow(t *testing.T, page book.Page) {
	directory := t.TempDir()
	commands := 0
	wanted := maps.Clone(outcomes[page.File])
	for _, section := range sectionsOf(page) {
		want := wanted[section.heading]
		delete(wanted, section.heading)
		if want.from != "" {
			startFrom(t, directory, want.from)
		}
		ran := 0
		for _, block := range section.blocks {
			if name := block.SaveAs(); name != "" {
				require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(block.Text), 0o600))
				continue
			}
			if block.Info != "sh" {
				continue
			}
			ran++
			script := fmt.Sprintf("set -euo pipefail; cd '%s'; %s\n%s", directory, pluginPath(t), block.Text)
			output, err := shared.Shell(t, script)
			require.NoError(t, err, "%s:%d\n%s\n%s", page.File, block.Number, block.Text, output)
			t.Logf("%s:%d\n%s\n%s", page.File, block.Number, block.Text, output)
		}
		commands += ran
		if want.check != nil {
			require.NotZero(t, ran, "section %q of %s has no commands", section.heading, page.File)
			want.check(t)
		} else if outcomes[page.File] != nil {
			require.Zero(t, ran, "nothing checks what the commands of section %q of %s lead to: see outcomes", section.heading, page.File)
		}
	}
	assert.NotZero(t, commands, "%s has no commands", page.File)
	assert.Empty(t, wanted, "sections that %s does not have", page.File)
}
