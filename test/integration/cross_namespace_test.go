package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
)

// A user who may do anything with PodSequences at home must not hold the pods of a neighbour by them.
func TestASequenceForAnotherNamespaceNeedsPermissionThere(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	neighbour := newStory(t).Namespace
	tenant := s.Namespace + "-tenant"
	user := s.as(tenant)
	s.allowSequences(tenant, s.Namespace)
	s.awaitRefusal(user, neighbour)

	// Made by an administrator, who may do everything everywhere.
	s.Create(s.pointing("shared", neighbour))
	// The controller may not create sequences anywhere, and writes this status all the same.
	s.awaitPhase("shared", v1alpha1.PhasePending)
	// But who may create it may not consent in place of the namespace, see consent_test.go.
	s.awaitDegraded("shared", v1alpha1.ReasonNamespaceNotAllowed)

	t.Run("no permission: creation is refused", func(t *testing.T) {
		err := user.Create(s.Ctx, s.pointing("new", neighbour))
		assert.True(t, apierrors.IsForbidden(err), "got %v", err)
		assert.ErrorContains(t, err, "spec.namespace: "+tenant+" may not create podsequences in namespace "+neighbour)
		assert.ErrorContains(t, err, "or create the PodSequence there and leave spec.namespace out")
	})
	t.Run("no permission: an update that begins to point there is refused", func(t *testing.T) {
		require.NoError(t, user.Create(s.Ctx, s.sequence("at-home").Pods("One", "one").Obj()))
		err := s.edit(user, "at-home", fmt.Sprintf(`{"spec": {"namespace": %q}}`, neighbour))
		assert.ErrorContains(t, err, "spec.namespace: "+tenant+" may not")
	})
	t.Run("no permission: another edit of what points there is refused", func(t *testing.T) {
		assert.ErrorContains(t, s.edit(user, "shared", otherGate), "spec.namespace: "+tenant+" may not")
	})
	t.Run("no permission: what leaves the spec alone is no matter", func(t *testing.T) {
		assert.NoError(t, s.edit(user, "shared", `{"metadata": {"labels": {"team": "blue"}}}`))
	})
	t.Run("no permission: no longer pointing there is allowed", func(t *testing.T) {
		assert.NoError(t, s.edit(user, "shared", `{"spec": {"namespace": null}}`, client.DryRunAll))
	})
	t.Run("the own namespace spelt out needs nothing more", func(t *testing.T) {
		assert.NoError(t, user.Create(s.Ctx, s.pointing("spelt-out", s.Namespace)))
	})
	t.Run("with permission there: accepted", func(t *testing.T) {
		s.allowSequences(tenant, neighbour)
		s.Await("the permission to count", func() bool {
			return user.Create(s.Ctx, s.pointing("permitted", neighbour)) == nil
		})
		assert.NoError(t, s.edit(user, "shared", otherGate))
	})
}

// otherGate changes a spec and leaves alone where it points.
const otherGate = `{"spec": {"schedulingGateName": "podsequence.example.com/other"}}`

// edit changes a sequence as a user, whatever version of it there is: its status may be written meanwhile.
func (s *story) edit(user client.Client, name, patch string, options ...client.PatchOption) error {
	object := &v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	return user.Patch(s.Ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)), options...)
}

// pointing is a sequence for the pods of a namespace that it names.
func (s *story) pointing(name, namespace string) *v1alpha1.PodSequence {
	sequence := s.sequence(name).Pods("One", "one").Obj()
	sequence.Spec.Namespace = namespace
	return sequence
}

// as returns a client of a user who may do nothing yet.
func (s *story) as(user string) client.Client {
	s.Helper()
	config := s.Cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	c, err := client.New(config, client.Options{Scheme: s.API.Scheme()})
	require.NoError(s, err)
	return c
}

// allowSequences lets a user do anything with the PodSequences of a namespace.
func (s *story) allowSequences(user, namespace string) {
	s.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "sequences"}
	s.Create(
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"podsequences"}, Verbs: []string{"*"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "sequences"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
		},
	)
}

// awaitRefusal returns when the user's own permission and the policy that limits it count. Neither does at once.
func (s *story) awaitRefusal(user client.Client, elsewhere string) {
	s.Helper()
	s.Await("the user to be let in at home, and the policy to refuse what points elsewhere", func() bool {
		home := user.Create(s.Ctx, s.pointing("canary", ""), client.DryRunAll)
		away := user.Create(s.Ctx, s.pointing("canary", elsewhere), client.DryRunAll)
		return home == nil && apierrors.IsForbidden(away)
	})
}
