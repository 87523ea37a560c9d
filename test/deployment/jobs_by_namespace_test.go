package deployment

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// What the policies leave to a stolen token, this takes away: to run pods in namespaces that have no SequentialJobs.
func TestJobsRunOnlyInNamespacesThatAllowThemIfTheControllerMayNotCreateThemEverywhere(t *testing.T) {
	t.Parallel()
	s := changedSite(t)
	everywhere := get(s, &rbacv1.ClusterRoleBinding{}, "", "podsequence-controller-jobs")
	require.NoError(s, s.cluster.API.Delete(s.Context(), everywhere))
	t.Cleanup(func() {
		everywhere.ResourceVersion, everywhere.UID = "", ""
		assert.NoError(t, s.cluster.API.Create(context.Background(), everywhere))
	})
	allowed, other := newNamespace(s), newNamespace(s)
	create(s, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: allowed, Name: "podsequence-controller-jobs"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "podsequence-controller-jobs"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: systemNamespace, Name: "podsequence-controller"}},
	})
	stolen := stealToken(s, "podsequence-controller", other)
	waiting := stepsOf(other, "etl", nil)
	waiting.Spec.Suspend = false
	create(s, waiting)
	owner := *metav1.NewControllerRef(waiting, batchv1alpha1.SequentialJobKind)
	cluster.Await(s, "the roles to count", func() bool {
		return creatingJob(other, owner, asItIs)(stolen) != nil && creatingJob(allowed, owner, asItIs)(stolen) == nil
	})
	stolen.expectRefused(refusals{
		"a new Job of a SequentialJob": {creatingJob(other, owner, asItIs), `cannot create resource "jobs"`},
		"to delete a Job":              {deleting(jobs, "etl-0"), `cannot delete resource "jobs"`},
	})

	cluster.Await(s, "the SequentialJob to say what keeps it", func() bool {
		return get(s, &batchv1alpha1.SequentialJob{}, other, "etl").Status.Message != ""
	})

	running := stepsOf(allowed, "etl", nil)
	running.Spec.Suspend = false
	create(s, running)
	cluster.Await(s, "the SequentialJob to succeed", func() bool {
		return get(s, &batchv1alpha1.SequentialJob{}, allowed, "etl").Status.Phase == batchv1alpha1.PhaseSucceeded
	})
	status := get(s, &batchv1alpha1.SequentialJob{}, other, "etl").Status
	assert.Equal(s, batchv1alpha1.PhasePending, status.Phase)
	assert.Contains(s, status.Message, `cannot create resource "jobs"`)
}

// Users of SequentialJobs read in the status which word an administrator has to say.
func TestAPrivilegedStepAndOneInKubeSystemWaitForAnAdministrator(t *testing.T) {
	t.Parallel()
	s := changedSite(t)
	ns := newNamespace(s)
	// An API server takes a moment before it goes by a policy that is new.
	stolen, suspended := stealToken(s, "podsequence-controller", ns), stepsOf(ns, "suspended", nil)
	create(s, suspended)
	owner := *metav1.NewControllerRef(suspended, batchv1alpha1.SequentialJobKind)
	refused := func(namespace string, change func(*batchv1.Job), says string) bool {
		err := creatingJob(namespace, owner, change)(stolen)
		return err != nil && strings.Contains(err.Error(), says)
	}
	cluster.Await(s, "the policies of Jobs to count", func() bool {
		return refused(ns, withPod(addHostPath), "enforce=privileged") && refused(metav1.NamespaceSystem, asItIs, "sequentialjobs=enabled")
	})
	privileged := stepsOf(ns, "privileged", nil)
	privileged.Spec.Suspend = false
	addHostPath(&privileged.Spec.Template.Spec)
	system := stepsOf(metav1.NamespaceSystem, "system", nil)
	system.Spec.Suspend = false
	for _, tc := range []struct {
		object *batchv1alpha1.SequentialJob
		label  string
	}{
		{privileged, "pod-security.kubernetes.io/enforce=privileged"},
		{system, "podsequence.example.com/sequentialjobs=enabled"},
	} {
		create(s, tc.object)
		current := func() batchv1alpha1.SequentialJobStatus {
			return get(s, &batchv1alpha1.SequentialJob{}, tc.object.Namespace, tc.object.Name).Status
		}
		cluster.Await(s, tc.object.Name+" to say what keeps it", func() bool { return current().Message != "" })
		assert.Contains(s, current().Message, tc.label)
		key, value, _ := strings.Cut(tc.label, "=")
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tc.object.Namespace}}
		label := func(ctx context.Context, value any) error {
			return s.cluster.API.Patch(ctx, namespace, cluster.Merge(s, map[string]any{"metadata": map[string]any{"labels": map[string]any{key: value}}}))
		}
		require.NoError(s, label(s.Context(), value))
		t.Cleanup(func() { assert.NoError(t, label(context.Background(), nil)) })
		cluster.Await(s, tc.object.Name+" to succeed", func() bool { return current().Phase == batchv1alpha1.PhaseSucceeded })
	}
}
