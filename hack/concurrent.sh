#!/usr/bin/env bash
# Names the packages of the product that have locks, atomics or goroutines, for the race detector.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
grep -rlE --include='*.go' --exclude='*_test.go' '^[[:space:]]*("sync(/atomic)?"$|go (func|[a-zA-Z_.]+)\()' apis cmd/controller cmd/kubectl-podseq cmd/scheduler kinds pkg tools |
  xargs -n 1 dirname | sort -u | sed 's|^|./|'
