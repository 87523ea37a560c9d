#!/usr/bin/env bash
# Runs both programs from bin/ against the cluster of $KUBECONFIG (or ~/.kube/config) until Ctrl-C or until one of them
# ends. They act with the permissions of that kubeconfig's user, and without leader election: no other copy may run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

kubeconfig=${KUBECONFIG:-$HOME/.kube/config}
[[ $kubeconfig != *:* ]] || fail "\$KUBECONFIG lists several files, but a scheduler reads one: merge them (kubectl config view --flatten)"
[[ -r $kubeconfig ]] || fail "no kubeconfig at $kubeconfig: set \$KUBECONFIG (for a sandbox: export KUBECONFIG=$PWD/.sandbox/kubeconfig)"
for program in podsequence-scheduler podsequence-controller; do
  [[ -x bin/$program ]] || fail "bin/$program is missing: run make build"
done

config=$(mktemp)
programs=()
stop() {
  trap - EXIT INT TERM
  ((${#programs[@]} == 0)) || kill "${programs[@]}" 2>/dev/null || true
  wait
  rm -f "$config"
}
trap stop EXIT
trap 'exit 130' INT TERM

# The shipped configuration, changed only in what running it here makes necessary.
kubeconfig=$kubeconfig awk '
  /^clientConnection:$/   { print; print "  kubeconfig: \"" ENVIRON["kubeconfig"] "\""; next }
  /^  leaderElect: true$/ { print "  leaderElect: false"; next }
  { print }
' manifests/scheduler-config/scheduler-config.yaml >"$config"
grep -q '^  leaderElect: false$' "$config" && grep -q '^  kubeconfig: ' "$config" ||
  fail "manifests/scheduler-config/scheduler-config.yaml is not laid out as this script expects"

# The kubeconfig also says whom to ask about those who ask for metrics.
bin/podsequence-scheduler --config="$config" --bind-address=127.0.0.1 --health-probe-bind-address=127.0.0.1:8082 \
  --authentication-kubeconfig="$kubeconfig" --authorization-kubeconfig="$kubeconfig" &
programs+=($!)
bin/podsequence-controller --kubeconfig="$kubeconfig" --leader-elect=false --metrics-bind-address=127.0.0.1:8443 \
  --health-probe-bind-address=127.0.0.1:8081 &
programs+=($!)
echo "Both programs run. Readiness: http://127.0.0.1:8082/readyz (scheduler), http://127.0.0.1:8081/readyz (controller)." >&2
wait -n || fail "one of the programs ended: see above"
