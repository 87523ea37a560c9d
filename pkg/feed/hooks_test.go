package feed

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// No sequence speaks of the namespace any more when the last hooks of a release run.
func TestHooksAreKnownWhereANamespaceRequiresASequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(1)
		server.kind("namespaces").write(watch.Added, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: "a", UID: "a", Annotations: map[string]string{v1alpha1.RequireSequenceAnnotation: v1alpha1.RequireSequence},
		}})
		server.kind("jobs").write(watch.Added, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: "cleanup", UID: "uid-of-job", Annotations: map[string]string{"helm.sh/hook": "post-delete"},
		}})
		pod := func(name string) *corev1.Pod {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{SchedulerName: "ours"}}
		}
		hook, other := pod("hook"), pod("other")
		hook.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "cleanup", UID: "uid-of-job", Controller: new(true)}}
		server.kind("pods").write(watch.Added, hook)
		server.kind("pods").write(watch.Added, other)
		server.installKinds()
		f := feedOf(server)
		done := make(chan struct{})
		go func() { defer close(done); f.Run(klog.NewContext(t.Context(), logr.Discard())) }()
		t.Cleanup(func() { <-done })
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.True(t, f.Synced())
		assert.False(t, f.engine.Verdict(hook).Held)
		assert.True(t, f.engine.Verdict(other).Held)
	})
}
