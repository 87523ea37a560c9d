#!/usr/bin/env bash
# Looks up which known vulnerabilities our programs have: those in code that they call. Exits with 3 if there are some, and with 2
# if nothing was checked, because the vulnerability database cannot be had from here.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

database=${GOVULNDB:-https://vuln.go.dev}
hack/with-progress.sh "building govulncheck" go build -v -modfile=hack/tools/go.mod -o bin/govulncheck golang.org/x/vuln/cmd/govulncheck || exit 2
output=$(bin/govulncheck -db "$database" ./cmd/scheduler ./cmd/controller ./cmd/kubectl-podseq 2>&1)
status=$?
printf '%s\n' "$output"
if ((status == 0 || status == 3)); then
  exit "$status"
fi
printf 'error: nothing was checked' >&2
if [[ $output == *'fetching vulnerabilities'* || $output == *'vulndb format'* || $output == *"${database#file://}"* ]]; then
  printf ': the vulnerability database %s cannot be had from here. Run this where it can, or set GOVULNDB to a copy of it, such as https://mirror.example.com/vulndb or file:///srv/vulndb' "$database" >&2
fi
printf '\n' >&2
exit 2
