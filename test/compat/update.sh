#!/usr/bin/env bash
# Makes, or moves to another patch release, the module that builds an older control plane: test/compat/update.sh 1.34.4
#
# The module has no code: its go.mod names the programs as tools, and `make compat` builds them. As in the module of
# PodSequence itself, each staging module of Kubernetes needs a replace, see hack/update-kubernetes.sh.
set -euo pipefail

version=${1:?usage: test/compat/update.sh 1.MINOR.PATCH}
version=${version#v}
[[ $version =~ ^1\.([0-9]+)\.[0-9]+$ ]] || { echo "error: '$version' is not of the form 1.MINOR.PATCH" >&2; exit 2; }
directory=$(dirname "${BASH_SOURCE[0]}")/1.${BASH_REMATCH[1]}
staging_version=v0.${version#1.}

mkdir -p "$directory"
cd "$directory"
rm -f go.mod go.sum
go mod init "example.com/podsequence/test/compat/$(basename "$PWD")"

go_mod_of_release=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
modules=$(sed -n 's|^\t\(k8s\.io/[a-z0-9-]*\) v0\.0\.0\( .*\)*$|\1|p' "$go_mod_of_release")
[[ -n $modules ]] || { echo "error: found no staging modules in $go_mod_of_release" >&2; exit 1; }

edits=(-require="k8s.io/kubernetes@v$version")
for module in $modules; do
  edits+=(-replace="$module=$module@$staging_version")
done
for program in kube-apiserver kube-controller-manager kube-scheduler; do
  edits+=(-tool="k8s.io/kubernetes/cmd/$program")
done
go mod edit "${edits[@]}"
go mod tidy
