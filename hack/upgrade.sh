#!/usr/bin/env bash
# Builds the programs of an earlier commit beside this one's sandbox, for the test that upgrades from it and rolls back to it:
#
#   hack/upgrade.sh COMMIT DIRECTORY
set -euo pipefail
commit=${1:?usage: hack/upgrade.sh COMMIT DIRECTORY} directory=$(realpath -m "${2:?usage: hack/upgrade.sh COMMIT DIRECTORY}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

rm -rf "$directory"
mkdir -p "$directory/bin" "$directory/source"
git archive "$commit" | tar -x -C "$directory/source"
cd "$directory/source"
version=$(sed -n 's|^\tk8s.io/kubernetes v||p' go.mod)
flags="-s -w -X k8s.io/component-base/version.gitVersion=v$version -X k8s.io/component-base/version.gitMajor=1"
flags+=" -X k8s.io/component-base/version.gitMinor=$(cut -d. -f2 <<<"$version")"
go build -ldflags "$flags" -o "$directory/bin/podsequence-scheduler" ./cmd/scheduler
go build -ldflags "$flags" -o "$directory/bin/podsequence-controller" ./cmd/controller
ln -s "$root/bin/sandbox" "$directory/bin/sandbox"
cp -r manifests "$directory/manifests"
rm -rf "$directory/source"
