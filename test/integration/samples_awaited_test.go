package integration

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

func TestSampleTeamsInOrder(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.applySample("teams-in-order.yaml")
	broker := s.awaitWorking("broker", 1)
	s.expectNonePlaced("import", "application")
	s.makeReady(broker...)
	s.awaitPhase("team-platform", v1alpha1.PhaseCompleted)
	imports := s.awaitWorking("import", 1)
	s.expectNonePlaced("application")
	s.succeed(imports[0])
	s.awaitPhase("team-data", v1alpha1.PhaseCompleted)
	s.makeReady(s.awaitWorking("application", 1)...)
	s.awaitPhase("team-application", v1alpha1.PhaseCompleted)
}

func TestSampleDatabaseOfAnOperator(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.serve("postgresql.cnpg.io", "Cluster", "clusters", apiextensionsv1.NamespaceScoped)
	var database *unstructured.Unstructured
	for _, object := range s.Sample("database-of-an-operator.yaml") {
		switch object.GetKind() {
		case "ClusterRole":
			s.Cleanup(func() { assert.NoError(s, client.IgnoreNotFound(s.API.Delete(context.Background(), object))) })
			s.Create(object)
		case "Cluster":
			database = object
		case "Deployment":
			annotate := []string{"spec", "template", "metadata", "annotations", cluster.ReadyAfter}
			require.NoError(s, unstructured.SetNestedField(object.Object, "never", annotate...))
			s.Create(object)
		default:
			s.Create(object)
		}
	}
	s.awaitObject("orders-with-operator", v1alpha1.ObjectNotFound)
	s.expectNonePlaced("application")
	s.AwaitCreated(database)
	s.awaitObject("orders-with-operator", v1alpha1.ObjectWaiting)
	s.operates(database, "False")
	s.Await("the controller to see the condition", func() bool {
		return s.objectIn("orders-with-operator").Message == "Ready is False: Operated: says the operator"
	})
	s.expectNonePlaced("application")
	s.operates(database, "True")
	s.makeReady(s.awaitWorking("application", 2)...)
	s.awaitPhase("orders-with-operator", v1alpha1.PhaseCompleted)
}

// The sample is about the namespaces cert-manager and shop. Here both are that of the story.
func TestSampleCertificatesFirst(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	for _, object := range s.Sample("certificates-first.yaml") {
		object.SetName(s.Namespace + "-" + object.GetName())
		if groups, found, _ := unstructured.NestedSlice(object.Object, "spec", "podGroups"); found {
			for _, i := range []int{1, 3} {
				groups[i].(map[string]any)["namespaces"] = []any{s.Namespace}
			}
			groups[2].(map[string]any)["objects"].([]any)[1].(map[string]any)["namespace"] = s.Namespace
			require.NoError(s, unstructured.SetNestedSlice(object.Object, groups, "spec", "podGroups"))
		}
		s.Create(object)
		s.Cleanup(func() { assert.NoError(s, client.IgnoreNotFound(s.API.Delete(context.Background(), object))) })
	}
	s.createPods(s.pod("webhook").Label("app.kubernetes.io/instance", "cert-manager"), s.pod("web").Label("needs-certificate", "true"))
	s.expectHeld("webhook", "web")
	s.serve("cert-manager.io", "Certificate", "certificates", apiextensionsv1.NamespaceScoped)
	s.serve("cert-manager.io", "ClusterIssuer", "clusterissuers", apiextensionsv1.ClusterScoped)
	s.awaitBound("webhook")
	s.makeReady("webhook")

	issuer, certificate := certManagers("ClusterIssuer", "", "internal"), certManagers("Certificate", s.Namespace, "shop-tls")
	s.AwaitCreated(issuer)
	s.AwaitCreated(certificate)
	s.operates(issuer, "True")
	s.operates(certificate, "False")
	s.expectHeld("web")
	s.operates(certificate, "True")
	s.awaitBound("web")
}

func certManagers(kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	object.SetAPIVersion("cert-manager.io/v1")
	object.SetKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func TestSampleGPUHealth(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	const label = "feature.node.kubernetes.io~1pci-10de.present"
	for _, name := range []string{"node-0", "node-1"} {
		s.patchNode(name, types.JSONPatchType, `[{"op":"add","path":"/metadata/labels/`+label+`","value":"true"}]`)
		s.Cleanup(func() {
			s.patchNode(name, types.JSONPatchType, `[{"op":"remove","path":"/metadata/labels/`+label+`"}]`)
			s.sayHealthy(name, corev1.ConditionUnknown)
		})
	}
	s.applySample("gpu-health.yaml")
	s.sayHealthy("node-0", corev1.ConditionFalse)
	s.Await("status to name the condition", func() bool {
		for _, n := range s.getSequence("healthy-training").Status.NodeStatus {
			if n.NodeName == "node-0" && n.Conditions[0].Message == "condition "+healthy+" is False, not True" {
				return true
			}
		}
		return false
	})
	s.expectNonePlaced("worker")
	s.sayHealthy("node-1", corev1.ConditionTrue)
	for _, name := range s.awaitWorking("worker", 2) {
		assert.Equal(s, "node-1", s.getPod(name).Spec.NodeName)
	}
}

// serve installs a kind of an operator that does not run here.
func (s *story) serve(group, kind, plural string, scope apiextensionsv1.ResourceScope) {
	s.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group}}
	definition.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: group, Scope: scope, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind, ListKind: kind + "List"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: "v1", Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
			},
			Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
		}},
	}
	s.Create(definition)
	s.Cleanup(func() { assert.NoError(s, client.IgnoreNotFound(s.API.Delete(context.Background(), definition))) })
}

// operates writes the condition Ready of an object, as its operator does.
func (s *story) operates(object *unstructured.Unstructured, ready string) {
	s.Helper()
	cluster.ChangeStatus(s.Story, object, func(object *unstructured.Unstructured) {
		object.Object["status"] = map[string]any{"conditions": []any{map[string]any{
			"type": "Ready", "status": ready, "reason": "Operated", "message": "says the operator",
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "observedGeneration": object.GetGeneration(),
		}}}
	})
}

// sayHealthy sets the condition of a node that stories share.
func (s *story) sayHealthy(name string, status corev1.ConditionStatus) {
	s.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := `{"status":{"conditions":[{"type":"` + healthy + `","status":"` + string(status) + `","lastHeartbeatTime":"` + now +
		`","lastTransitionTime":"` + now + `","reason":"Checked","message":"a test says so"}]}}`
	assert.NoError(s, s.API.Status().Patch(context.Background(), node, client.RawPatch(types.StrategicMergePatchType, []byte(patch))))
}

func (s *story) patchNode(name string, kind types.PatchType, patch string) {
	s.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	assert.NoError(s, s.API.Patch(context.Background(), node, client.RawPatch(kind, []byte(patch))))
}
