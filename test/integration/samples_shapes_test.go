package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/manifests"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// neverReady keeps the pods of a workload unready until the test makes them ready.
func neverReady(t testing.TB, object *unstructured.Unstructured) {
	t.Helper()
	if _, isWorkload, _ := unstructured.NestedMap(object.Object, "spec", "template"); isWorkload {
		require.NoError(t, unstructured.SetNestedField(object.Object, "never", "spec", "template", "metadata", "annotations", cluster.ReadyAfter))
	}
}

// createAsWritten creates what a file of a sample has, in the namespaces that it names.
func (s *story) createAsWritten(file string) {
	s.Helper()
	content, err := manifests.FS.ReadFile("samples/" + file)
	require.NoError(s, err)
	decoder := utilyaml.NewYAMLToJSONDecoder(bytes.NewReader(content))
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return
		} else {
			require.NoError(s, err)
		}
		object := &unstructured.Unstructured{}
		require.NoError(s, object.UnmarshalJSON(raw))
		neverReady(s, object)
		strict := client.WithFieldValidation(s.API, metav1.FieldValidationStrict)
		require.NoError(s, strict.Create(s.Ctx, object), "create %s of %s", object.GetKind(), file)
	}
}

// The driver of all nodes is in kube-system, and three namespaces wait for it node by node.
func TestSampleDriverForAllNamespaces(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := startCluster(t, controlplane.Options{})
	s := newStoryIn(t, env)
	for _, file := range []string{"clusterpodsequence", "driver", "orders", "billing", "reports"} {
		s.createAsWritten("csi-driver-for-all/" + file + ".yaml")
	}
	podsOf := func(app, namespace string) map[string][]string {
		pods := &corev1.PodList{}
		require.NoError(t, s.API.List(s.Ctx, pods, client.InNamespace(namespace), client.MatchingLabels{"app": app}))
		byNode := map[string][]string{}
		for i := range pods.Items {
			node := pods.Items[i].Spec.NodeName
			byNode[node] = append(byNode[node], pods.Items[i].Name)
		}
		return byNode
	}
	start := func(node string) {
		driver := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: podsOf("csi-storage", metav1.NamespaceSystem)[node][0]}}
		s.Annotate(driver, cluster.ReadyAfter, "0s")
	}
	nodes := []string{"node-0", "node-1", "node-2", "node-3"}
	s.Await("drivers to be on all nodes", func() bool { return len(podsOf("csi-storage", metav1.NamespaceSystem)) == len(nodes) })
	applications := []string{"orders", "billing", "reports"}
	for _, app := range applications {
		s.Await("all pods of "+app, func() bool { return len(podsOf(app, app)[""]) == 6 })
	}
	start("node-1")
	for _, app := range applications {
		s.Await(app+" to follow the driver", func() bool { return len(podsOf(app, app)["node-1"]) == 2 })
	}
	s.fence()
	for _, app := range applications {
		byNode := podsOf(app, app)
		assert.Len(t, byNode["node-1"], 2)
		assert.Len(t, byNode[""], 4, "%s must wait for the drivers of other nodes", app)
	}
	for _, node := range []string{"node-0", "node-2", "node-3"} {
		start(node)
	}
	for _, app := range applications {
		s.Await("all of "+app+" to be placed", func() bool { return len(podsOf(app, app)[""]) == 0 })
	}
	verdict := env.referee.Verdict(s.Ctx)
	assert.True(t, verdict.Clean(), verdict.String())
	assert.GreaterOrEqual(t, verdict.Bindings, 18, "the referee must have judged the pods of all three namespaces")
}

