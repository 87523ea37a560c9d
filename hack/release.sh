#!/usr/bin/env bash
# Puts a release into dist/: images, charts, manifests, the kubectl plugin, notes, and checksums of them all. It publishes nothing.
# With a KEY it signs them too. Called by `make release`, which sets VERSION, CREATED, IMG, PLUGIN_PLATFORMS, GO, LDFLAGS, KEY, REPOSITORY
# and DOWNLOADS.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

[[ $VERSION =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ && $VERSION != *-dirty && ! $VERSION =~ -[0-9]+-g[0-9a-f]+$ ]] ||
  fail "$VERSION is not the version of a release: commit everything, and tag the commit: git tag -a v1.2.3 -m v1.2.3"
grep -qE "^## \[?${VERSION//./\\.}\]?( |\$)" CHANGELOG.md ||
  fail "CHANGELOG.md has no section \"## $VERSION\": say there what users get"
for chart in podsequence podsequence-crds; do
  older=hack/charts/testdata/older/$VERSION/$chart.yaml
  cmp -s "charts/$chart/values.yaml" "$older" ||
    fail "$older is not charts/$chart/values.yaml: copy it there, so that tests upgrade from this release, and commit it before the tag"
done
hack/long-runs.sh 0 || fail "the long runs are not those of this release: run them again, and commit their pages before the tag"
[[ $IMG != *@* ]] || fail "IMG must be REPOSITORY:TAG, is $IMG"
# A build takes long: what signing needs is looked at first.
if [[ -n $KEY ]]; then
  [[ -r $KEY ]] || fail "there is no key $KEY: make one with make release-key KEY=$KEY"
  [[ -n $REPOSITORY ]] || fail "REPOSITORY is missing: the provenance names the repository of the sources, such as https://git.example.com/team/podsequence"
  git ls-files --error-unmatch release.pub >/dev/null 2>&1 ||
    fail "the commit has no release.pub: users take the public key from the repository, so commit it before the tag"
fi

rm -rf dist
mkdir -p dist
make --no-print-directory images VERSION="$VERSION" IMG="$IMG"
make --no-print-directory dist VERSION="$VERSION" IMG="$IMG"
make --no-print-directory charts VERSION="$VERSION" IMG="$IMG"

programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
for platform in $PLUGIN_PLATFORMS; do
  os=${platform%/*} name=kubectl-podseq-${platform/\//-}
  [[ $os != windows ]] || name+=.exe
  CGO_ENABLED=0 GOOS=$os GOARCH=${platform#*/} hack/with-progress.sh "building kubectl-podseq for $platform" \
    "$GO" build -v -trimpath -buildvcs=false -ldflags "$LDFLAGS" -o "$programs/$name" ./cmd/kubectl-podseq
done
sources=${REPOSITORY:-https://example.com/podsequence}
"$GO" -C hack/images run . -source "$PWD" -only kubectl-podseq -platforms "$PLUGIN_PLATFORMS" -notices "$programs/THIRD_PARTY_LICENSES"
"$GO" -C hack/release run . plugin -dir "$PWD/dist" -programs "$programs" -beside "$PWD/LICENSE" -beside "$programs/THIRD_PARTY_LICENSES" -beside "$PWD/cmd/kubectl-podseq/kubectl_complete-podseq" \
  -version "$VERSION" -created "$CREATED" -repository "$sources" -downloads "${DOWNLOADS:-$sources/releases/download/$VERSION}"
"$GO" -C hack/release run . notes -dir "$PWD/dist" -changelog "$PWD/CHANGELOG.md" -version "$VERSION" -repository "$sources"

(cd dist && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
[[ -z $KEY ]] || make --no-print-directory sign-release VERSION="$VERSION" IMG="$IMG" KEY="$KEY" REPOSITORY="$REPOSITORY"
printf 'dist/ has %s: %s files. Check them with: cd dist && sha256sum -c SHA256SUMS\n' "$VERSION" "$(wc -l <dist/SHA256SUMS)"
