package inventory

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// TestTheTableOfWorkloadKinds checks every row against the API: its kind is served in that group, and its objects are viewed
// as that kind.
func TestTheTableOfWorkloadKinds(t *testing.T) {
	objects := map[Kind]metav1.Object{
		KindDaemonSet: &appsv1.DaemonSet{}, KindDeployment: &appsv1.Deployment{}, KindReplicaSet: &appsv1.ReplicaSet{},
		KindStatefulSet: &appsv1.StatefulSet{}, KindJob: &batchv1.Job{}, KindReplicationController: &corev1.ReplicationController{},
	}
	assert.Len(t, WorkloadKinds, len(objects))
	for _, row := range WorkloadKinds {
		t.Run(string(row.Kind), func(t *testing.T) {
			version := row.Resource.GroupVersion()
			assert.True(t, scheme.Scheme.Recognizes(version.WithKind(string(row.Kind))))
			assert.IsType(t, objects[row.Kind], row.Object)
			w := Workload{}
			assert.True(t, w.View(objects[row.Kind]))
			assert.Equal(t, row.Kind, w.Kind)
			owned := &metav1.OwnerReference{APIVersion: version.String(), Kind: string(row.Kind)}
			assert.True(t, isWorkload(owned))
			owned.APIVersion = schema.GroupVersion{Group: "other.example.com", Version: "v1"}.String()
			assert.False(t, isWorkload(owned), "a kind of the same name in another group")
		})
	}
	assert.False(t, new(Workload).View(&corev1.Pod{}))
}

// TestEveryKindIsPermittedAndDocumented compares the table with what the manifests permit and what the documentation names.
func TestEveryKindIsPermittedAndDocumented(t *testing.T) {
	// The role system:kube-scheduler of Kubernetes, which the scheduler has too, permits these.
	stock := rbacv1.PolicyRule{APIGroups: []string{"", "apps"}, Resources: []string{"replicationcontrollers", "replicasets", "statefulsets"}, Verbs: []string{"list", "watch"}}
	programs := map[string][]rbacv1.PolicyRule{
		"scheduler":  append(rulesOf(t, "scheduler/role.yaml"), stock),
		"controller": rulesOf(t, "controller/podsequence.yaml"),
	}
	semantics, err := os.ReadFile("../../../docs/semantics.md")
	require.NoError(t, err)
	for _, row := range WorkloadKinds {
		for program, rules := range programs {
			permitted := slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
				return slices.Contains(r.APIGroups, row.Resource.Group) && slices.Contains(r.Resources, row.Resource.Resource) &&
					slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch")
			})
			assert.True(t, permitted, "the %s may not watch %s", program, row.Resource.Resource)
		}
		assert.Contains(t, string(semantics), string(row.Kind)+"s")
	}
}

// rulesOf returns the rules of all ClusterRoles in a file of manifests/parts/rbac.
func rulesOf(t *testing.T, file string) []rbacv1.PolicyRule {
	t.Helper()
	text, err := os.ReadFile("../../../manifests/parts/rbac/" + file)
	require.NoError(t, err)
	var rules []rbacv1.PolicyRule
	for _, part := range strings.Split(string(text), "\n---\n") {
		role := rbacv1.ClusterRole{}
		require.NoError(t, yaml.Unmarshal([]byte(part), &role))
		if role.Kind == "ClusterRole" {
			rules = append(rules, role.Rules...)
		}
	}
	require.NotEmpty(t, rules)
	return rules
}
