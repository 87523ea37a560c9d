package removal

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/tools/holds"
)

func TestPodsThatAPolicyGaveToPodSequence(t *testing.T) {
	const gate = "podsequence.example.com/sequence-gate"
	byGate, byScheduler := holds.Hold{Gates: gate}, holds.Hold{Scheduler: "podsequence-scheduler"}
	web := holds.Workload{Kind: "deployment", Namespace: "shop", Name: "web"}
	for name, tc := range map[string]struct {
		owner     holds.Workload
		hold      holds.Hold
		templates map[holds.Workload]holds.Hold
		want      string
	}{
		"are deleted, for their template needs no change": {web, byScheduler, map[holds.Workload]holds.Hold{web: {}},
			"kubectl delete pod --ignore-not-found -n shop a b"},
		"only lose the gate that a policy added": {web, byGate, map[holds.Workload]holds.Hold{web: {}},
			`kubectl patch pod -n shop a b -p '{"spec":{"schedulingGates":[{"$patch":"delete","name":"` + gate + `"}]}}'`},
		"need a change of the template if it has the gate, although theirs was lifted": {web, byScheduler, map[holds.Workload]holds.Hold{web: byGate},
			`kubectl patch deployment -n shop web -p '{"spec":{"template":{"spec":{"schedulerName":"default-scheduler",` +
				`"schedulingGates":[{"$patch":"delete","name":"` + gate + `"}]}}}}'`},
		"are as those of every template that is not known": {web, byScheduler, nil,
			`kubectl patch deployment -n shop web -p '{"spec":{"template":{"spec":{"schedulerName":"default-scheduler"}}}}'`},
		"of a Job are created anew with it, for a pod that is deleted counts as failed": {
			holds.Workload{Kind: "job", Namespace: "shop", Name: "import"}, byScheduler,
			map[holds.Workload]holds.Hold{{Kind: "job", Namespace: "shop", Name: "import"}: {}},
			`kubectl get job -n shop import -o yaml | kubectl patch --local -f - -o yaml -p '{"spec":{"selector":null,"template":{` +
				`"metadata":{"labels":{"batch.kubernetes.io/controller-uid":null,"controller-uid":null}},` +
				`"spec":{"schedulerName":"default-scheduler"}}}}' | kubectl replace --force -f -`},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, podCommand(podGroup{tc.owner, tc.hold}, tc.templates, []string{"a", "b"}))
		})
	}
}
