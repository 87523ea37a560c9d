#!/usr/bin/env bash
# Two sizes that only fall, in lines of Go files that are no tests: the core, and its largest package. hack/size.txt has what they may be.
#   hack/size.sh      fails if a size has grown, or is so much smaller that the file should say so
#   hack/size.sh -w   writes the sizes of today
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

core=(pkg/{sequence,feed,record,plugins,podwriter,controllers/podsequence,controllers/podgroup/podgroupwatch} internal/{definitions,statusbudget,census})
slack=100

# Each package with its size, and all together.
sizes() {
  git ls-files "${core[@]}" | grep '\.go$' | grep -v '_test\.go$' | xargs wc -l | awk '
    $2 == "total" { next }
    { core += $1; sub("/[^/]*$", "", $2); if ((lines[$2] += $1) > largest) largest = lines[$2] }
    END { print "core", core; print "largest", largest }'
}

if [[ ${1:-} == -w ]]; then
  sizes >hack/size.txt
  exit
fi
status=0
while read -r what now _ allowed; do
  if ((now > allowed)); then
    echo "$what: $now lines, and there may be $allowed: delete as much as you add"
  elif ((now < allowed - slack)); then
    echo "$what: $now lines, and there may be $allowed: run hack/size.sh -w"
  else
    continue
  fi
  status=1
done < <(paste -d ' ' <(sizes) hack/size.txt)
exit "$status"
