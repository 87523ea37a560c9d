#!/usr/bin/env bash
# Names the packages of the product that have locks, atomics or goroutines, for the race detector: with fake those whose tests have a fake
# clock (testing/synctest), with real the others, and without an argument all.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
grep -rlE --include='*.go' --exclude='*_test.go' '^[[:space:]]*("sync(/atomic)?"$|go (func|[a-zA-Z_.]+)\()' apis cmd/controller cmd/kubectl-podseq cmd/scheduler internal pkg tools |
  xargs -n 1 dirname | sort -u | while read -r package; do
  clock=real
  if grep -qs '"testing/synctest"' "$package"/*_test.go; then clock=fake; fi
  if [[ ${1:-$clock} == "$clock" ]]; then printf './%s\n' "$package"; fi
done
