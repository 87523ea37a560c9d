package main

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// values are what an operator sets.
type values = map[string]any

// object is a Kubernetes object.
type object = map[string]any

// install is a release of a chart.
type install struct {
	chart, namespace, kubernetes string
	values                       values
	defaults                     values // those of values.yaml, unless they are set
}

// objects renders the chart with Helm's own library, and returns all objects by name.
func (i install) objects(t *testing.T) map[string]object {
	t.Helper()
	rendered, err := i.render(t)
	require.NoError(t, err)
	objects := map[string]object{}
	for file, text := range rendered {
		if strings.HasSuffix(file, "NOTES.txt") {
			continue
		}
		for _, o := range decode(t, text) {
			require.NotContains(t, objects, nameOf(o), "there twice")
			objects[nameOf(o)] = o
		}
	}
	return objects
}

func (i install) render(t *testing.T) (map[string]string, error) {
	t.Helper()
	if i.namespace == "" {
		i.namespace = namespace
	}
	if i.kubernetes == "" {
		i.kubernetes = "v1.37.1"
	}
	chart, err := loader.LoadDir(filepath.Join(charts, i.chart))
	require.NoError(t, err)
	if i.defaults != nil {
		chart.Values = i.defaults
	}
	version, err := common.ParseKubeVersion(i.kubernetes)
	require.NoError(t, err)
	capabilities := &common.Capabilities{KubeVersion: *version, APIVersions: common.VersionSet{"v1"}}
	release := common.ReleaseOptions{Name: "podsequence", Namespace: i.namespace, Revision: 1, IsInstall: true}
	composed, err := util.ToRenderValues(chart, i.values, release, capabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, composed)
}

func decode(t *testing.T, text string) []object {
	t.Helper()
	var objects []object
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		var o object
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return objects
		} else {
			require.NoError(t, err, text)
		}
		if len(o) > 0 {
			objects = append(objects, o)
		}
	}
}

func nameOf(o object) string {
	metadata := o["metadata"].(object)
	name := o["apiVersion"].(string) + " " + o["kind"].(string) + " "
	if namespace, ok := metadata["namespace"].(string); ok {
		name += namespace + "/"
	}
	return name + metadata["name"].(string)
}

// kustomized renders a kustomization, and returns all objects by name.
func kustomized(t *testing.T, base string, components ...string) map[string]object {
	t.Helper()
	resources, err := render([]string{base}, components...)
	require.NoError(t, err)
	objects := map[string]object{}
	for _, resource := range resources.Resources() {
		content, err := resource.MarshalJSON()
		require.NoError(t, err)
		var o object
		require.NoError(t, json.Unmarshal(content, &o))
		objects[nameOf(o)] = o
	}
	return objects
}

const config = "v1 ConfigMap podsequence-system/podsequence-scheduler-config"

// normalize takes from objects what Helm and Kustomize do in ways of their own: the namespace, which Helm creates; the name
// of the scheduler's configuration, whose hash is in an annotation of the pods in the chart; how that file is written; and what
// only runs in `helm test`.
func normalize(t *testing.T, objects map[string]object) map[string]object {
	t.Helper()
	result := map[string]object{}
	for name, o := range objects {
		metadata := o["metadata"].(object)
		annotations, _ := metadata["annotations"].(object)
		if o["kind"] == "Namespace" || annotations["helm.sh/hook"] != nil {
			continue
		}
		if strings.HasPrefix(name, config) {
			name, metadata["name"] = config, "podsequence-scheduler-config"
			o["data"] = decode(t, o["data"].(object)["scheduler-config.yaml"].(string))
		}
		if o["kind"] == "Deployment" {
			normalizeDeployment(o)
		}
		// Encoded and decoded, so that numbers are of one type.
		content, err := json.Marshal(o)
		require.NoError(t, err)
		var plain object
		require.NoError(t, json.Unmarshal(content, &plain))
		result[name] = plain
	}
	return result
}

func normalizeDeployment(o object) {
	template := o["spec"].(object)["template"].(object)
	metadata := template["metadata"].(object)
	if annotations, ok := metadata["annotations"].(object); ok {
		delete(annotations, "checksum/config")
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	volumes, _ := template["spec"].(object)["volumes"].([]any)
	for _, volume := range volumes {
		if source, ok := volume.(object)["configMap"].(object); ok {
			source["name"] = "podsequence-scheduler-config"
		}
	}
}

func expectSame(t *testing.T, want, got map[string]object) {
	t.Helper()
	want, got = normalize(t, want), normalize(t, got)
	assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	for name := range want {
		if got[name] != nil {
			assert.Equal(t, want[name], got[name], name)
		}
	}
}

// images are the values that give programs the images that the kustomizations name.
func images(more values) values {
	result := values{"image": values{"repository": "podsequence", "tag": "v1"}}
	maps.Copy(result, more)
	return result
}

// withImages gives the objects of a kustomization the images that the charts are told.
func withImages(objects map[string]object) map[string]object {
	for _, o := range objects {
		if o["kind"] != "Deployment" {
			continue
		}
		spec := o["spec"].(object)["template"].(object)["spec"].(object)
		for _, container := range spec["containers"].([]any) {
			container := container.(object)
			container["image"] = container["image"].(string) + ":v1"
		}
	}
	return objects
}