func TestSampleMicroservices(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.CreateSample("microservices.yaml", func(object *unstructured.Unstructured) { neverReady(s, object) })
	podOf := func(service string) *corev1.Pod {
		pods := &corev1.PodList{}
		require.NoError(t, s.API.List(s.Ctx, pods, client.InNamespace(s.Namespace), client.MatchingLabels{"service": service}))
		if len(pods.Items) == 0 {
			return nil
		}
		return &pods.Items[0]
	}
	start := func(services ...string) {
		t.Helper()
		for _, service := range services {
			s.Await(service+" to be placed", func() bool { pod := podOf(service); return pod != nil && pod.Spec.NodeName != "" })
			s.makeReady(podOf(service).Name)
		}
	}
	wait := func(services ...string) {
		t.Helper()
		s.fence()
		for _, service := range services {
			s.Await(service+" to be there", func() bool { return podOf(service) != nil })
			assert.Empty(t, podOf(service).Spec.NodeName, "%s must wait", service)
		}
	}
	start("config")
	start("queue", "mail") // whatever the database does
	wait("users", "catalogue", "stock", "prices", "orders", "payments", "shipping", "gateway")
	start("database", "users", "stock", "catalogue")
	wait("orders")
	start("prices", "orders", "shipping") // and the other side of the diamond not yet
	wait("gateway")
	start("payments", "gateway")
	s.awaitPhase("market", v1alpha1.PhaseCompleted)
}

// The test plays the controller of a kind that we do not know, whose definition has whatever fields.
func TestSampleLeaderWorker(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "leaderworkersets.leaderworkerset.x-k8s.io", Annotations: map[string]string{
			apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, for a test",
		}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "leaderworkerset.x-k8s.io", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "leaderworkersets", Kind: "LeaderWorkerSet"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)},
				},
			}},
		},
	}
	s.Create(definition)
	t.Cleanup(func() { assert.NoError(t, s.API.Delete(s.Ctx, definition)) })
	var owner *unstructured.Unstructured
	for _, object := range s.Sample("leader-worker.yaml") {
		neverReady(s, object)
		s.AwaitCreated(object)
		if object.GetKind() == "LeaderWorkerSet" {
			owner = object
		}
	}
	worker := func(name string) *st.PodWrapper {
		pod := s.pod(name).Label("role", "model-server")
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())}
		return pod
	}
	frontends := func() []corev1.Pod {
		pods := &corev1.PodList{}
		require.NoError(t, s.API.List(s.Ctx, pods, client.InNamespace(s.Namespace), client.MatchingLabels{"role": "frontend"}))
		return pods.Items
	}
	s.Await("the frontend to be there", func() bool { return len(frontends()) == 1 })
	for _, name := range []string{"model-0", "model-0-1", "model-0-2", "model-0-3"} {
		s.createPods(worker(name))
		s.awaitBound(name)
		s.makeReady(name)
	}
	s.awaitGroup("inference", 0, 4, 8)
	s.expectHeld(frontends()[0].Name)
	for _, name := range []string{"model-1", "model-1-1", "model-1-2", "model-1-3"} {
		s.createPods(worker(name))
		s.awaitBound(name)
	}
	s.makeReady("model-1", "model-1-1", "model-1-2")
	s.expectHeld(frontends()[0].Name)
	s.makeReady("model-1-3")
	s.awaitBound(frontends()[0].Name)
}

func TestSampleLabelledChart(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.optIn("enabled")
	for _, file := range []string{"podsequence.yaml", "chart.yaml"} {
		s.CreateSample("labelled-chart/"+file, func(object *unstructured.Unstructured) { neverReady(s, object) })
	}
	chart := &appsv1.Deployment{}
	require.NoError(t, s.API.Get(s.Ctx, s.Key("wiki"), chart))
	assert.Equal(t, corev1.DefaultSchedulerName, chart.Spec.Template.Spec.SchedulerName, "the chart is as it was written")
	podsOf := func(name string) (placed, held []string) {
		pods := &corev1.PodList{}
		require.NoError(t, s.API.List(s.Ctx, pods, client.InNamespace(s.Namespace), client.MatchingLabels{"app.kubernetes.io/name": name}))
		for i := range pods.Items {
			if pods.Items[i].Spec.NodeName != "" {
				placed = append(placed, pods.Items[i].Name)
			} else {
				held = append(held, pods.Items[i].Name)
			}
		}
		return placed, held
	}
	for _, store := range []string{"postgresql", "redis"} {
		s.Await(store+" to be placed", func() bool { placed, _ := podsOf(store); return len(placed) == 1 })
	}
	s.Await("the wiki's pods", func() bool { _, held := podsOf("wiki"); return len(held) == 2 })
	placed, _ := podsOf("redis")
	s.makeReady(placed...)
	_, held := podsOf("wiki")
	s.expectHeld(held...)
	placed, _ = podsOf("postgresql")
	s.makeReady(placed...)
	s.awaitBound(held...)
}
