package deployment

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/internal/controlplane"
)

// No network plugin runs here, so that the policies are read as one would read them.
func TestOnlyMetricsPortsCanBeReachedFromElsewhere(t *testing.T) {
	var policies networkingv1.NetworkPolicyList
	require.NoError(t, api.List(t.Context(), &policies, client.InNamespace(systemNamespace)))
	allowed := map[string][]networkingv1.NetworkPolicyIngressRule{} // by the name of the program
	denied := false
	for _, policy := range policies.Items {
		assert.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, policy.Spec.PolicyTypes, policy.Name)
		if len(policy.Spec.PodSelector.MatchLabels) == 0 {
			denied = denied || len(policy.Spec.Ingress) == 0
			continue
		}
		component := policy.Spec.PodSelector.MatchLabels["app.kubernetes.io/component"]
		allowed["podsequence-"+component] = append(allowed["podsequence-"+component], policy.Spec.Ingress...)
	}
	assert.True(t, denied, "a policy that denies all")
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		port := get(t, &corev1.Service{}, systemNamespace, program+"-metrics").Spec.Ports[0]
		require.Len(t, allowed[program], 1, program)
		rule := allowed[program][0]
		require.Len(t, rule.Ports, 1, program)
		assert.Equal(t, port.Port, rule.Ports[0].Port.IntVal, program)
		require.Len(t, rule.From, 1, program)
		assert.Equal(t, &metav1.LabelSelector{MatchLabels: map[string]string{"metrics": "enabled"}}, rule.From[0].NamespaceSelector, program)
	}
}

func TestHealthPortsServeNothingButHealth(t *testing.T) {
	for program, address := range map[string]string{
		controlplane.PodSequenceScheduler:  startScheduler(t, configWithoutLeaderElection(t, controlplane.PodSequenceScheduler)),
		controlplane.PodSequenceController: startStandby(t),
	} {
		for _, path := range []string{"/livez", "/readyz"} {
			await(t, program+" to serve "+path, func() bool { return status(t, address, path) == http.StatusOK })
		}
		for _, path := range []string{"/", "/metrics", "/configz", "/debug/pprof/", "/debug/pprof/heap", "/debug/flags/v"} {
			assert.Equal(t, http.StatusNotFound, status(t, address, path), "%s: %s", program, path)
		}
	}
}

func TestNobodyGetsProfiles(t *testing.T) {
	ns := newNamespace(t)
	monitor := newMonitor(t, ns)
	rule := rbacv1.PolicyRule{NonResourceURLs: []string{"/debug/*"}, Verbs: []string{"get"}}
	create(t,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: ns + "-profiler"}, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: ns + "-profiler"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ns + "-profiler"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "monitor"}},
		},
	)
	awaitAllowed(t, "system:serviceaccount:"+ns+":monitor", "/debug/pprof/heap")
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		url, err := cluster.URL(program)
		require.NoError(t, err)
		code, _ := fetch(t, url+"/debug/pprof/heap", monitor)
		assert.Equal(t, http.StatusNotFound, code, program)
	}
}

// status is the code of an answer, or 0 if nobody answers yet.
func status(t *testing.T, address, path string) int {
	t.Helper()
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return 0
	}
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}
