#!/usr/bin/env bash
# Moves the module to another Kubernetes release: hack/update-kubernetes.sh 1.37.1
#
# k8s.io/kubernetes requires its staging modules at v0.0.0, which no proxy serves, so each needs a replace with the
# release's v0.x.y. Which modules those are is read from the release's own go.mod.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${1:?usage: hack/update-kubernetes.sh 1.MINOR.PATCH}
version=${version#v}
[[ $version =~ ^1\.[0-9]+\.[0-9]+$ ]] || { echo "error: '$version' is not of the form 1.MINOR.PATCH" >&2; exit 2; }
staging_version=v0.${version#1.}

[[ -f go.mod ]] || go mod init example.com/podsequence

go_mod_of_release=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
modules=$(sed -n 's|^\t\(k8s\.io/[a-z0-9-]*\) v0\.0\.0\( .*\)*$|\1|p' "$go_mod_of_release")
[[ -n $modules ]] || { echo "error: found no staging modules in $go_mod_of_release" >&2; exit 1; }

edits=(-require="k8s.io/kubernetes@v$version" -require="k8s.io/api@$staging_version")
for module in $modules; do
  edits+=(-replace="$module=$module@$staging_version")
done
# What an earlier release had in staging and this one has not must go.
for stale in $(go mod edit -json | sed -n 's/^\t\t\t"Path": "\(k8s\.io\/[a-z0-9-]*\)".*/\1/p' | sort -u); do
  grep -qx "$stale" <<<"$modules" || edits+=(-dropreplace="$stale")
done
go mod edit "${edits[@]}"

# Direct requirements on staging modules follow the release; the replaces decide what is built.
for module in $(go mod edit -json | sed -n 's/^\t\t\t"Path": "\(k8s\.io\/[a-z0-9-]*\)".*/\1/p' | sort -u); do
  if grep -qx "$module" <<<"$modules" && grep -q "^[[:space:]]*$module v" go.mod; then
    go mod edit -require="$module@$staging_version"
  fi
done

go mod tidy
hack/modules.sh update
echo "go.mod now stands on Kubernetes v$version ($(wc -w <<<"$modules") staging modules). Next: make generate test verify"
