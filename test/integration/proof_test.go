package integration

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// A pod that nobody released in its turn says nothing about the groups before its own.
func TestAPodBoundBeforeItsSequenceProvesNothing(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Run("a pod of our scheduler that was bound before the sequence was created", func(t *testing.T) {
		s := newStory(t)
		s.createPods(s.pod("early"))
		s.awaitBound("early")
		s.expectSecondTierWaits()
	})
	t.Run("a pod that was created on a node", func(t *testing.T) {
		s := newStory(t)
		s.createPods(s.pod("early").Node("node-0"))
		s.expectSecondTierWaits()
	})
	t.Run("a pod that was bound by hand, with the sequence there", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.twoTiers())
		s.createPods(s.pod("db"), s.pod("early"))
		s.awaitBound("db")
		s.bindByHand("early")
		s.violates = []string{"early"}
		s.createPods(s.gated("app"))
		s.expectTurn("app")
	})
	t.Run("a pod that was bound by hand before the sequence was created", func(t *testing.T) {
		s := newStory(t)
		s.createPods(s.pod("early").SchedulerName("nobody"))
		s.bindByHand("early")
		s.expectSecondTierWaits()
	})
}

// twoTiers is a sequence of pods by name. Of the second tier "early" is bound before its turn.
func (s *story) twoTiers() *v1alpha1.PodSequence {
	return s.sequence("shop").Pods("Database", "db").Pods("Application", "early", "app").Obj()
}

// expectSecondTierWaits creates the sequence over a pod that is bound already, and sees the others start in order.
func (s *story) expectSecondTierWaits() {
	s.Helper()
	s.Create(s.twoTiers())
	s.createPods(s.gated("app"), s.pod("db"))
	s.awaitBound("db")
	s.expectTurn("app")
}

// expectTurn sees that a pod waits until db is ready.
func (s *story) expectTurn(name string) {
	s.Helper()
	s.expectHeld(name)
	assert.NotEmpty(s, gates(s.getPod(name)))
	assert.NotContains(s, s.getPod("early").Annotations, v1alpha1.ReleasedAnnotation)
	s.makeReady("db")
	s.awaitBound(name)
	s.expectProof(name)
}

// expectProof says that a pod has the proof of its release by the sequence "shop".
func (s *story) expectProof(name string) {
	s.Helper()
	pod := s.getPod(name)
	assert.Contains(s, pod.Annotations[v1alpha1.ReleasedAnnotation], fmt.Sprintf("%s %s/", pod.UID, s.getSequence("shop").UID))
}

func TestReleasedPodsCarryTheProof(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Pods("Database", "db").Pods("Application", "app", "gated", "stock").Obj())
	s.createPods(s.pod("db"), s.pod("app"), s.gated("gated"), s.gated("stock").SchedulerName(stockScheduler), s.pod("free"))
	s.awaitBound("db", "free")
	s.makeReady("db")
	for _, name := range []string{"app", "gated", "stock"} {
		s.awaitBound(name)
		s.expectProof(name)
		assert.Contains(t, s.getPod(name).Annotations, cluster.ReadyAfter, "its own annotations are kept")
	}
	s.expectProof("db")
	assert.NotContains(t, s.getPod("free").Annotations, v1alpha1.ReleasedAnnotation)
}

// Both programs are away while the pods of the first tier go, and with them everything that could be seen of it. The record in
// status is all there is.
func TestTheRecordKeepsProgress(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, makeLater := range map[string]func(s *story){
		"for our scheduler":    func(s *story) { s.createPods(s.gated("later")) },
		"for other schedulers": func(s *story) { s.createPods(s.gated("later").SchedulerName(stockScheduler)) },
	} {
		t.Run(name, func(t *testing.T) {
			env := exclusively(t)
			s := newStoryIn(t, env)
			s.Create(s.sequence("shop").Pods("Database", "db").Pods("Application", "app", "later").Obj())
			s.createPods(s.pod("db"), s.pod("app"))
			s.awaitBound("db")
			s.makeReady("db")
			s.awaitBound("app")
			s.fence()

			ours := []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController}
			for _, program := range ours {
				require.NoError(t, env.Kill(s.Ctx, program))
			}
			s.remove(s.getPod("db"))
			for _, program := range ours {
				require.NoError(t, env.StartComponent(s.Ctx, program))
			}
			makeLater(s)
			s.awaitBound("later")
		})
	}
}

