package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Whoever deletes a release whose database is not ready must not wait for the database.
func TestHooksThatDeleteAReleaseWaitForNobody(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Annotate(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}, v1alpha1.RequireSequenceAnnotation, v1alpha1.RequireSequence)
	shop := s.sequence("shop").Mode(v1alpha1.Continuous).Label("Database", "tier", "db").Label("All else", "", "").Obj()
	s.Create(shop)
	s.createPods(s.pod("db").Label("tier", "db"), s.pod("web").Label("tier", "web"))
	s.awaitBound("db")
	hook := func(name, annotation, value string) string {
		job := s.job(name, name, 1, 1)
		job.Annotations = map[string]string{annotation: value}
		s.Create(job)
		return s.awaitWorking(name, 1)[0]
	}

	before := hook("before", "helm.sh/hook", "pre-delete")
	s.succeed(before)
	assert.Empty(t, s.getPod("web").Spec.NodeName) // no fence: the namespace would hold its pods, too

	s.remove(shop)
	s.createPods(s.pod("late").Label("tier", "late"))
	s.succeed(hook("after", "helm.sh/hook", "post-delete"))
	s.succeed(hook("after-argo", "argocd.argoproj.io/hook", "PostDelete"))
	assert.Empty(t, s.getPod("late").Spec.NodeName, "the namespace still requires a sequence")
}
