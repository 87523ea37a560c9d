package book

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/book"
	"example.com/podsequence/test/harness/cluster"
)

// chartPage orders a chart with Helm and with Argo CD.
const chartPage = "docs/howto/third-party-charts.md"

// application is what the test needs of an Application.
type application struct {
	Spec struct {
		Destination struct{ Namespace string }
		SyncPolicy  struct {
			SyncOptions              []string
			ManagedNamespaceMetadata struct{ Labels, Annotations map[string]string }
		}
	}
}

// The test does what Argo CD would: it creates the namespace of the Application, renders the chart, and syncs each object with the
// library of Argo CD, the PodSequence last.
func TestTheApplicationOfTheHowToStartsInOrder(t *testing.T) {
	page := pageOf(t, chartPage)
	var app application
	require.NoError(t, yaml.Unmarshal([]byte(blockWith(t, page, "kind: Application").Text), &app))
	namespace := app.Spec.Destination.Namespace + "-argo-cd" // the commands of the page have the other
	require.Contains(t, app.Spec.SyncPolicy.SyncOptions, "CreateNamespace=true")
	metadata := app.Spec.SyncPolicy.ManagedNamespaceMetadata
	require.NoError(t, shared.API.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: metadata.Labels, Annotations: metadata.Annotations,
	}}))
	directory := t.TempDir()
	values := fmt.Sprintf("{postgresql: {podAnnotations: {%s: 1h}}}", cluster.ReadyAfter)
	require.NoError(t, os.WriteFile(filepath.Join(directory, "values.yaml"), []byte(values), 0o600))
	shared.MustShell(t, fmt.Sprintf("set -e; cd '%s'; %s\n%s\nhelm template wiki wiki --namespace %s --skip-tests -f values.yaml >chart.yaml",
		directory, pluginPath(t), blockWith(t, page, "helm create").Text, namespace))
	chart, err := os.ReadFile(filepath.Join(directory, "chart.yaml"))
	require.NoError(t, err)
	rendered := append(objectsIn(t, string(chart)), objectsIn(t, blockWith(t, page, "kind: PodSequence").Text)...)
	for i, object := range rendered {
		if object.GetKind() == "Namespace" {
			continue // Argo CD has created it
		}
		object.SetNamespace(namespace)
		file := filepath.Join(directory, fmt.Sprintf("object-%d.json", i))
		text, err := json.Marshal(object)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, text, 0o600))
		shared.MustShell(t, pluginPath(t)+"gitops argo "+file)
	}

	pod := func(name string, is func(*corev1.Pod) bool) {
		t.Helper()
		cluster.Eventually(t, "the pod of "+name, func() error { return onePod(t, namespace, name, is) })
	}
	pod("postgresql", isBound)
	pod("wiki", func(p *corev1.Pod) bool { return cluster.IsHeld(p) && strings.Contains(message(p), "Stores") })
	shared.MustShell(t, fmt.Sprintf("kubectl annotate pods --overwrite -n %s -l app.kubernetes.io/name=postgresql %s=0s",
		namespace, cluster.ReadyAfter))
	pod("wiki", cluster.IsReady)

	verdict := referee.VerdictFor(t.Context(), namespace)
	assert.Empty(t, verdict.Violations, "%s", verdict)
	assert.NotZero(t, verdict.Bindings)
}

// onePod returns an error unless an application has one pod, which is as it should be.
func onePod(t *testing.T, namespace, name string, is func(*corev1.Pod) bool) error {
	var pods corev1.PodList
	selector := client.MatchingLabels{"app.kubernetes.io/name": name}
	require.NoError(t, shared.API.List(t.Context(), &pods, client.InNamespace(namespace), selector))
	if len(pods.Items) != 1 || !is(&pods.Items[0]) {
		return fmt.Errorf("there are %d pods, and the first is not as it should be: %v", len(pods.Items), pods.Items)
	}
	return nil
}

// message is what a pod says of its scheduling.
func message(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Message
		}
	}
	return ""
}

// pageOf reads one page.
func pageOf(t *testing.T, file string) book.Page {
	t.Helper()
	pages, err := book.Pages(root)
	require.NoError(t, err)
	i := slices.IndexFunc(pages, func(p book.Page) bool { return p.File == file })
	require.NotEqual(t, -1, i, file)
	return pages[i]
}

// blockWith is the first block of a page that contains a text.
func blockWith(t *testing.T, page book.Page, text string) book.Block {
	t.Helper()
	i := slices.IndexFunc(page.Blocks, func(b book.Block) bool { return strings.Contains(b.Text, text) })
	require.NotEqual(t, -1, i, "%s has no block with %q", page.File, text)
	return page.Blocks[i]
}

// objectsIn are the objects of a manifest.
func objectsIn(t *testing.T, text string) (all []*unstructured.Unstructured) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			require.NotEmpty(t, all)
			return all
		}
		require.NoError(t, err)
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
}
