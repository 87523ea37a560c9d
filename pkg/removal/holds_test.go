package removal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const ourGate = "podsequence.example.com/sequence-gate"

func TestHoldOf(t *testing.T) {
	spec := func(scheduler string, gates ...string) *corev1.PodSpec {
		s := &corev1.PodSpec{SchedulerName: scheduler}
		for _, gate := range gates {
			s.SchedulingGates = append(s.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
		}
		return s
	}
	r := &Remover{Options: Options{GatePrefixes: []string{"podsequence.example.com/"}}}
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
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, r.holdOf(tc.spec, tc.gone).String()) })
	}
}

func TestPodCommand(t *testing.T) {
	byGate, byBoth := hold{gates: ourGate}, hold{scheduler: "podsequence-scheduler", gates: ourGate}
	const gatePatch = `"schedulingGates":[{"$patch":"delete","name":"` + ourGate + `"}]`
	const bothPatch = `{"schedulerName":"default-scheduler",` + gatePatch + `}`
	for name, tc := range map[string]struct {
		owner workload
		hold  hold
		pods  []string
		want  string
	}{
		"gates are removed from pods, whoever owns them": {
			owner: workload{"leaderworkerset", "shop", "lws"}, hold: byGate, pods: []string{"a", "b"},
			want: `kubectl patch pod -n shop a b -p '{"spec":{` + gatePatch + `}}'`,
		},
		"a bare pod of our scheduler is created anew": {
			owner: workload{"pod", "shop", "a"}, hold: byBoth, pods: []string{"a"},
			want: `kubectl get pod -n shop a -o yaml | kubectl patch --local -f - -o yaml -p '{"spec":` + bothPatch + `}' | kubectl replace --force -f -`,
		},
		"a Deployment replaces its pods": {
			owner: workload{"deployment", "shop", "web"}, hold: byBoth, pods: []string{"web-1", "web-2"},
			want: `kubectl patch deployment -n shop web -p '{"spec":{"template":{"spec":` + bothPatch + `}}}'`,
		},
		"a StatefulSet needs its pod deleted": {
			owner: workload{"statefulset", "shop", "db"}, hold: byBoth, pods: []string{"db-0"},
			want: `kubectl patch statefulset -n shop db -p '{"spec":{"template":{"spec":` + bothPatch + `}}}' && kubectl delete pod --ignore-not-found -n shop db-0`,
		},
		"an owner of an unknown kind must be changed by hand": {
			owner: workload{"leaderworkerset", "shop", "lws"}, hold: byBoth, pods: []string{"a", "b"},
			want: "# take schedulerName podsequence-scheduler; gate " + ourGate + " out of the pod template of leaderworkerset/lws, then:\n" +
				"  kubectl delete pod --ignore-not-found -n shop a b",
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, tc.owner.podCommand(tc.hold, tc.pods)) })
	}
}

func TestReadObjects(t *testing.T) {
	for name, tc := range map[string]struct {
		in        string
		want      []string
		wantError string
	}{
		"documents, some of them empty": {
			in:   "---\nkind: A\nmetadata: {name: a}\n---\n# nothing\n---\nkind: B\nmetadata: {name: b}\n",
			want: []string{"a", "b"},
		},
		"nothing at all":       {in: "", wantError: "there are no objects in it: give the file that was applied"},
		"no name":              {in: "kind: A\n", wantError: "document 1 has no kind or no name"},
		"something else":       {in: "{", wantError: "decode document 1"},
		"a second that is bad": {in: "kind: A\nmetadata: {name: a}\n---\n- a list\n", wantError: "decode document 2"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := ReadObjects(strings.NewReader(tc.in))
			if tc.wantError != "" {
				require.ErrorContains(t, err, tc.wantError)
				return
			}
			require.NoError(t, err)
			var names []string
			for _, object := range objects {
				names = append(names, object.GetName())
			}
			assert.Equal(t, tc.want, names)
		})
	}
}
