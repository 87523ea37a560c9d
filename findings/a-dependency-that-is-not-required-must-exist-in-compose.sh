#!/usr/bin/env bash
# compose-go 2.16.2: "required: false" does not let a service depend on one that no file defines.
#
# A dependency with required: false is optional: it is for services that may be absent, such as one that another file or another repository
# brings. One would guess that a project without it loads. It does only if the service is there and switched off by a profile: then the
# dependency stays in the list. A service that no file defines fails the whole project, with the message for required ones.
#
# Seen: with the service in a profile that is off, the project loads; without it, "depends on undefined service".
#
# Needs Go and a network. Prints what comes of both, and fails if that changes.
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
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
)

func load(t *testing.T, other string) error {
	path := filepath.Join(t.TempDir(), "compose.yaml")
	app := "  app: {image: example.com/app, depends_on: {metrics: {condition: service_started, required: false}}}\n"
	if err := os.WriteFile(path, []byte("services:\n"+other+app), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := cli.NewProjectOptions([]string{path}, cli.WithName("shop"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = options.LoadProject(t.Context())
	return err
}

func Test(t *testing.T) {
	off, absent := load(t, "  metrics: {image: example.com/metrics, profiles: [debug]}\n"), load(t, "")
	fmt.Printf("result, in a profile that is off: %v\nresult, not defined: %v\n", off, absent)
	if off != nil || absent == nil || !strings.Contains(absent.Error(), "undefined service") {
		t.Error("want no error, and one about an undefined service")
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { tail -9 out.log; exit 1; }
grep '^result' out.log
echo "compose-go $version: seen as described"
