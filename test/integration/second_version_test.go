package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// docs/contributing/api-versions.md says how a second version of the kind will come: with the same schema, and without a webhook.
func TestASecondVersionOfTheKindKeepsWhatIsStored(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStoryIn(t, startCluster(t, controlplane.Options{}))
	s.Create(s.threeTiers().Obj())
	s.createPods(s.pod("db"), s.pod("app"), s.pod("web"))
	s.awaitBound("db")
	s.makeReady("db")
	s.awaitBound("app")
	s.expectHeld("web")
	s.Await("the pass to be recorded", func() bool { return s.getSequence("shop").Status.Groups[0].PassedAt != nil })
	before := s.getSequence("shop")

	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "podsequences.scheduling.example.com"}}
	cluster.Change(s.Story, definition, func(d *apiextensionsv1.CustomResourceDefinition) {
		second := d.Spec.Versions[0].DeepCopy()
		d.Spec.Versions[0].Storage, second.Name = false, "v1beta1"
		d.Spec.Versions = append(d.Spec.Versions, *second)
	})
	newer := &unstructured.Unstructured{}
	newer.SetAPIVersion(v1alpha1.GroupVersion.Group + "/v1beta1")
	newer.SetKind(v1alpha1.PodSequenceKind.Kind)
	key := s.Key("shop")
	s.Await("the second version to be served", func() bool { return s.API.Get(s.Ctx, key, newer) == nil })
	assert.Equal(t, before.UID, newer.GetUID())
	newer.SetAnnotations(map[string]string{"example.com/edited-by": "v1beta1"})
	require.NoError(t, s.API.Update(s.Ctx, newer), "stores the object in the second version")

	s.Delete(s.Pod("db")) // only the recorded pass says from now on that its group was passed
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		s.Restart(program)
	}
	s.expectHeld("web")
	s.makeReady("app")
	s.awaitBound("web")
	after := s.getSequence("shop")
	assert.Equal(t, "v1beta1", after.Annotations["example.com/edited-by"])
	assert.Equal(t, before.Status.Groups[0].PassedAt, after.Status.Groups[0].PassedAt)
}
