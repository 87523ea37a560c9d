#!/usr/bin/env bash
# Packages the Helm charts as VERSION into a directory, with images of a repository:
#
#   hack/charts.sh v1.2.3 registry.example.com/team/podsequence dist/charts
#
# With SOURCE_DATE_EPOCH, two archives of the same sources are the same.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$1 repository=$2 directory=$3
# What git describes is a version as Helm wants it only if there is a tag.
chart_version=${version#v}
[[ $chart_version =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]] || chart_version=0.0.0-g$chart_version

mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
charts=$(mktemp -d)
trap 'rm -rf "$charts"' EXIT
cp -r charts/. "$charts"
for file in values.yaml files/defaults.yaml; do
  sed -i "s|^  repository: podsequence\$|  repository: $repository|" "$charts/podsequence/$file"
  grep -qxF "  repository: $repository" "$charts/podsequence/$file" ||
    { echo "error: charts/podsequence/$file is not laid out as this script expects" >&2; exit 1; }
done
rm -f "$directory"/*.tgz
for chart in podsequence-crds podsequence; do
  go -C hack/charts tool helm package "$charts/$chart" --version "$chart_version" --app-version "$version" --destination "$directory"
done
