package deploymentcoordination

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "example.com/podsequence/apis/apps/v1"
)

// The definition of kube-deployment-coordinator, which has the same API, allows more than ours. Its own sample has no spec.
func TestWhatAnotherOperatorAllowedBlocksNobody(t *testing.T) {
	s := newStory(t)
	stored := map[string]struct{ object, degraded string }{
		"a-without-spec":      {`{}`, "True " + v1.ReasonInvalidSelector},
		"a-with-empty-spec":   {`{spec: {}}`, "True " + v1.ReasonInvalidSelector},
		"a-without-selector":  {`{spec: {minReadySeconds: 5}}`, "True " + v1.ReasonInvalidSelector},
		"a-unknown-operator":  {`{spec: {labelSelector: {matchExpressions: [{key: app, operator: Like, values: [shop]}]}}}`, "True " + v1.ReasonInvalidSelector},
		"a-impossible-value":  {`{spec: {labelSelector: {matchLabels: {app: a b}}}}`, "True " + v1.ReasonInvalidSelector},
		"a-negative-duration": {`{spec: {labelSelector: {matchLabels: {app: bank}}, minReadySeconds: -5}}`, "False " + v1.ReasonAsExpected},
	}
	s.WhileControllerDown(func() {
		restore := s.AllowAnything("deploymentcoordinations.apps.containerinfra.nl", s.stored("refused", `{spec: {}}`))
		for name, tc := range stored {
			s.AwaitCreated(s.stored(name, tc.object))
		}
		restore()
	})
	s.coordinate(s.coordination("shop"))
	bank := s.deployment("bank")
	bank.Labels = map[string]string{"app": "bank"}
	s.Create(bank) // alone: it has a turn of its own
	s.awaitComplete("bank")
	s.awaitUnpaused("bank")
	s.Create(s.deployment("a"), s.deployment("b"))
	s.awaitUnpaused("a", "b")
	s.awaitComplete("a", "b")
	s.awaitCondition("shop", v1.ConditionReady, "True "+v1.ReasonRolledOut)
	s.awaitCondition("shop", v1.ConditionDegraded, "False "+v1.ReasonAsExpected)
	for name, tc := range stored {
		s.awaitCondition(name, v1.ConditionDegraded, tc.degraded)
		if tc.degraded != "False "+v1.ReasonAsExpected {
			s.awaitCondition(name, v1.ConditionReady, "False "+v1.ReasonInvalidSelector)
		}
	}
	degraded := meta.FindStatusCondition(s.status("a-without-spec").Conditions, v1.ConditionDegraded)
	assert.Equal(t, "spec.labelSelector is missing, so this object selects no Deployments: say which, or delete the object", degraded.Message)

	t.Log("its owner says what it is to select")
	s.Patch(s.stored("a-without-selector", "{}"), `{"spec":{"labelSelector":{"matchLabels":{"app":"nobody"}}}}`)
	s.awaitCondition("a-without-selector", v1.ConditionReady, "True "+v1.ReasonRolledOut)
	for name := range stored {
		s.Delete(s.stored(name, "{}"))
	}
	s.Await("all to be gone", func() bool {
		for name := range stored {
			if !apierrors.IsNotFound(s.API.Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, s.stored(name, "{}"))) {
				return false
			}
		}
		return true
	})
}

func TestASpecIsRequired(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	assert.ErrorContains(t, s.API.Create(s.Ctx, s.stored("shop", "{}"), client.DryRunAll), "spec is required")
	s.Create(s.coordination("shop"))
	for _, patch := range []string{`{"spec":null}`, `{"spec":{"labelSelector":null}}`} {
		assert.Error(t, s.API.Patch(s.Ctx, s.stored("shop", "{}"), client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll), patch)
	}
}

// stored is a coordination as YAML says.
func (s *story) stored(name, text string) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(s, yaml.Unmarshal([]byte(text), &object.Object))
	object.SetGroupVersionKind(v1.GroupVersion.WithKind("DeploymentCoordination"))
	object.SetNamespace(s.Namespace)
	object.SetName(name)
	return object
}
