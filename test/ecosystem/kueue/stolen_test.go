package kueue

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Whoever has the token of podsequence-controller can do to a Workload what the controller does, and nothing else.
func TestAStolenTokenAdmitsNothing(t *testing.T) {
	s := newStory(t, bestEffort, ours)
	s.Create(s.tiers())
	s.job("api")
	w := s.awaitWorkload("api", "held", checkSays("Retry"))
	config := rest.CopyConfig(s.Cluster.Config())
	config.Impersonate.UserName = "system:serviceaccount:podsequence-system:podsequence-controller"
	thief, err := client.New(config, client.Options{})
	require.NoError(t, err)
	for name, tc := range map[string]struct{ patch, refused string }{
		"another field": {
			`{"status":{"requeueState":{"count":9}}}`, "status.requeueState: podsequence-controller may not change these fields",
		},
		"another condition": {conditionsOf(t, w, "Finished", "Done"), "status.conditions: podsequence-controller may only change Requeued"},
		"another reason":    {conditionsOf(t, w, "Requeued", "Done"), "status.conditions: podsequence-controller may only change Requeued"},
		"another state": {
			`{"status":{"admissionChecks":[{"name":"sequence","state":"Rejected","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`,
			"status.admissionChecks: podsequence-controller may only change a check to Ready or Retry",
		},
		"the spec": {`{"spec":{"active":false}}`, "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			patch := client.RawPatch(types.MergePatchType, []byte(tc.patch))
			err := thief.Status().Patch(s.Ctx, s.object("Workload", w.Name), patch)
			if name == "the spec" {
				err = thief.Patch(s.Ctx, s.object("Workload", w.Name), patch)
			}
			assert.ErrorContains(t, err, tc.refused)
		})
	}
}

// conditionsOf is a patch that adds a condition to those of a Workload, or changes it.
func conditionsOf(t *testing.T, w *workload, condition, reason string) string {
	t.Helper()
	conditions := slices.Clone(w.Conditions)
	meta.SetStatusCondition(&conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: reason})
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions}})
	require.NoError(t, err)
	return string(patch)
}
