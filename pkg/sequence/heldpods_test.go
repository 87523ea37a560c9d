package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHeldPods(t *testing.T) {
	engine := newEngine()
	created := func(name, version string, seconds int64) *corev1.Pod {
		pod := makePod(name, version).Obj()
		pod.CreationTimestamp = metav1.Unix(seconds, 0)
		return pod
	}
	assert.Zero(t, engine.HeldPods().Pods)
	oldest := time.Unix(800, 0).UTC()
	engine.Tick(time.Unix(1000, 0))
	engine.ApplySequence(shop().Obj())
	two, three := created("two", "5", 900), created("three", "6", 800)
	engine.ApplyPod(created("one", "4", 700))
	engine.ApplyPod(two)
	engine.ApplyPod(three)
	assert.Equal(t, HeldPods{2, oldest}, engine.HeldPods(), "nothing holds the first group")

	engine.Tick(time.Unix(1010, 0))
	ready := makePod("one", "7").Node("n").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj()
	engine.ApplyPod(ready)
	assert.Equal(t, HeldPods{1, oldest}, engine.HeldPods())

	three = three.DeepCopy()
	three.DeletionTimestamp, three.ResourceVersion = &metav1.Time{}, "9"
	engine.ApplyPod(three)
	assert.Zero(t, engine.HeldPods().Pods, "a pod that is being deleted waits for nothing")
	engine.RemoveSequence(shopKey, "10")
	assert.Zero(t, engine.HeldPods().Pods)
}
