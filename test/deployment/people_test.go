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
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

// ourKinds are the resources that people write.
var ourKinds = []schema.GroupVersionResource{sequences, steps, coordination}

// Recorded passes, started steps and turns are read back from status: who writes it decides what starts.
func TestOnlyTheControllerWritesStatus(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	object := &appsapi.DeploymentCoordination{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "object"}}
	object.Spec.LabelSelector = &appsapi.LabelSelector{MatchLabels: map[string]appsapi.LabelValue{"app": "none"}}
	create(s, MakeSequence(ns, "object").Pods("One", "one").Obj(), stepsOf(ns, "object", nil), object)
	user := ns + "-user"
	as := func(user string) attempts {
		config := s.cluster.Config()
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
		return attemptsWith(s, config, ns)
	}
	patch := func(resource schema.GroupVersionResource, patch string, subresource ...string) attempt {
		return patching(resource, "object", types.MergePatchType, patch, subresource...)
	}
	const status = `{"status":{"observedGeneration":1}}`

	// Whatever a cluster's administrators grant, such as everything in a namespace.
	allow(s, ns, user, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	for _, kind := range ourKinds {
		as(user).awaitRefusal(patch(kind, status, "status"), "podsequence-status")
		as(user).expectRefused(refusals{
			"the status of " + kind.Resource: {patch(kind, status, "status"), fmt.Sprintf(
				"status: %s may not write the status of %s: only the ServiceAccount podsequence-controller of podsequence-system may, "+
					"because the controller reads it back. Change the spec instead", user, kind.Resource)},
		})
		as(user).expectAccepted(map[string]attempt{
			"another change of " + kind.Resource: patch(kind, `{"metadata":{"labels":{"a":"b"}}}`),
		})
	}
	stolen := stealToken(s, "podsequence-controller", ns)
	for _, kind := range ourKinds {
		stolen.expectAccepted(map[string]attempt{"the controller's own status of " + kind.Resource: func(a attempts) error {
			objects := a.Resource(kind).Namespace(ns)
			current, err := attemptsWith(s, s.cluster.Config(), ns).Resource(kind).Namespace(ns).Get(s.Context(), "object", metav1.GetOptions{})
			require.NoError(s, err)
			_, err = objects.UpdateStatus(s.Context(), current, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		}})
	}
	// An administrator in need.
	allow(s, systemNamespace, user, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"podsequence-controller"}, Verbs: []string{"impersonate"},
	})
	cluster.Await(s, "the user to be let in", func() bool { return patch(sequences, status, "status")(as(user)) == nil })
}

// allow lets a user do something in a namespace.
func allow(s *site, namespace, user string, rule rbacv1.PolicyRule) {
	s.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: user}
	create(s,
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
		},
	)
}

func TestPeopleHaveTheRestByTheRolesOfEveryCluster(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	reads, writes := []string{"get", "list", "watch"}, []string{"create", "update", "patch", "delete", "deletecollection"}
	for role, writer := range map[string]bool{"view": false, "edit": true, "admin": true} {
		s.Run(role, func(t *testing.T) {
			s := s.in(t)
			user := ns + "-" + role
			create(s, &rbacv1.RoleBinding{
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
				require.NoError(s, s.cluster.API.Create(s.Context(), review))
				return review.Status.Allowed
			}
			cluster.Await(s, "the roles to be put together", func() bool {
				return may("get", "", sequences) && (!writer || may("create", "", sequences))
			})
			for _, kind := range ourKinds {
				for _, verb := range reads {
					assert.True(s, may(verb, "", kind), "%s %s", verb, kind.Resource)
				}
				assert.True(s, may("get", "status", kind), "get the status of %s", kind.Resource)
				for _, verb := range writes {
					assert.Equal(s, writer, may(verb, "", kind), "%s %s", verb, kind.Resource)
					assert.False(s, may(verb, "status", kind), "%s the status of %s", verb, kind.Resource)
				}
			}
		})
	}
}

// The API server checks the types of expressions, and only warns.
func TestPoliciesAreOfTheRightTypes(t *testing.T) {
	s := newSite(t)
	var policies admissionv1.ValidatingAdmissionPolicyList
	ours := client.MatchingLabels{"app.kubernetes.io/name": "podsequence"}
	require.NoError(s, s.cluster.API.List(s.Context(), &policies, ours))
	require.NotEmpty(s, policies.Items)
	for _, policy := range policies.Items {
		cluster.Await(s, policy.Name+" to be checked", func() bool {
			checked := get(s, &policy, corev1.NamespaceAll, policy.Name)
			return checked.Status.TypeChecking != nil && checked.Status.ObservedGeneration == checked.Generation
		})
		assert.Empty(s, policy.Status.TypeChecking.ExpressionWarnings, policy.Name)
	}
}
