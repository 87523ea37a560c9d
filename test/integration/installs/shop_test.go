package installs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// sequenceName is that of the folder's PodSequence, first the group that starts first, and tiers is how many Deployments there are.
const (
	sequenceName = "shop"
	first        = "database"
	tiers        = 3
)

// way is how an application asks that its pods wait for its PodSequence.
type way struct {
	name string
	// edit does it to the template of each Deployment, namespace to the Namespace.
	edit      func(*corev1.PodTemplateSpec)
	namespace map[string]string
	// message is part of what its pods say while there is no PodSequence. Without one they are not held.
	message string
}

var ways = []way{
	{
		name:    "label",
		edit:    func(template *corev1.PodTemplateSpec) { template.Labels[v1alpha1.SequenceLabel] = sequenceName },
		message: "waiting for PodSequence ",
	},
	{
		name:      "namespace",
		edit:      func(template *corev1.PodTemplateSpec) { template.Spec.SchedulerName = ordered },
		namespace: map[string]string{v1alpha1.RequireSequenceAnnotation: v1alpha1.RequireSequence},
		message:   "waiting for a PodSequence that selects this pod",
	},
	{
		name: "gate",
		edit: func(template *corev1.PodTemplateSpec) {
			template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
		},
		message: "scheduling gates", // says the API server
	},
	{
		name: "none",
		edit: func(template *corev1.PodTemplateSpec) { template.Spec.SchedulerName = ordered },
	},
}

// ordered is the profile of our scheduler.
const ordered = "podsequence-scheduler"

// file is a file of the folder that people apply.
type file struct {
	name    string
	objects []*unstructured.Unstructured
}

// folder is what people apply to install the shop in a namespace. The files are in order of their names, the Namespace first.
func folder(t testing.TB, namespace string, w way, tool string) []file {
	t.Helper()
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	ns.SetName(namespace)
	ns.SetAnnotations(w.namespace)
	files := []file{{name: "00-namespace-" + namespace + ".yaml", objects: []*unstructured.Unstructured{ns}}}
	names, err := filepath.Glob("testdata/shop/*.yaml")
	require.NoError(t, err)
	require.Len(t, names, tiers+1)
	slices.Sort(names)
	for _, name := range names {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		f := file{name: fmt.Sprintf("%.2s-%s-%s", filepath.Base(name), namespace, filepath.Base(name)[3:])}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
		for {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(object); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err, name)
			}
			object.SetNamespace(namespace)
			if object.GetKind() == "Deployment" {
				editTemplate(t, object, w, tool)
			}
			f.objects = append(f.objects, object)
		}
		files = append(files, f)
	}
	return files
}

// toolLabel is on all pods, to find those that were installed with a tool.
const toolLabel = "installed-with"

func editTemplate(t testing.TB, deployment *unstructured.Unstructured, w way, tool string) {
	t.Helper()
	written, found, err := unstructured.NestedMap(deployment.Object, "spec", "template")
	require.NoError(t, err)
	require.True(t, found)
	template := &corev1.PodTemplateSpec{}
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(written, template))
	metav1.SetMetaDataLabel(&template.ObjectMeta, toolLabel, tool)
	w.edit(template)
	edited, err := runtime.DefaultUnstructuredConverter.ToUnstructured(template)
	require.NoError(t, err)
	require.NoError(t, unstructured.SetNestedMap(deployment.Object, edited, "spec", "template"))
}

// write writes files into a directory, and returns their names.
func write(t testing.TB, directory string, files []file) []string {
	t.Helper()
	require.NoError(t, os.MkdirAll(directory, 0o700))
	var names []string
	for _, f := range files {
		var content bytes.Buffer
		for _, object := range f.objects {
			text, err := object.MarshalJSON()
			require.NoError(t, err)
			content.WriteString("---\n")
			content.Write(text)
		}
		require.NoError(t, os.WriteFile(filepath.Join(directory, f.name), content.Bytes(), 0o600))
		names = append(names, f.name)
	}
	return names
}

// objectsOf are the objects of files, in their order.
func objectsOf(files []file) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, f := range files {
		objects = append(objects, f.objects...)
	}
	return objects
}
