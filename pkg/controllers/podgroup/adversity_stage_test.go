package podgroup

import (
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const pending, failed, succeeded = corev1.PodPending, corev1.PodFailed, corev1.PodSucceeded

// expect reconciles until the cache has all labels. Then exactly these pods have the label, names separated by spaces, and
// each event that was sent contains all the texts given for it, separated by "|".
func (s *stage) expect(labelled string, reports ...string) {
	s.Helper()
	require.NoError(s, s.reconcile())
	var pods corev1.PodList
	require.NoError(s, s.server.List(s.Context(), &pods, client.InNamespace("train")))
	var names []string
	for i := range pods.Items {
		if p := &pods.Items[i]; options.isLabelled(p) {
			names = append(names, p.Name)
			s.updateIn(s.cache, p.DeepCopy(), func(o client.Object) { o.SetLabels(p.Labels) })
			s.labels.gone(p)
		}
	}
	slices.Sort(names)
	require.Equal(s, labelled, strings.Join(names, " "))
	got := s.newEvents()
	require.Len(s, got, len(reports), "%v", got)
	for i, report := range reports {
		for part := range strings.SplitSeq(report, "|") {
			require.Contains(s, got[i], part)
		}
	}
}

func (s *stage) updateIn(c client.Client, object client.Object, edit func(client.Object)) {
	s.Helper()
	for _, write := range []func(client.Object) error{
		func(o client.Object) error { return c.Update(s.Context(), o) },
		func(o client.Object) error { return c.Status().Update(s.Context(), o) },
	} {
		require.NoError(s, c.Get(s.Context(), client.ObjectKeyFromObject(object), object))
		edit(object)
		require.NoError(s, write(object))
	}
}

// edit changes an object in the API server and in the cache.
func (s *stage) edit(object client.Object, edit func(client.Object)) {
	s.Helper()
	for _, c := range []client.Client{s.cache, s.server} {
		s.updateIn(c, object.DeepCopyObject().(client.Object), edit)
	}
}

func (s *stage) set(name string, edits ...podEdit) {
	s.Helper()
	s.edit(pod(name), func(o client.Object) {
		for _, edit := range edits {
			edit(o.(*corev1.Pod))
		}
	})
}

func (s *stage) runs(names ...string) {
	s.Helper()
	for _, name := range names {
		s.set(name, phase(corev1.PodRunning))
	}
}

// terminate begins to delete an object in the foreground. The object stays for now.
func (s *stage) terminate(object client.Object) {
	s.Helper()
	s.deleteWith(metav1.FinalizerDeleteDependents, object)
}

func (s *stage) deleteWith(finalizer string, object client.Object) {
	s.Helper()
	s.edit(object, func(o client.Object) { o.SetFinalizers([]string{finalizer}) })
	for _, c := range []client.Client{s.cache, s.server} {
		require.NoError(s, c.Delete(s.Context(), object.DeepCopyObject().(client.Object)))
	}
}

// remove deletes an object at once, even if it is terminating.
func (s *stage) remove(object client.Object) {
	s.Helper()
	for _, c := range []client.Client{s.cache, s.server} {
		o := object.DeepCopyObject().(client.Object)
		require.NoError(s, c.Get(s.Context(), client.ObjectKeyFromObject(o), o))
		o.SetFinalizers(nil)
		require.NoError(s, c.Update(s.Context(), o))
		require.NoError(s, client.IgnoreNotFound(c.Delete(s.Context(), o)))
	}
}

func (s *stage) pass(d time.Duration) { s.clock.SetTime(s.clock.Now().Add(d)) }

// restart is what a new process knows: nothing but the objects.
func (s *stage) restart() {
	s.labels, s.memories = newLabeller(options, s.server, s.cache), map[types.NamespacedName]*memory{}
}

// replicaSet is one that makes pods of the group.
func replicaSet(uid types.UID, replicas int32) *appsv1.ReplicaSet {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "train", Name: "rs-" + string(uid), UID: uid}}
	set.Spec.Replicas = &replicas
	set.Spec.Template.Labels = map[string]string{DefaultNameLabel: "gang"}
	return set
}

func inReplicaSet(uid types.UID) podEdit {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs-" + string(uid), UID: uid, Controller: ptr.To(true)},
		}
	}
}

func orphaned(p *corev1.Pod) { p.OwnerReferences = nil }

// makes gives a Job the group in its template.
func makes(j *batchv1.Job) *batchv1.Job {
	j.Spec.Template.Labels = map[string]string{DefaultNameLabel: "gang"}
	return j
}

func parallelism(n int32) func(client.Object) {
	return func(o client.Object) { o.(*batchv1.Job).Spec.Parallelism = &n }
}

func replicas(n int32) func(client.Object) {
	return func(o client.Object) { o.(*appsv1.ReplicaSet).Spec.Replicas = &n }
}

func completed(second int64) func(client.Object) {
	return func(o client.Object) {
		o.(*batchv1.Job).Status.Conditions = []batchv1.JobCondition{
			{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(second, 0)},
		}
	}
}
