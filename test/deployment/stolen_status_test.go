package deployment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

var clusterSequences = schema.GroupVersionResource{Group: "scheduling.example.com", Version: "v1alpha1", Resource: "clusterpodsequences"}

func TestAStolenTokenOfTheSchedulerEntersPassesAndNothingElseOfStatus(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	sequence, across := MakeSequence(ns, "object").Pods("One", "one").Obj(), &v1alpha1.ClusterPodSequence{}
	across.Name = ns
	across.Spec.PodGroups = []v1alpha1.ClusterPodGroup{{PodGroup: v1alpha1.PodGroup{Pods: []string{"one"}}, Namespaces: []string{ns}}}
	create(s, sequence, across)
	cluster.Await(s, "the controller to write status", func() bool {
		return get(s, sequence, ns, "object").Status.Phase != "" && get(s, across, "", ns).Status.Phase != ""
	})
	pass := func(hash string, uid types.UID, more string) string {
		return fmt.Sprintf(`{"passes":{%q:{"uid":%q,"at":"2026-01-02T03:04:05Z"%s}}}`, hash, uid, more)
	}
	// write changes status while it has a pass. The controller may write it at any moment: the resource version tells.
	write := func(resource schema.GroupVersionResource, object client.Object, status string) attempt {
		return func(a attempts) error {
			return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
				recorded := fmt.Sprintf(`{"status":{"passes":{"old":{"uid":%q,"at":"2026-01-02T03:04:05Z"},"restored":{"uid":"a","at":"2026-01-02T03:04:05Z"}}}}`,
					object.GetUID())
				require.NoError(a, s.cluster.API.Status().Patch(a.Context(), object, client.RawPatch(types.MergePatchType, []byte(recorded))))
				patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":%s}`, object.GetResourceVersion(), status)
				a.namespace = object.GetNamespace()
				return patching(resource, object.GetName(), types.MergePatchType, patch, "status")(a)
			})
		}
	}
	stolen := stealToken(s, "podsequence-scheduler", ns)
	stolen.awaitRefusal(write(sequences, sequence, `{"phase":"Completed"}`), "podsequence-status")
	for _, kind := range []struct {
		resource schema.GroupVersionResource
		object   client.Object
	}{{sequences, sequence}, {clusterSequences, across}} {
		of := " of " + kind.resource.Resource
		may := ": system:serviceaccount:podsequence-system:podsequence-scheduler may not change these fields" + of +
			", only add entries to status.passes that have the UID of the object. Only the ServiceAccount podsequence-controller of " +
			"podsequence-system may write the rest"
		try := func(status string) attempt { return write(kind.resource, kind.object, status) }
		uid := kind.object.GetUID()
		stolen.expectRefused(refusals{
			"another phase" + of:  {try(`{"phase":"Completed"}`), "status.phase" + may},
			"no phase" + of:       {try(`{"phase":null}`), "status.phase" + may},
			"no status" + of:      {try(`null`), "status.phase"},
			"a passed group" + of: {try(`{"groups":[{"name":"One","expected":0,"ready":0,"phase":"Passed"}]}`), "status.groups" + may},
			"a condition" + of: {try(`{"conditions":[{"type":"Ready","status":"True","reason":"A","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}`),
				"status.conditions" + may},
			"a memory" + of:                 {try(`{"memory":{"groups":[{"hash":"a"}]}}`), "status.memory" + may},
			"a failure" + of:                {try(`{"failures":[{"kind":"Pod","namespace":"a","name":"a","uid":"a","createdAt":"2026-01-02T03:04:05Z","pods":1}]}`), "status.failures" + may},
			"no pass" + of:                  {try(`{"passes":{"old":null}}`), "status.passes[old]" + may},
			"no passes" + of:                {try(`{"passes":null}`), "]" + may},
			"another pass" + of:             {try(pass("old", uid, `,"timedOut":true`)), "status.passes[old]" + may},
			"a pass with another UID" + of:  {try(pass("new", "a", "")), "status.passes[new]" + may},
			"a pass with a new UID" + of:    {try(pass("old", "a", "")), "status.passes[old]" + may},
			"no restored pass" + of:         {try(`{"passes":{"restored":null}}`), "status.passes[restored]" + may},
			"a pass and another phase" + of: {try(`{"phase":"Completed",` + pass("new", uid, "")[1:]), "status.phase" + may},
		})
		stolen.expectAccepted(map[string]attempt{
			"a pass" + of:                   try(pass("new", uid, "")),
			"a pass of a timeout" + of:      try(pass("new", uid, `,"timedOut":true`)),
			"the pass that is there" + of:   try(pass("old", uid, "")),
			"a pass over a restored" + of:   try(pass("restored", uid, "")),
			"a status without changes" + of: try(`{}`),
		})
	}

	// Even if a role allowed it.
	scheduler := "system:serviceaccount:" + systemNamespace + ":podsequence-scheduler"
	rollout := &appsapi.DeploymentCoordination{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "object"}}
	rollout.Spec.LabelSelector = &appsapi.LabelSelector{MatchLabels: map[string]appsapi.LabelValue{"app": "none"}}
	create(s, stepsOf(ns, "object", nil), rollout)
	allow(s, ns, scheduler, rbacv1.PolicyRule{
		APIGroups: []string{steps.Group, coordination.Group}, Resources: []string{steps.Resource + "/status", coordination.Resource + "/status"},
		Verbs: []string{"patch"},
	})
	for _, resource := range []schema.GroupVersionResource{steps, coordination} {
		status := patching(resource, "object", types.MergePatchType, `{"status":{"observedGeneration":1}}`, "status")
		awaitOnlyThePolicy(stolen, status)
		stolen.expectRefused(refusals{
			"the status of " + resource.Resource: {status, "status: " + scheduler + " may not write the status of " + resource.Resource},
		})
	}

	// As the cluster's own scheduler may, if it runs the plugin.
	user := ns + "-user"
	config := s.cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	other := attemptsWith(s, config, ns)
	allow(s, ns, user, rbacv1.PolicyRule{APIGroups: []string{sequences.Group}, Resources: []string{"podsequences/status"}, Verbs: []string{"patch"}})
	entersAPass := write(sequences, sequence, pass("new", sequence.GetUID(), ""))
	awaitOnlyThePolicy(other, entersAPass)
	allow(s, systemNamespace, user, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"podsequence-scheduler"}, Verbs: []string{"impersonate"},
	})
	cluster.Await(s, "the user to be let in", func() bool { return entersAPass(other) == nil })
	other.expectRefused(refusals{"another phase by the user": {write(sequences, sequence, `{"phase":"Completed"}`), "status.phase: " + user + " may not"}})
}

// awaitOnlyThePolicy waits until a role that was created allows the attempt.
func awaitOnlyThePolicy(a attempts, try attempt) {
	a.Helper()
	cluster.Await(a, "the role to count", func() bool {
		err := try(a)
		require.Error(a, err)
		return strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'podsequence-status'")
	})
}
