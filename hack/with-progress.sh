#!/usr/bin/env bash
# Runs a command that may be quiet for minutes, and says every few seconds that it is still at work:
#
#   hack/with-progress.sh "building sandbox" go build -v ./cmd/sandbox
#
# The command's output is shown if it fails. `go build -v` names each package it compiles, which is counted: of OF at most, if that is set.
set -uo pipefail

what=$1
shift
output=$(mktemp)
trap 'rm -f "$output"' EXIT

"$@" >"$output" 2>&1 &
command=$!
trap 'kill "$command" 2>/dev/null' INT TERM

began=$SECONDS
told=0
while kill -0 "$command" 2>/dev/null; do
  if ((SECONDS - began >= told + 5)); then
    told=$((SECONDS - began))
    printf '%s: %d s, %d%s packages done\n' "$what" "$told" "$(wc -l <"$output")" "${OF:+ of about $OF}"
  fi
  sleep 0.2
done

wait "$command"
status=$?
if ((status != 0)); then
  cat "$output" >&2
  printf '%s failed after %d s\n' "$what" "$((SECONDS - began))" >&2
elif ((told > 0)); then
  printf '%s: done after %d s\n' "$what" "$((SECONDS - began))"
fi
exit "$status"
