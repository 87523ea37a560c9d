#!/usr/bin/env bash
# Keeps the modules together that are built with the product's packages: cmd/sandbox and test/bench/schedulerperf have what only the sandbox and
# benchmarks need, so that go.mod names nothing else than the programs and their tests. test/real has tests that most machines cannot run, and
# test/ecosystem has those that need programs of others.
#
#   hack/modules.sh update   gives them the versions and replaces of go.mod, and tidies all
#   hack/modules.sh check    fails if a module that go.mod names has another version elsewhere, or is in no program and not known as such
#
# One version of each module is what users get tested, and what the build cache is shared by.
set -euo pipefail
export LC_ALL=C # one order for sort, join and comm
cd "$(dirname "${BASH_SOURCE[0]}")/.."

modules=(cmd/sandbox test/bench/schedulerperf test/real test/ecosystem)

# What go.mod names and our programs do not contain on Linux: what tests use, and what cobra and a terminal need on Windows.
# docs/contributing/modules.md has this list, too.
not_in_programs=(
  github.com/Azure/go-ansiterm
  github.com/aclements/go-moremath
  github.com/cockroachdb/datadriven
  github.com/creack/pty
  github.com/inconshreveable/mousetrap
  github.com/stretchr/testify
  github.com/yuin/gopher-lua
  go.uber.org/goleak
  golang.org/x/perf
)

# versions MODULE: each module that its build may use, and what replaces it.
versions() {
  go -C "$1" list -m -f '{{if not .Main}}{{.Path}} {{if .Replace}}{{.Replace.Version}}{{else}}{{.Version}}{{end}}{{end}}' all |
    grep -v '^example\.com/' | sort
}

# required MODULE: the modules that its go.mod names.
required() {
  go -C "$1" mod edit -json | sed -n '/"Require"/,/^\t\]/s/^\t\t\t"Path": "\(.*\)",$/\1/p' | grep -v '^example\.com/' | sort
}

# linked: the modules that our programs contain.
linked() {
  GOOS=linux go list -deps -f '{{with .Module}}{{.Path}}{{end}}' ./cmd/scheduler ./cmd/controller ./cmd/kubectl-podseq | sort -u
}

update() {
  local module replace
  for module in "${modules[@]}"; do
    while read -r replace; do
      go -C "$module" mod edit -replace="$replace"
    done < <(sed -n 's/^replace \(.*\) => \(.*\) \(v.*\)$/\1=\2@\3/p' go.mod)
    go -C "$module" mod tidy
  done
  go mod tidy
}

check() {
  local module status=0 difference
  for module in "${modules[@]}"; do
    difference=$(join <(versions .) <(versions "$module") | join - <(required .) | awk '$2 != $3 { print "  " $1 ": " $2 " in go.mod, " $3 " in " m }' m="$module/go.mod")
    [[ -z $difference ]] || { printf 'versions differ; go get one of them in both, or run hack/modules.sh update:\n%s\n' "$difference"; status=1; }
  done
  difference=$(comm -3 <(required . | comm -23 - <(linked)) <(printf '%s\n' "${not_in_programs[@]}" | sort))
  [[ -z $difference ]] || { printf 'go.mod names modules that no program contains, other than this script says:\n%s\n' "$difference"; status=1; }
  return "$status"
}

case ${1:-} in
  update | check) "$1" ;;
  *) echo "usage: hack/modules.sh update|check" >&2; exit 2 ;;
esac
