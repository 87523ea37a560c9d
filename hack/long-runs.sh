#!/usr/bin/env bash
# Says how much of what the long runs judge has changed since they ran. Their pages carry the commit of the run.
#
#   hack/long-runs.sh        fails if more lines were added or changed than the bounds below allow
#   hack/long-runs.sh 0      fails if any was: what a release needs
#
# The bounds are generous as long as the engine is being rewritten: each must be lowered when its run was repeated, and never raised.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

engine='pkg/sequence'
# kinds is where some of them were.
programs='apis cmd/scheduler cmd/controller internal kinds pkg'

# name; bound in lines; page; the words before the commit there; what the run judges
runs="random worlds;5000;docs/proof/long-runs.md;\| commit \| ;$programs
mutants;30000;docs/proof/long-runs.md;[0-9] (survived|harmless), on [-0-9]+ at commit .;$programs
random histories;5000;docs/proof/long-runs.md;[-0-9]+, with the engine of commit .;$engine
fuzzing;20000;docs/proof/long-runs.md;ten minutes with the engine of commit .;$engine
benchmarks;30000;docs/proof/benchmarks.md;Measured on [-0-9]+ at commit .;$programs
compatibility;30000;docs/versions.md;[0-9]+[.][0-9]+[.][0-9]+ at commit .;$programs"

# commits PAGE WORDS: the commits that follow these words.
commits() {
  tr '\n' ' ' <"$1" | grep -oE "$2[0-9a-f]{7,40}" | grep -oE '[0-9a-f]{7,40}$' | sort -u
}

status=0
while IFS=';' read -r name bound page words judged; do
  bound=${1:-$bound}
  mapfile -t found < <(commits "$page" "$words")
  if ((${#found[@]} == 0)); then
    echo "$name: $page names no commit"
    status=1
    continue
  fi
  most=-1 oldest=
  for commit in "${found[@]}"; do
    if ! git cat-file -e "$commit^{commit}" 2>/dev/null; then
      echo "$name: $page names the commit $commit, which this clone lacks: fetch the whole history (git fetch --unshallow)"
      status=1
      continue
    fi
    # shellcheck disable=SC2086 # paths
    lines=$(git diff --numstat -M "$commit" HEAD -- $judged ':!*_test.go' ':!*/testdata/*' | awk '{ n += $1 } END { print n + 0 }')
    ((lines <= most)) || { most=$lines oldest=$commit; }
  done
  if ((most > bound)); then
    echo "$name: $most lines of what it judges are newer than its commit ${oldest:0:8}, more than $bound: run it again ($page)"
    status=1
  else
    echo "$name: $most lines newer than its commit ${oldest:0:8}, at most $bound ($page)"
  fi
done <<<"$runs"
exit "$status"
