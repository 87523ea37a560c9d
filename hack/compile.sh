#!/usr/bin/env bash
# Compiles what packages of a module, and their tests, are linked from, in one go build. Several builds side by side would each compile
# the packages that they share. FLAGS are those of go build, such as -race.
#
#   FLAGS='...' hack/compile.sh MODULE PATTERN...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
module=$1
shift
# Not those that only a test has, nor programs, which are linked one by one.
mapfile -t packages < <("${GO:-go}" -C "$module" list -deps -test -f '{{if and .GoFiles (ne .Name "main") (not .ForTest) (not .Standard)}}{{.ImportPath}}{{end}}' "$@")
what="compiling ${FLAGS:+with $FLAGS }for $([[ $module == . ]] && echo 'the programs and their tests' || echo "$module")"
# shellcheck disable=SC2086 # FLAGS are words
OF=${#packages[@]} exec hack/with-progress.sh "$what" "${GO:-go}" -C "$module" build -v ${FLAGS:-} "${packages[@]}"
