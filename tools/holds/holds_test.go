package holds

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

const ourGate = "podsequence.example.com/sequence-gate"

func TestHoldInSpec(t *testing.T) {
	spec := func(scheduler string, gates ...string) *corev1.PodSpec {
		s := &corev1.PodSpec{SchedulerName: scheduler}
		for _, gate := range gates {
			s.SchedulingGates = append(s.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
		}
		return s
	}
	gone := []string{"podsequence-scheduler"}
	for name, tc := range map[string]struct {
		spec *corev1.PodSpec
		gone []string
		want string
	}{
		"a pod of the cluster's own scheduler is not held":                {spec: spec("default-scheduler"), gone: gone, want: ""},
		"a pod of our scheduler is held":                                  {spec: spec("podsequence-scheduler"), gone: gone, want: "schedulerName podsequence-scheduler"},
		"a pod of our scheduler is not held while that is still deployed": {spec: spec("podsequence-scheduler"), want: ""},
		"a pod with our gate is held":                                     {spec: spec("default-scheduler", ourGate), gone: gone, want: "gate " + ourGate},
		"a gate of others is not for us to list":                          {spec: spec("default-scheduler", "other.example.com/x"), gone: gone, want: ""},
		"a prefix is a whole one":                                         {spec: spec("default-scheduler", "podsequence.example.com.evil/x"), gone: gone, want: ""},
		"both are said": {
			spec: spec("podsequence-scheduler", "other.example.com/x", ourGate, "podsequence.example.com/b"), gone: gone,
			want: "schedulerName podsequence-scheduler; gate " + ourGate + ", podsequence.example.com/b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, Finder{tc.gone, []string{"podsequence.example.com/"}}.InSpec(tc.spec).String())
		})
	}
}

func TestPodCommand(t *testing.T) {
	byGate, byBoth := Hold{Gates: ourGate}, Hold{Scheduler: "podsequence-scheduler", Gates: ourGate}
	const gatePatch = `"schedulingGates":[{"$patch":"delete","name":"` + ourGate + `"}]`
	const bothPatch = `{"schedulerName":"default-scheduler",` + gatePatch + `}`
	for name, tc := range map[string]struct {
		owner Workload
		hold  Hold
		pods  []string
		want  string
	}{
		"gates are removed from pods, whoever owns them": {
			owner: Workload{"leaderworkerset", "shop", "lws"}, hold: byGate, pods: []string{"a", "b"},
			want: `kubectl patch pod -n shop a b -p '{"spec":{` + gatePatch + `}}'`,
		},
		"a bare pod of our scheduler is created anew": {
			owner: Workload{"pod", "shop", "a"}, hold: byBoth, pods: []string{"a"},
			want: `kubectl get pod -n shop a -o yaml | kubectl patch --local -f - -o yaml -p '{"spec":` + bothPatch + `}' | kubectl replace --force -f -`,
		},
		"a Deployment replaces its pods": {
			owner: Workload{"deployment", "shop", "web"}, hold: byBoth, pods: []string{"web-1", "web-2"},
			want: `kubectl patch deployment -n shop web -p '{"spec":{"template":{"spec":` + bothPatch + `}}}'`,
		},
		"a StatefulSet needs its pod deleted": {
			owner: Workload{"statefulset", "shop", "db"}, hold: byBoth, pods: []string{"db-0"},
			want: `kubectl patch statefulset -n shop db -p '{"spec":{"template":{"spec":` + bothPatch + `}}}' && kubectl delete pod --ignore-not-found -n shop db-0`,
		},
		"a label is taken out of the template": {
			owner: Workload{"daemonset", "shop", "agent"}, hold: Hold{Scheduler: "podsequence-scheduler", Sequence: "shop"}, pods: []string{"agent-1"},
			want: `kubectl patch daemonset -n shop agent -p '{"spec":{"template":{"metadata":{"labels":{"podsequence.example.com/sequence":null}},` +
				`"spec":{"schedulerName":"default-scheduler"}}}}' && kubectl delete pod --ignore-not-found -n shop agent-1`,
		},
		"an owner of an unknown kind must be changed by hand": {
			owner: Workload{"leaderworkerset", "shop", "lws"}, hold: byBoth, pods: []string{"a", "b"},
			want: "# take schedulerName podsequence-scheduler; gate " + ourGate + " out of the pod template of leaderworkerset/lws, if it is there, then:\n" +
				"  kubectl delete pod --ignore-not-found -n shop a b",
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, tc.owner.PodCommand(tc.hold, tc.pods)) })
	}
}

func TestTemplateCommand(t *testing.T) {
	for name, tc := range map[string]struct {
		workload Workload
		hold     Hold
		want     string
	}{
		"the template of a CronJob is that of its Jobs": {
			workload: Workload{"cronjob", "shop", "nightly"}, hold: Hold{Scheduler: "podsequence-scheduler"},
			want: `kubectl patch cronjob -n shop nightly -p '{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"schedulerName":"default-scheduler"}}}}}}'`,
		},
		"a label needs no change of the spec": {
			workload: Workload{"deployment", "shop", "web"}, hold: Hold{Sequence: "shop"},
			want: `kubectl patch deployment -n shop web -p '{"spec":{"template":{"metadata":{"labels":{"podsequence.example.com/sequence":null}}}}}'`,
		},
		"a Job is created anew without its selector and the labels that belong to it": {
			workload: Workload{"job", "shop", "import"}, hold: Hold{Scheduler: "podsequence-scheduler", Sequence: "shop"},
			want: `kubectl get job -n shop import -o yaml | kubectl patch --local -f - -o yaml -p '{"spec":{"selector":null,"template":{"metadata":{"labels":` +
				`{"batch.kubernetes.io/controller-uid":null,"controller-uid":null,"podsequence.example.com/sequence":null}},` +
				`"spec":{"schedulerName":"default-scheduler"}}}}' | kubectl replace --force -f -`,
		},
		"a kind that is not known has no command": {workload: Workload{"leaderworkerset", "shop", "lws"}, hold: Hold{Sequence: "shop"}, want: ""},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, tc.workload.TemplateCommand(tc.hold)) })
	}
}

func TestHoldInTemplate(t *testing.T) {
	finder := Finder{[]string{"podsequence-scheduler"}, []string{"podsequence.example.com/"}}
	template := &corev1.PodTemplateSpec{}
	assert.Equal(t, Hold{}, finder.InTemplate(template))
	template.Labels = map[string]string{"podsequence.example.com/sequence": "shop"}
	assert.Equal(t, Hold{Sequence: "shop"}, finder.InTemplate(template))
	template.Spec.SchedulerName = "podsequence-scheduler"
	assert.Equal(t, "schedulerName podsequence-scheduler; label podsequence.example.com/sequence", finder.InTemplate(template).String())
}
