package deployment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// TestTheInstallationReachesOnlyItself installs charts and manifests where others live, with every optional object.
func TestTheInstallationReachesOnlyItself(t *testing.T) {
	t.Parallel()
	s := &site{t, cluster.Own(t, controlplane.Options{
		Nodes: 2, Components: controlplane.UpstreamComponents(), Installation: "crds",
	})}
	createMonitoringKinds(s)

	for _, variant := range []string{"default", "lite", "as-default-scheduler"} {
		s.Run("manifests "+variant, func(t *testing.T) {
			s := s.in(t)
			directory := overlay(s, "", variant)
			s.cluster.MustShell(s, "kubectl apply --server-side -k "+directory)
			output, err := s.cluster.Shell(s, "kubectl kustomize "+directory)
			require.NoError(s, err, output)
			newReach(s, systemNamespace, variant != "default").expectOf(decodeObjects(s, []byte(output)))
			s.cluster.MustShell(s, "kubectl delete --wait=false --ignore-not-found -k "+withoutKinds(s, directory))
		})
	}
	everything := []string{
		"--take-ownership", "--force-conflicts", "--set=networkPolicies.egress.enabled=true", "--set=monitoring.serviceMonitor.enabled=true",
		"--set=monitoring.prometheusRule.enabled=true", "--set=monitoring.dashboard.enabled=true",
	}
	for _, test := range []struct {
		namespace string
		lite      bool
	}{{metav1.NamespaceSystem, false}, {metav1.NamespaceDefault, true}, {"platform", false}} {
		s.Run("chart in "+test.namespace, func(t *testing.T) {
			s := s.in(t)
			h := newHelm(s)
			h.namespace = test.namespace
			h.run(slices.Concat([]string{"install", programsRelease, chartOf(programsRelease), "--create-namespace",
				fmt.Sprintf("--set=lite=%t", test.lite)}, everything)...)
			newReach(s, test.namespace, test.lite).expectOf(h.objects(programsRelease))
			h.run("uninstall", programsRelease, "--wait")
		})
	}
}

// An overlay that moves everything would rename the Namespace, with its Pod Security level, and would not move what policies say.
func TestManifestsAreNotMovedToAnotherNamespace(t *testing.T) {
	s := newSite(t)
	for _, variant := range []string{"parts/base", "default", "lite", "as-default-scheduler"} {
		for _, namespace := range []string{metav1.NamespaceSystem, "platform"} {
			output, err := s.cluster.Shell(s, "kubectl kustomize "+overlay(s, namespace, variant))
			require.Error(s, err, "%s in %s:\n%s", variant, namespace, output)
			assert.Contains(s, output, "install-with-helm-in-another-namespace", variant)
		}
	}
}

// The names of cluster-scoped objects are the same in every namespace: a second release would take those of the first.
func TestASecondReleaseIsRefused(t *testing.T) {
	s := newSite(t)
	h := newHelm(s)
	h.namespace = newNamespace(s)
	_, problems, err := h.try("install", programsRelease, chartOf(programsRelease))
	require.Error(s, err)
	assert.Contains(s, problems, "exists and cannot be imported into the current release")
}

// overlay is the directory of a kustomization of a variant with all components that add something.
func overlay(s *site, namespace, variant string) string {
	s.Helper()
	directory, err := filepath.EvalSymlinks(s.TempDir())
	require.NoError(s, err)
	here, err := filepath.Abs("../../manifests")
	require.NoError(s, err)
	root, err := filepath.Rel(directory, here)
	require.NoError(s, err)
	text := fmt.Sprintf("namespace: %q\nsortOptions: {order: legacy}\nresources: [%s/%s]\n", namespace, root, variant)
	if variant != "parts/base" {
		text += fmt.Sprintf("components: [%s/options/egress, %s/options/monitoring]\n", root, root)
	}
	require.NoError(s, os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(text), 0o600))
	return directory
}