func TestOnlyOurProgramsWriteTheProof(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	tenant := s.Namespace + "-tenant"
	user := s.as(tenant)
	s.allowPods(tenant)
	s.createPods(s.gated("pod"), s.pod("bound"))
	s.awaitBound("bound")
	forged := fmt.Sprintf(`{"metadata":{"annotations":{%q:"forged"}}}`, v1alpha1.ReleasedAnnotation)
	patch := func(patch string, options ...client.SubResourcePatchOption) error {
		raw := client.RawPatch(types.MergePatchType, []byte(patch))
		if len(options) > 0 {
			return user.Status().Patch(s.Ctx, s.getPod("bound"), raw, options...)
		}
		return user.Patch(s.Ctx, s.getPod("bound"), raw)
	}
	s.Await("the user to be let in, and the policies to count", func() bool {
		probe := s.gated("probe").Annotation(v1alpha1.ReleasedAnnotation, "copied").Obj()
		if err := user.Create(s.Ctx, probe, client.DryRunAll); err != nil {
			return false
		}
		_, copied := probe.Annotations[v1alpha1.ReleasedAnnotation]
		attempt := user.Patch(s.Ctx, s.getPod("bound"), client.RawPatch(types.MergePatchType, []byte(forged)), client.DryRunAll)
		return !copied && patch(`{"metadata":{"labels":{"a":"b"}}}`) == nil && apierrors.IsForbidden(attempt)
	})
	refused := func(t *testing.T, err error) {
		t.Helper()
		assert.True(t, apierrors.IsForbidden(err), "got %v", err)
		assert.ErrorContains(t, err, tenant+" may not write the proof that a pod was released")
	}

	t.Run("a pod that is created as a copy loses the proof, and nothing else", func(t *testing.T) {
		require.NoError(t, user.Create(s.Ctx, s.gated("copy").Annotation(v1alpha1.ReleasedAnnotation, "copied").Obj()))
		assert.NotContains(t, s.getPod("copy").Annotations, v1alpha1.ReleasedAnnotation)
		assert.Contains(t, s.getPod("copy").Annotations, cluster.ReadyAfter)
	})
	t.Run("an update of a pod is refused", func(t *testing.T) { refused(t, patch(forged)) })
	t.Run("an update of its status is refused", func(t *testing.T) {
		refused(t, patch(forged, &client.SubResourcePatchOptions{}))
	})
	t.Run("a binding is refused, and without a proof accepted", func(t *testing.T) {
		s.createPods(s.pod("by-hand").SchedulerName("nobody"))
		pod := s.getPod("by-hand")
		binding := &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: pod.Namespace, Name: pod.Name, Annotations: map[string]string{v1alpha1.ReleasedAnnotation: "forged"},
			},
			Target: corev1.ObjectReference{Kind: "Node", Name: "node-0"},
		}
		refused(t, user.SubResource("binding").Create(s.Ctx, pod, binding.DeepCopy()))
		refused(t, user.Create(s.Ctx, binding.DeepCopy())) // the old way to bind
		binding.Annotations = nil
		assert.NoError(t, user.SubResource("binding").Create(s.Ctx, pod, binding))
	})
	t.Run("what leaves the proof alone, or removes it, is accepted", func(t *testing.T) {
		s.Create(s.sequence("shop").Pods("One", "one").Obj())
		s.createPods(s.pod("one"))
		s.awaitBound("one")
		s.expectProof("one")
		for _, change := range []string{
			`{"metadata":{"labels":{"a":"b"}}}`,
			fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, v1alpha1.ReleasedAnnotation),
		} {
			assert.NoError(t, user.Patch(s.Ctx, s.getPod("one"), client.RawPatch(types.MergePatchType, []byte(change))))
		}
	})
}

// Without the policy everybody who may annotate a pod can write the proof that it was released. On a pod that is held it is not
// believed, by either program, nor after a restart.
func TestAForgedProofOnAHeldPodReleasesNobody(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := exclusively(t)
	t.Cleanup(func() { assert.NoError(t, env.Apply(context.Background(), "sandbox")) })
	env.MustShell(t, "kubectl delete validatingadmissionpolicybinding podsequence-proof")
	s := newStoryIn(t, env)
	s.Create(s.sequence("shop").Pods("Database", "db").Pods("Application", "app", "gated", "stock").Obj())
	held := []string{"app", "gated", "stock"}
	s.createPods(s.pod("app"), s.gated("gated"), s.gated("stock").SchedulerName(stockScheduler))
	s.expectHeld(held...)
	s.Await("the hash of the group to be in status", func() bool { return len(s.getSequence("shop").Status.Groups) == 2 })
	shop := s.getSequence("shop")
	for _, name := range held {
		proof := fmt.Sprintf("%s %s/%s", s.getPod(name).UID, shop.UID, shop.Status.Groups[1].Hash)
		s.Await("the policy to be gone", func() bool {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ReleasedAnnotation, proof)
			return s.API.Patch(s.Ctx, s.getPod(name), client.RawPatch(types.MergePatchType, []byte(patch))) == nil
		})
	}
	s.fence()
	s.expectHeld(held...)
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		require.NoError(t, env.Kill(s.Ctx, program))
		require.NoError(t, env.StartComponent(s.Ctx, program))
	}
	s.createPods(s.pod("db"))
	s.awaitBound("db")
	s.fence()
	s.expectHeld(held...)
	assert.Zero(t, ptr.Deref(s.getSequence("shop").Status.CurrentIndex, -1))

	s.makeReady("db")
	for _, name := range held {
		s.awaitBound(name)
		s.expectProof(name)
	}
}

// allowPods lets a user do anything with the pods of the story's namespace.
func (s *story) allowPods(user string) {
	s.Helper()
	meta := metav1.ObjectMeta{Namespace: s.Namespace, Name: "pods"}
	s.Create(
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"pods", "pods/status", "pods/binding", "bindings"}, Verbs: []string{"*"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "pods"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
		},
	)
}
