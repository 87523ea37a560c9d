package feed

import (
	"maps"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPodsShareWhatTheyHaveInCommon(t *testing.T) {
	pod := func(name, app string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: strings.Clone("shop"), Name: name, Labels: map[string]string{"app": strings.Clone(app), "tier": "db"},
				OwnerReferences: []metav1.OwnerReference{{UID: types.UID(strings.Clone("owner"))}},
			},
			Spec: corev1.PodSpec{NodeName: strings.Clone("node"), SchedulerName: strings.Clone("ours")},
		}
	}
	i := &podInterner{}
	first, second, other := pod("a", "x"), pod("b", "x"), pod("c", "y")
	for _, p := range []*corev1.Pod{first, second, other} {
		whole := p.DeepCopy()
		i.internPod(p)
		assert.Equal(t, whole, p, "it says what it said")
	}
	same := func(a, b map[string]string) bool {
		return *(*unsafe.Pointer)(unsafe.Pointer(&a)) == *(*unsafe.Pointer)(unsafe.Pointer(&b))
	}
	assert.True(t, same(first.Labels, second.Labels))
	assert.False(t, same(first.Labels, other.Labels))
	shared := func(a, b string) { assert.Same(t, unsafe.StringData(a), unsafe.StringData(b)) }
	shared(first.Namespace, other.Namespace)
	shared(first.Spec.NodeName, other.Spec.NodeName)
	shared(first.Spec.SchedulerName, other.Spec.SchedulerName)
	shared(string(first.OwnerReferences[0].UID), string(other.OwnerReferences[0].UID))
	shared(first.Labels["tier"], other.Labels["tier"])

	without := &corev1.Pod{}
	i.internPod(without)
	assert.Equal(t, &corev1.Pod{}, without)
}

func TestLabelsAreNotTakenForOthers(t *testing.T) {
	i := &podInterner{}
	for _, labels := range []map[string]string{{"a": "b"}, {"ab": ""}, {"a": "", "b": ""}, {"b": "a"}, {"a": "b", "b": ""}} {
		assert.True(t, maps.Equal(labels, i.internLabels(maps.Clone(labels))), "%v", labels)
	}
}
