package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

func TestSchedulerKilledInTheMiddle(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStoryIn(t, exclusively(t))
	s.Create(s.threeTiers().Obj())
	s.createPods(s.pod("db"), s.gated("app"), s.pod("web"))
	s.awaitBound("db")

	s.WhileDown(controlplane.PodSequenceScheduler, func() { s.makeReady("db") })
	s.awaitBound("app")
	s.expectHeld("web")

	s.Restart(controlplane.PodSequenceScheduler)
	s.expectHeld("web")
	s.makeReady("app")
	s.awaitBound("web")
}

func TestTheKindIsInstalledAfterThePrograms(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := exclusively(t)
	ours := []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController}
	for _, program := range ours {
		require.NoError(t, env.Kill(t.Context(), program))
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	definition.Name = "podsequences.scheduling.example.com"
	require.NoError(t, env.API.Delete(t.Context(), definition))
	cluster.Await(t, "the kind to be gone", func() bool {
		return apierrors.IsNotFound(env.API.Get(t.Context(), types.NamespacedName{Name: definition.Name}, definition))
	})
	for _, program := range ours {
		require.NoError(t, env.StartComponent(t.Context(), program))
	}

	s := newStoryIn(t, env)
	s.createPods(s.pod("before"))
	s.awaitBound("before") // no kind, no sequences

	require.NoError(t, env.Apply(s.Ctx, "crds"))
	s.Create(s.threeTiers().Obj())
	s.createPods(s.gated("app"), s.pod("db"), s.gated("web").SchedulerName(stockScheduler))
	s.startInOrder()
}
