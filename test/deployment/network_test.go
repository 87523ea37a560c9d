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

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// No network plugin runs here, so that the policies are read as one would read them.
func TestOnlyMetricsPortsCanBeReachedFromElsewhere(t *testing.T) {
	s := newSite(t)
	var policies networkingv1.NetworkPolicyList
	require.NoError(s, s.cluster.API.List(s.Context(), &policies, client.InNamespace(systemNamespace)))
	allowed := map[string][]networkingv1.NetworkPolicyIngressRule{} // by the name of the program
	denied := false
	for _, policy := range policies.Items {
		assert.Equal(s, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, policy.Spec.PolicyTypes, policy.Name)
		assert.Equal(s, "podsequence", policy.Spec.PodSelector.MatchLabels["app.kubernetes.io/name"], policy.Name)
		component, ofOne := policy.Spec.PodSelector.MatchLabels["app.kubernetes.io/component"]
		if !ofOne {
			denied = denied || len(policy.Spec.Ingress) == 0
			continue
		}
		allowed["podsequence-"+component] = append(allowed["podsequence-"+component], policy.Spec.Ingress...)
	}
	assert.True(s, denied, "a policy that denies all traffic to both programs")
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		port := get(s, &corev1.Service{}, systemNamespace, program+"-metrics").Spec.Ports[0]
		require.Len(s, allowed[program], 1, program)
		rule := allowed[program][0]
		require.Len(s, rule.Ports, 1, program)
		assert.Equal(s, port.Port, rule.Ports[0].Port.IntVal, program)
		require.Len(s, rule.From, 1, program)
		assert.Equal(s, &metav1.LabelSelector{MatchLabels: map[string]string{"metrics": "enabled"}}, rule.From[0].NamespaceSelector, program)
	}
}

func TestHealthPortsServeNothingButHealth(t *testing.T) {
	s := newSite(t)
	for program, address := range map[string]string{
		controlplane.PodSequenceScheduler:  startScheduler(s, configWithoutLeaderElection(s, controlplane.PodSequenceScheduler)),
		controlplane.PodSequenceController: startStandby(s),
	} {
		for _, path := range []string{"/livez", "/readyz"} {
			cluster.Await(s, program+" to serve "+path, func() bool { return status(s, address, path) == http.StatusOK })
		}
		for _, path := range []string{"/", "/metrics", "/configz", "/debug/pprof/", "/debug/pprof/heap", "/debug/flags/v"} {
			assert.Equal(s, http.StatusNotFound, status(s, address, path), "%s: %s", program, path)
		}
	}
}

func TestNobodyGetsProfiles(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	monitor := newMonitor(s, ns)
	rule := rbacv1.PolicyRule{NonResourceURLs: []string{"/debug/*"}, Verbs: []string{"get"}}
	create(s,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: ns + "-profiler"}, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: ns + "-profiler"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ns + "-profiler"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "monitor"}},
		},
	)
	awaitAllowed(s, "system:serviceaccount:"+ns+":monitor", "/debug/pprof/heap")
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		url, err := s.cluster.URL(program)
		require.NoError(s, err)
		code, _ := fetch(s, url+"/debug/pprof/heap", monitor)
		assert.Equal(s, http.StatusNotFound, code, program)
	}
}

// status is the code of an answer, or 0 if nobody answers yet.
func status(s *site, address, path string) int {
	s.Helper()
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return 0
	}
	require.NoError(s, response.Body.Close())
	return response.StatusCode
}
