package workloads

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

// readers let podsequence-controller read the objects that groups of these stories wait for.
const readers = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: podsequence-reads-workloads, labels: {podsequence.example.com/aggregate-to-controller: "true"}}
rules:
- {apiGroups: [argoproj.io], resources: [rollouts], verbs: [get, list, watch]}
- {apiGroups: [leaderworkerset.x-k8s.io], resources: [leaderworkersets], verbs: [get, list, watch]}
`

// untilObject is a sequence of two groups, of which the first waits for an object as well as for its pods.
func (s *story) untilObject(app, apiVersion, kind, condition string) *v1alpha1.PodSequence {
	ps := MakeSequence(s.Namespace, "shop").Label("First", "app", app).Label("Application", "app", "api").Obj()
	ps.Spec.PodGroups[0].Objects = []v1alpha1.ObjectReference{{APIVersion: apiVersion, Kind: kind, Name: app, Until: condition}}
	return ps
}

// A Rollout that is healthy has all of its pods, however many: the group need not say how many.
func TestAGroupWaitsForARolloutThatIsHealthy(t *testing.T) {
	s := newStory(t)
	s.Create(s.untilObject("db", "argoproj.io/v1alpha1", "Rollout", "Healthy"))
	s.rollout("api", 2)
	s.rollout("db", 3)
	db := s.awaitBound("db", 3)
	s.makeReady(db[:2]...)
	s.expectHeld("api", 2)
	s.makeReady(db[2])
	s.awaitBound("api", 2)
}

func TestAGroupWaitsForALeaderWorkerSetThatIsAvailable(t *testing.T) {
	s := newStory(t)
	s.Create(s.untilObject("model", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "Available"))
	s.podsOf("api", 1)
	model := s.leaderWorkerSet("model", 2)
	leader := model.leader()
	s.makeReady(leader)
	s.expectHeld("api", 1)
	s.makeReady(model.addWorkers(leader)...)
	s.expectHeld("api", 1)
	cluster.ChangeStatus(s.Story, s.ofKind("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "model"), func(u *unstructured.Unstructured) {
		u.Object["status"] = map[string]any{"conditions": []any{map[string]any{
			"type": "Available", "status": "True", "reason": "AllGroupsReady", "message": "",
			"lastTransitionTime": metav1.Now().UTC().Format("2006-01-02T15:04:05Z"),
		}}}
	})
	s.awaitBound("api", 1)
}
