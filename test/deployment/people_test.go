package deployment

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	. "example.com/podsequence/internal/testing"
)

// ourKinds are the resources that people write.
var ourKinds = []schema.GroupVersionResource{sequences, steps, coordination}

// Recorded passes, started steps and turns are read back from status: who writes it decides what starts.
func TestOnlyTheControllerWritesStatus(t *testing.T) {
	ns := newNamespace(t)
	object := &appsapi.DeploymentCoordination{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "object"}}
	object.Spec.LabelSelector.MatchLabels = map[string]appsapi.LabelValue{"app": "none"}
	create(t, MakeSequence(ns, "object").Pods("One", "one").Obj(), stepsOf(ns, "object", nil), object)
	user := ns + "-user"
	as := func(user string) attempts {
		config := cluster.Config()
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
		return attemptsWith(t, config, ns)
	}
	patch := func(resource schema.GroupVersionResource, patch string, subresource ...string) attempt {
		return patching(resource, "object", types.MergePatchType, patch, subresource...)
	}
	const status = `{"status":{"observedGeneration":1}}`

	// Whatever a cluster's administrators grant, such as everything in a namespace.
	allow(t, ns, user, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	for _, kind := range ourKinds {
		as(user).awaitRefusal(patch(kind, status, "status"), "podsequence-status")
		as(user).expectRefused(refusals{
			"the status of " + kind.Resource: {patch(kind, status, "status"), fmt.Sprintf(
				"status: %s may not write the status of %s, which podsequence-controller reads back: only that ServiceAccount of "+
					"podsequence-system writes it, and who may impersonate it. Change the spec instead", user, kind.Resource)},
		})
		as(user).expectAccepted(map[string]attempt{
			"another change of " + kind.Resource: patch(kind, `{"metadata":{"labels":{"a":"b"}}}`),
		})
	}
	stolen := stealToken(t, "podsequence-controller", ns)
	for _, kind := range ourKinds {
		stolen.expectAccepted(map[string]attempt{"the controller's own status of " + kind.Resource: func(a attempts) error {
			objects := a.Resource(kind).Namespace(ns)
			current, err := attemptsWith(t, cluster.Config(), ns).Resource(kind).Namespace(ns).Get(t.Context(), "object", metav1.GetOptions{})
			require.NoError(t, err)
			_, err = objects.UpdateStatus(t.Context(), current, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		}})
	}
	// An administrator in need.
	allow(t, systemNamespace, user, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"podsequence-controller"}, Verbs: []string{"impersonate"},
	})
	await(t, "the user to be let in", func() bool { return patch(sequences, status, "status")(as(user)) == nil })
}

// allow lets a user do something in a namespace.
func allow(t *testing.T, namespace, user string, rule rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: user}
	create(t,
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
		},
	)
}

func TestPeopleHaveTheRestByTheRolesOfEveryCluster(t *testing.T) {
	ns := newNamespace(t)
	reads, writes := []string{"get", "list", "watch"}, []string{"create", "update", "patch", "delete", "deletecollection"}
	for role, writer := range map[string]bool{"view": false, "edit": true, "admin": true} {
		t.Run(role, func(t *testing.T) {
			user := ns + "-" + role
			create(t, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: role},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
			})
			may := func(verb, subresource string, kind schema.GroupVersionResource) bool {
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: ns, Verb: verb, Group: kind.Group, Version: kind.Version, Resource: kind.Resource, Subresource: subresource,
					},
				}}
				require.NoError(t, api.Create(t.Context(), review))
				return review.Status.Allowed
			}
			await(t, "the roles to be put together", func() bool {
				return may("get", "", sequences) && (!writer || may("create", "", sequences))
			})
			for _, kind := range ourKinds {
				for _, verb := range reads {
					assert.True(t, may(verb, "", kind), "%s %s", verb, kind.Resource)
				}
				assert.True(t, may("get", "status", kind), "get the status of %s", kind.Resource)
				for _, verb := range writes {
					assert.Equal(t, writer, may(verb, "", kind), "%s %s", verb, kind.Resource)
					assert.False(t, may(verb, "status", kind), "%s the status of %s", verb, kind.Resource)
				}
			}
		})
	}
}

// The API server checks the types of expressions, and only warns.
func TestPoliciesAreOfTheRightTypes(t *testing.T) {
	var policies admissionv1.ValidatingAdmissionPolicyList
	ours := client.MatchingLabels{"app.kubernetes.io/name": "podsequence"}
	require.NoError(t, api.List(t.Context(), &policies, ours))
	require.NotEmpty(t, policies.Items)
	for _, policy := range policies.Items {
		await(t, policy.Name+" to be checked", func() bool {
			checked := get(t, &policy, corev1.NamespaceAll, policy.Name)
			return checked.Status.TypeChecking != nil && checked.Status.ObservedGeneration == checked.Generation
		})
		assert.Empty(t, policy.Status.TypeChecking.ExpressionWarnings, policy.Name)
	}
}
