package workloads

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

// rollout creates a Rollout of pods labelled app=NAME, which stops after one pod of a new version.
func (s *story) rollout(name string, replicas int) {
	s.Helper()
	s.Create(s.object(fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  strategy: {canary: {maxSurge: 1, maxUnavailable: 0, steps: [{setWeight: 1}, {pause: {}}]}}
  template:`, name, replicas) + fmt.Sprintf(templateYAML, name, "1")))
}

func (s *story) ofKind(apiVersion, kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetNamespace(s.Namespace)
	object.SetName(name)
	return object
}

// setRollout changes fields of a Rollout.
func (s *story) setRollout(name string, value any, path ...string) {
	s.Helper()
	cluster.Change(s.Story, s.ofKind("argoproj.io/v1alpha1", "Rollout", name), func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
			s.Fatal(err)
		}
	})
}

// expecting is a sequence of Database and Application, of which the first expects three pods.
func (s *story) expecting(mode v1alpha1.EnforcementMode) *v1alpha1.PodSequence {
	ps := MakeSequence(s.Namespace, "shop").Mode(mode).Label("Database", "app", "db").Label("Application", "app", "api").Obj()
	ps.Spec.PodGroups[0].ExpectedPods = 3
	return ps
}

// Argo Rollouts creates a ReplicaSet without pods first, and scales it afterwards. A group that expects nothing takes it for ready.
func TestARolloutStartsAfterAnother(t *testing.T) {
	s := newStory(t)
	s.Create(s.expecting(v1alpha1.BootstrapOnly))
	s.rollout("api", 2)
	s.expectHeld("api", 2)
	s.rollout("db", 3)
	db := s.awaitBound("db", 3)
	s.makeReady(db[:2]...)
	s.expectHeld("api", 2)
	s.makeReady(db[2])
	s.awaitBound("api", 2)

	s.setRollout("api", int64(4), "spec", "replicas")
	s.awaitBound("api", 4)
}

func TestPodsOfALaterRolloutWaitForACanaryInContinuousMode(t *testing.T) {
	s := newStory(t)
	s.Create(s.expecting(v1alpha1.Continuous))
	s.rollout("db", 3)
	s.makeReady(s.awaitBound("db", 3)...)
	s.rollout("api", 1)
	s.makeReady(s.awaitBound("api", 1)...)

	s.setRollout("db", "2", "spec", "template", "metadata", "labels", "version")
	canary := s.awaitCanary()
	s.setRollout("api", int64(3), "spec", "replicas")
	s.awaitPods("api", 3)
	s.fence()
	s.expectBound("api", 1)
	s.makeReady(canary)
	s.awaitBound("api", 3)
}

func TestAnAbortedRolloutReleasesWhatWaitedForItsCanary(t *testing.T) {
	s := newStory(t)
	s.Create(s.expecting(v1alpha1.Continuous))
	s.rollout("db", 3)
	s.makeReady(s.awaitBound("db", 3)...)
	s.setRollout("db", "2", "spec", "template", "metadata", "labels", "version")
	s.awaitCanary()
	s.rollout("api", 1)
	s.expectHeld("api", 1)

	rollout := s.ofKind("argoproj.io/v1alpha1", "Rollout", "db")
	if err := s.API.Status().Patch(s.Ctx, rollout, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"abort":true}}`))); err != nil {
		s.Fatal(err)
	}
	s.awaitBound("api", 1)
}
