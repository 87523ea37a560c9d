package podgroup

import (
	"sync"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// witness watches the pods of a namespace from its beginning. A label is right if at some moment since the pod was created, in this group,
// all of its group ran, and were as many as the test says.
type witness struct {
	lock  sync.Mutex
	sizes map[string]int // by group, as far as the test says
	pods  map[types.UID]*corev1.Pod
	due   map[types.UID]bool // of pods whose group has been seen to run since they were created
	early []string           // pods that had the label too early

	labels map[string]int // how many pods of a group were labelled
}

func (s *story) watch() *witness {
	w := &witness{
		sizes: map[string]int{}, pods: map[types.UID]*corev1.Pod{}, due: map[types.UID]bool{}, labels: map[string]int{},
	}
	events := s.Watch(s.Ctx, &corev1.PodList{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range events.ResultChan() {
			w.see(event)
		}
	}()
	s.Cleanup(func() {
		events.Stop()
		<-done
		assert.Empty(s, w.early, "pods labelled before all of their group ran")
	})
	return w
}

func (w *witness) see(event watch.Event) {
	pod, ok := event.Object.(*corev1.Pod)
	if !ok {
		return
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	before := w.pods[pod.UID]
	if before != nil && before.Labels[nameLabel] != pod.Labels[nameLabel] {
		delete(w.due, pod.UID) // what the other group did is no matter here
	}
	if labelled(pod) && (before == nil || !labelled(before)) {
		if !w.due[pod.UID] {
			w.early = append(w.early, pod.Name)
		}
		w.labels[pod.Labels[nameLabel]]++
	}
	w.pods[pod.UID] = pod
	if event.Type == watch.Deleted {
		delete(w.pods, pod.UID)
	}
	w.judge(pod.Labels[nameLabel])
}

// judge notes the pods of a group that are due to be labelled.
func (w *witness) judge(group string) {
	var members []types.UID
	for uid, pod := range w.pods {
		if pod.Labels[nameLabel] != group || pod.DeletionTimestamp != nil || replaced(pod) {
			continue
		}
		if pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodSucceeded {
			return
		}
		members = append(members, uid)
	}
	if len(members) >= max(1, w.sizes[group]) {
		for _, uid := range members {
			w.due[uid] = true
		}
	}
}

// expect says how many pods a group has.
func (w *witness) expect(group string, size int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.sizes[group] = size
}

// labelsOf is how many pods of a group have been labelled.
func (w *witness) labelsOf(group string) int {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.labels[group]
}

func labelled(pod *corev1.Pod) bool { return pod.Labels[readyLabel] == "true" }

func replaced(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed && len(pod.OwnerReferences) > 0
}
