#!/usr/bin/env bash
# compose-go 2.16.2: a second Compose file that names a dependency in the short form turns condition service_healthy into service_started.
#
# depends_on has a short form, a list of names, and a long form with conditions. One would guess that a list in an override file adds names, and
# leaves a condition alone that it says nothing of, as an override that leaves out "restart" leaves that alone. But a name in a list stands for
# the condition service_started, which is merged over the one before. So an override written for one more dependency, in the short form and with
# the earlier name repeated, lets the service start before its database is healthy. No warning says so.
#
# Seen: after {db: {condition: service_healthy, restart: true}} and [db], the condition is service_started, and restart is still true.
#
# Needs Go and a network. Prints the merged dependency, and fails if the condition is kept.
set -euo pipefail

version=2.16.2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
go mod edit "-require=github.com/compose-spec/compose-go/v2@v$version"

cat >compose_test.go <<'GO'
package finding

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
)

func Test(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, content := range []string{
		"services:\n  db: {image: example.com/db}\n  app: {image: example.com/app, depends_on: {db: {condition: service_healthy, restart: true}}}\n",
		"services:\n  app: {depends_on: [db]}\n",
	} {
		path := filepath.Join(dir, fmt.Sprintf("compose-%d.yaml", i))
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	options, err := cli.NewProjectOptions(paths, cli.WithName("shop"), cli.WithWorkingDirectory(dir))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	merged := project.Services["app"].DependsOn["db"]
	fmt.Printf("merged: condition %s, restart %t\n", merged.Condition, merged.Restart)
	if merged.Condition != "service_started" || !merged.Restart {
		t.Error("want service_started and true")
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { tail -9 out.log; exit 1; }
grep '^merged' out.log
echo "compose-go $version: seen as described"
