package podsequence

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
	. "example.com/podsequence/test/harness/builders"
)

// fixedTargets are the namespaces where the pods of sequences live, separated by spaces.
type fixedTargets map[types.NamespacedName]string

func (f fixedTargets) TargetNamespaces(key types.NamespacedName) (namespaces []string, ok bool) {
	text, ok := f[key]
	return strings.Fields(text), ok
}

func TestTargetsTellWhereTheHeldPodsLive(t *testing.T) {
	own, far := types.NamespacedName{Namespace: "shop", Name: "own"}, types.NamespacedName{Namespace: "shop", Name: "far"}
	for name, tc := range map[string]struct {
		before, now fixedTargets
		changed     []types.NamespacedName
		want        []string
	}{
		"its own namespace": {
			now: fixedTargets{own: "shop"}, changed: []types.NamespacedName{own}, want: []string{"shop"},
		},
		"another namespace": {
			now: fixedTargets{far: "target"}, changed: []types.NamespacedName{far}, want: []string{"target"},
		},
		"several sequences of one namespace are one change": {
			now: fixedTargets{own: "shop", far: "shop"}, changed: []types.NamespacedName{own, far}, want: []string{"shop"},
		},
		"one across namespaces": {
			now: fixedTargets{{Name: "all"}: "shop target"}, changed: []types.NamespacedName{{Name: "all"}}, want: []string{"shop", "target"},
		},
		"one across namespaces that is in fewer than before": {
			before: fixedTargets{{Name: "all"}: "shop target"}, now: fixedTargets{{Name: "all"}: "shop"},
			changed: []types.NamespacedName{{Name: "all"}}, want: []string{"shop", "target"},
		},
		"one across namespaces that is gone": {
			before: fixedTargets{{Name: "all"}: "shop target"}, changed: []types.NamespacedName{{Name: "all"}}, want: []string{"shop", "target"},
		},
		"a sequence that is gone": {
			before: fixedTargets{own: "shop"}, changed: []types.NamespacedName{own}, want: []string{"shop"},
		},
		"a sequence that is gone and whose pods lived elsewhere": {
			before: fixedTargets{far: "target"}, changed: []types.NamespacedName{far}, want: []string{"shop", "target"},
		},
		"a sequence that names another namespace than before": {
			before: fixedTargets{far: "target"}, now: fixedTargets{far: "other"},
			changed: []types.NamespacedName{far}, want: []string{"other", "target"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			targets := newTargets(tc.before, func(namespace string) { got = append(got, namespace) })
			targets.tell(sets.New(tc.changed...))
			got, targets.engine = nil, tc.now
			targets.tell(sets.New(tc.changed...))
			slices.Sort(got)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestChangedSequencesAreChangedHolds(t *testing.T) {
	var got []string
	d := &dispatcher{queue: newQueue(), targets: newTargets(fixedTargets{shop: "target"}, func(namespace string) { got = append(got, namespace) })}
	d.dispatch(sequence.Changes{Sequences: sets.New(shop)})
	assert.Equal(t, []string{"target"}, got)
}

func TestNothingIsHeldBeforeEverythingIsKnown(t *testing.T) {
	why := "the list of pods is not complete"
	engine := sequence.NewEngine(sequence.Config{SchedulerNames: []string{"podsequence-scheduler"}})
	engine.ApplySequence(MakeSequence("shop", "shop").Label("Database", "app", "db").Label("Application", "app", "api").Obj())
	holds := &Holds{engine: engine, why: func() string { return why }}
	pod := st.MakePod().Namespace("shop").Name("").SchedulerName("podsequence-scheduler").Label("app", "api").Obj()
	hold, known := holds.WouldHold(pod)
	assert.False(t, known)
	assert.False(t, hold.Held())
	why = ""
	hold, known = holds.WouldHold(pod)
	assert.True(t, known)
	assert.True(t, hold.Held())
}

// A queued workload and a paused Deployment have no pods whose events would tell.
func TestANamespaceThatChangesIsAChangedHold(t *testing.T) {
	namespace := func(version string, edit func(*corev1.Namespace)) *corev1.Namespace {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", ResourceVersion: version}}
		edit(ns)
		return ns
	}
	for name, edit := range map[string]func(*corev1.Namespace){
		"it requires a sequence": func(ns *corev1.Namespace) {
			ns.Annotations = map[string]string{v1alpha1.RequireSequenceAnnotation: v1alpha1.RequireSequence}
		},
		"a sequence selects it": func(ns *corev1.Namespace) { ns.Labels = map[string]string{"team": "red"} },
	} {
		t.Run(name, func(t *testing.T) {
			engine := sequence.NewEngine(sequence.Config{SchedulerNames: []string{"podsequence-scheduler"}})
			var got []string
			d := &dispatcher{queue: newQueue(), targets: newTargets(engine, func(namespace string) { got = append(got, namespace) })}
			labelled := func(key, value string) *v1alpha1.LabelSelector {
				return &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}}
			}
			cluster := &v1alpha1.ClusterPodSequence{ObjectMeta: metav1.ObjectMeta{Name: "all", UID: "all", ResourceVersion: "1", Generation: 1}}
			for _, app := range []string{"db", "api"} {
				cluster.Spec.PodGroups = append(cluster.Spec.PodGroups, v1alpha1.ClusterPodGroup{
					NamespaceSelector: labelled("team", "red"), PodGroup: v1alpha1.PodGroup{Name: app, PodSelector: labelled("app", app)},
				})
			}
			d.dispatch(engine.ApplyClusterSequence(cluster))
			plain, changed := func(*corev1.Namespace) {}, edit
			d.dispatch(engine.ApplyNamespace(namespace("1", plain)))
			pod := st.MakePod().Namespace("shop").Name("").SchedulerName("podsequence-scheduler").Label("app", "api").Obj()
			for i, edit := range []func(*corev1.Namespace){changed, plain} {
				got = nil
				d.dispatch(engine.ApplyNamespace(namespace(fmt.Sprint(i+2), edit)))
				assert.Equal(t, i == 0, engine.WouldHold(pod).Held())
				assert.Contains(t, got, "shop")
			}
		})
	}
}