// withoutKinds is an overlay of an overlay, of everything but the kinds and the namespace.
func withoutKinds(s *site, directory string) string {
	s.Helper()
	beside := filepath.Join(filepath.Dir(directory), filepath.Base(directory)+"-without-kinds")
	require.NoError(s, os.Mkdir(beside, 0o700))
	text := fmt.Sprintf("resources: [../%s]\n", filepath.Base(directory)) + `patches:
- target: {kind: (CustomResourceDefinition|Namespace)}
  patch: '{apiVersion: any, kind: any, metadata: {name: any}, $patch: delete}'
`
	require.NoError(s, os.WriteFile(filepath.Join(beside, "kustomization.yaml"), []byte(text), 0o600))
	return beside
}

// createMonitoringKinds creates the kinds of the Prometheus Operator, with any fields.
func createMonitoringKinds(s *site) {
	s.Helper()
	for kind, plural := range map[string]string{"ServiceMonitor": "servicemonitors", "PrometheusRule": "prometheusrules"} {
		definition := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + ".monitoring.coreos.com"},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "monitoring.coreos.com", Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: plural},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: "v1", Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", XPreserveUnknownFields: ptr.To(true),
					}},
				}},
			},
		}
		create(s, definition)
		cluster.Await(s, kind+" to be served", func() bool {
			for _, condition := range get(s, &apiextensionsv1.CustomResourceDefinition{}, "", definition.Name).Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
					return true
				}
			}
			return false
		})
	}
}

// reach is what an installation in one namespace reaches there: itself, and what it must not, its neighbours.
type reach struct {
	*site
	namespace  string
	accounts   []string // ours
	pods, ours []corev1.Pod
	services   []corev1.Service
	neighbour  string // a ServiceAccount
}

// newReach creates neighbours whose labels are as like ours as those of others can be, and waits for our pods.
func newReach(s *site, namespace string, withoutScheduler bool) *reach {
	s.Helper()
	r := &reach{site: s, namespace: namespace, neighbour: "neighbour", accounts: []string{controlplane.PodSequenceController}}
	if !withoutScheduler {
		r.accounts = append(r.accounts, controlplane.PodSequenceScheduler)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: r.neighbour},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: r.neighbour}},
	}
	created := []client.Object{&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: r.neighbour}}, binding}
	for name, labels := range map[string]map[string]string{
		"dns":      {"app.kubernetes.io/name": "dns", "app.kubernetes.io/component": "controller"},
		"proxy":    {"app.kubernetes.io/component": "scheduler", "tier": "control-plane"},
		"exporter": {"app.kubernetes.io/name": "podsequence-exporter", "app.kubernetes.io/part-of": "podsequence"},
		"plain":    nil,
	} {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}
		pod := r.neighbourPod(name)
		pod.Labels = labels
		created = append(created, pod, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Name: "metrics", Port: 80}},
		}})
	}
	create(s, created...)
	s.Cleanup(func() {
		for _, object := range created {
			r.remove(object)
		}
	})
	cluster.Await(s, "the pods of PodSequence to be there", func() bool {
		var pods corev1.PodList
		require.NoError(s, s.cluster.API.List(s.Context(), &pods, client.InNamespace(namespace)))
		r.ours, r.pods = nil, pods.Items
		for _, pod := range pods.Items {
			if slices.Contains(r.accounts, pod.Spec.ServiceAccountName) {
				r.ours = append(r.ours, pod)
			}
		}
		return len(r.ours) == 2*len(r.accounts)
	})
	var services corev1.ServiceList
	require.NoError(s, s.cluster.API.List(s.Context(), &services, client.InNamespace(namespace)))
	r.services = services.Items
	return r
}

// neighbourPod is a pod that any namespace takes, podsequence-system too.
func (r *reach) neighbourPod(name string) *corev1.Pod {
	pod := st.MakePod().Namespace(r.namespace).Name(name).Container("image").Obj()
	pod.Spec.PriorityClassName = "system-cluster-critical"
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	return pod
}
