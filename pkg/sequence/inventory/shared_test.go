package inventory

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/internal/podgroups"
)

// waitingPods are pods without a node, any two of which differ in what they ask of a node, or in their gates or PodGroups.
var waitingPods = map[string]func(*corev1.Pod){
	"nothing":              func(*corev1.Pod) {},
	"a gate":               func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "a"}} },
	"two gates":            func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "a"}, {Name: "b"}} },
	"a gate of both names": func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "ab"}} },
	// No API server checks the name of a scheduler.
	"a scheduler whose name reads like a gate": func(p *corev1.Pod) { p.Spec.SchedulerName = "ours\x00a" },
	"a host":       func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "a"} },
	"another host": func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "b"} },
	"a node of the same name": func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
				{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}},
			}}},
		}}}
	},
	"a PodGroup":       func(p *corev1.Pod) { p.Labels = map[string]string{podgroups.CoschedulingLabel: "a"} },
	"another PodGroup": func(p *corev1.Pod) { p.Labels = map[string]string{podgroups.CoschedulingLabel: "b"} },
}

func TestPodsShareWhatTheyAskOfANode(t *testing.T) {
	shared := &Interner{}
	keep := func(name string, change func(*corev1.Pod)) *Pod {
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: strings.Clone("shop"), Name: name}, Spec: corev1.PodSpec{SchedulerName: strings.Clone("ours")}}
		change(object)
		view := ViewPod(object)
		shared.Intern(&view, NoPod())
		same := ViewPod(object)
		assert.True(t, view.CountsAs(&same), "nothing is lost")
		return &view
	}
	kept := map[string]*Pod{}
	for name, change := range waitingPods {
		kept[name] = keep("first", change)
	}
	for name, change := range waitingPods {
		again := keep("second", change)
		for other, first := range kept {
			if name == other {
				assert.Same(t, first.common, again.common, name)
				continue
			}
			assert.NotSame(t, first.common, again.common, "%s and %s", name, other)
			assert.False(t, first.CountsAs(again), "%s and %s", name, other)
		}
		assert.Same(t, unsafe.StringData(kept[name].Namespace), unsafe.StringData(again.Namespace))
		assert.Same(t, unsafe.StringData(kept[name].SchedulerName), unsafe.StringData(again.SchedulerName))
	}
}

func TestPodsShareTheTypesOfTheirConditions(t *testing.T) {
	shared := &Interner{}
	view := func(types ...string) *Pod {
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}
		for _, condition := range types {
			object.Status.Conditions = append(object.Status.Conditions,
				corev1.PodCondition{Type: corev1.PodConditionType(strings.Clone(condition)), Status: corev1.ConditionTrue})
		}
		p := ViewPod(object)
		return &p
	}
	first, second, other := view("A", "B"), view("A", "B"), view("A")
	for _, p := range []*Pod{first, second, other} {
		shared.Intern(p, NoPod())
	}
	assert.Same(t, first.conditions.types, second.conditions.types)
	assert.NotSame(t, first.conditions.types, other.conditions.types)
	other.Renew(view("A", "B"), shared)
	assert.Same(t, first.conditions.types, other.conditions.types, "a version that counts as the one before shares them, too")
	assert.Nil(t, view().conditions)
}

func TestWhatIsSharedIsBounded(t *testing.T) {
	shared := &Interner{}
	for n := range 3 * maxShared {
		view := ViewPod(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: strings.Repeat("a", n)},
			Spec:       corev1.PodSpec{SchedulerName: strings.Repeat("b", n), NodeSelector: map[string]string{strings.Repeat("c", n): ""}},
		})
		shared.Intern(&view, NoPod())
	}
	assert.LessOrEqual(t, shared.commons.Len(), 2*maxShared)
}
