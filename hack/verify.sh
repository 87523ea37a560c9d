#!/usr/bin/env bash
# Checks everything that can be checked without running the programs. Says all that is wrong, not only the first.
#
#   hack/verify.sh              checks all
#   hack/verify.sh generated    checks generated files only: it writes them, and puts them back as they were
#   hack/verify.sh rest         checks all others, and writes no file that anything is built from
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

part=${1:-all}
failures=0
check() { # check TITLE COMMAND...: passes if the command exits 0
  local title=$1 output
  shift
  if output=$("$@" 2>&1); then
    printf 'ok      %s\n' "$title"
  else
    printf 'FAILED  %s\n%s\n' "$title" "$output"
    failures=$((failures + 1))
  fi
}

# unchanged COMMAND... PATHS after '--': passes if the command leaves the paths as they are.
unchanged() {
  local command=()
  while [[ $1 != -- ]]; do command+=("$1"); shift; done
  shift
  local before
  before=$(mktemp -d)
  cp -r --parents "$@" "$before"
  "${command[@]}" || return 1
  local status=0 path
  for path in "$@"; do
    diff -r "$before/$path" "$path" || status=1
    rm -rf "$path"
    cp -r "$before/$path" "$path"
  done
  rm -rf "$before"
  ((status == 0)) || echo "out of date: run '${command[*]}' and commit"
  return "$status"
}

formatted() {
  local unformatted
  unformatted=$(git ls-files '*.go' | xargs gofmt -l)
  [[ -z $unformatted ]] || { echo "gofmt -w:"; echo "$unformatted"; return 1; }
}

shell_syntax() {
  local script status=0
  for script in $(git ls-files '*.sh' .ci/run); do
    bash -n "$script" || status=1
  done
  return "$status"
}

# Checks the alert rules and the dashboard's queries, and runs the rules' unit tests.
alert_rules() {
  local directory status=0
  directory=$(mktemp -d)
  go build -modfile=hack/tools/go.mod -tags=remove_all_sd -o "$directory/promtool" github.com/prometheus/prometheus/cmd/promtool &&
    go run ./hack/generate -promtool "$directory" &&
    cp hack/generate/monitoring/alerts-test.yaml "$directory" &&
    (cd "$directory" && ./promtool check rules rules.yaml dashboard.yaml && ./promtool test rules alerts-test.yaml) || status=1
  rm -rf "$directory"
  return "$status"
}

# lint DIRECTORY: looks at the packages of the module there, by the one configuration that there is.
lint() {
  go -C "$1" tool -modfile="$PWD/hack/tools/go.mod" golangci-lint run --config "$PWD/.golangci.yaml"
}

# Packages that are not listed have still to come so far.
walls() {
  go run ./hack/walls -most 10 internal cmd pkg tools/{holds,podseqctl/{operate,release,snapshot,text,timeline},programflags,sandbox} test hack
}

# The modules that are not the product's: all in CI, elsewhere those that changed. hack/modules.sh looks at the versions of those that
# are built with its packages.
modules() {
  local module status=0 changed
  changed=$(go run ./hack/check -modules) || return 1
  for module in hack/images hack/charts hack/release cmd/sandbox test/bench/schedulerperf test/real test/gitops test/ecosystem test/ecosystem/programs/*; do
    [[ -n ${CI:-} ]] || grep -qxF "$module" <<<"$changed" || continue
    go -C "$module" mod tidy -diff && lint "$module" || status=1
  done
  return "$status"
}

if [[ $part != rest ]]; then
  check "generated files" unchanged make --no-print-directory generate -- apis manifests/crds docs charts
fi
if [[ $part != generated ]]; then
  check "formatting" formatted
  check "shell syntax" shell_syntax
  check "go.mod is tidy" go mod tidy -diff
  check "other modules" modules
  check "one version in all modules" hack/modules.sh check
  check "alert rules and dashboard" alert_rules
  check "links and examples of the documentation" go test ./test/docs
  check "site" make --no-print-directory site
  check "size of the core" hack/size.sh
  check "methods beside their types" walls
  check "age of the long runs" hack/long-runs.sh
  check "vet, import directions and lint" lint .
fi

exit "$((failures > 0))"
