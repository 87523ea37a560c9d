package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	kubefake "helm.sh/helm/v4/pkg/kube/fake"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Each file of testdata/older holds the values of a chart as it once was.
func TestEveryOlderChartIsUpgradedInEachWay(t *testing.T) {
	t.Parallel()
	settings := map[string][]values{
		"podsequence-crds": {nil, {"features": values{"sequentialJob": false}}},
		"podsequence": {nil, {"lite": true, "controller": values{"replicas": 3}}, {
			"features": values{"podGroup": false}, "networkPolicies": values{"egress": values{"enabled": true}}, "explainWaits": false,
			"monitoring": values{"serviceMonitor": values{"enabled": true}}, "scheduler": values{"resources": nil, "podLabels": values{"a": "b"}},
		}},
	}
	files, err := filepath.Glob("testdata/older/*/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		for _, set := range settings[name] {
			upgraded := func(prepare func(*action.Upgrade), given values) map[string]object {
				t.Helper()
				return upgrade(t, &chart.Chart{
					Metadata:  &chart.Metadata{APIVersion: "v2", Name: name, Version: "0.0.1"},
					Values:    readValues(t, file),
					Templates: []*common.File{{Name: "templates/a.yaml", Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")}},
				}, copyOf(t, set), given, prepare)
			}
			fresh := install{chart: name, values: copyOf(t, set)}.objects(t)
			reset := upgraded(func(u *action.Upgrade) { u.ResetValues = true }, copyOf(t, set))
			assert.Equal(t, fresh, reset, "%s with %v, --reset-values", file, set)
			reused := upgraded(func(u *action.Upgrade) { u.ResetThenReuseValues = true }, nil)
			assert.Equal(t, fresh, reused, "%s with %v, --reset-then-reuse-values", file, set)
			// What the older chart had by default counts as set.
			defaults := util.CoalesceTables(readValues(t, file), readValues(t, filepath.Join(charts, name, "values.yaml")))
			kept := install{chart: name, defaults: defaults, values: copyOf(t, set)}.objects(t)
			reused = upgraded(func(u *action.Upgrade) { u.ReuseValues = true }, nil)
			assert.Equal(t, kept, reused, "%s with %v, --reuse-values", file, set)
		}
	}
}

// upgrade installs a chart with values, upgrades it to ours, and returns what that has.
func upgrade(t *testing.T, older *chart.Chart, set, given values, prepare func(*action.Upgrade)) map[string]object {
	t.Helper()
	version, err := common.ParseKubeVersion("v1.37.1")
	require.NoError(t, err)
	configuration := action.NewConfiguration()
	configuration.Releases = storage.Init(driver.NewMemory())
	configuration.KubeClient = &kubefake.PrintingKubeClient{Out: io.Discard}
	configuration.Capabilities = &common.Capabilities{KubeVersion: *version, APIVersions: common.VersionSet{"v1"}}
	first := action.NewInstall(configuration)
	first.ReleaseName, first.Namespace = "podsequence", namespace
	_, err = first.Run(older, set)
	require.NoError(t, err)
	second := action.NewUpgrade(configuration)
	second.Namespace = namespace
	prepare(second)
	current, err := loader.LoadDir(filepath.Join(charts, older.Metadata.Name))
	require.NoError(t, err)
	done, err := second.Run("podsequence", current, given)
	require.NoError(t, err)
	objects := map[string]object{}
	text := done.(*release.Release).Manifest
	for _, hook := range done.(*release.Release).Hooks {
		text += "\n---\n" + hook.Manifest
	}
	for _, o := range decode(t, text) {
		objects[nameOf(o)] = o
	}
	return objects
}

// With --reuse-values Helm replaces the defaults of a chart by those of the chart before, which has no value that is new.
func TestEachValueMayBeMissing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"podsequence", "podsequence-crds"} {
		file := filepath.Join(charts, name, "values.yaml")
		want, err := install{chart: name}.render(t)
		require.NoError(t, err)
		open := openMaps(t, name)
		for _, path := range pathsOf(readValues(t, file), nil) {
			isOpen := func(path []string) bool { return slices.Contains(open, strings.Join(path, ".")) }
			if slices.ContainsFunc(prefixesOf(path[:len(path)-1]), isOpen) {
				continue // The operator's own keys: they are not ours to miss.
			}
			remaining := readValues(t, file)
			parent, key := valueAt(remaining, path[:len(path)-1]).(values), path[len(path)-1]
			_, isMap := parent[key].(values)
			delete(parent, key)
			set := map[string]values{"is missing": nil, "is null": valuesWith(path, nil)}
			if isMap {
				set["is empty"] = valuesWith(path, values{})
			}
			for what, set := range set {
				t.Run(name+": "+strings.Join(path, ".")+" "+what, func(t *testing.T) {
					got, err := install{chart: name, defaults: remaining, values: set}.render(t)
					require.NoError(t, err)
					if isOpen(path) {
						assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
						return
					}
					assert.Equal(t, want, got)
				})
			}
		}
	}
}

// An operator who sets a value to null means the default of the chart; for a map of any keys, that it is empty.
func TestNullIsTheDefault(t *testing.T) {
	t.Parallel()
	want := install{chart: "podsequence"}.objects(t)
	null := values{"networkPolicies": nil, "image": values{"tag": nil}, "scheduler": values{"replicas": nil}}
	assert.Equal(t, want, install{chart: "podsequence", values: null}.objects(t))
	objects := install{chart: "podsequence", values: values{"scheduler": values{"resources": nil, "nodeSelector": nil}}}.objects(t)
	spec := objects["apps/v1 Deployment podsequence-system/podsequence-scheduler"]["spec"].(object)["template"].(object)["spec"].(object)
	assert.NotContains(t, spec, "nodeSelector")
	assert.NotContains(t, spec["containers"].([]any)[0], "resources")
}

// A template that does not set defaults would see them only if another one was rendered before it.
func TestEveryTemplateSetsDefaultsFirst(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"podsequence", "podsequence-crds"} {
		loaded, err := loader.LoadDir(filepath.Join(charts, name))
		require.NoError(t, err)
		for _, template := range loaded.Templates {
			if strings.HasPrefix(filepath.Base(template.Name), "_") {
				continue
			}
			assert.True(t, strings.HasPrefix(string(template.Data), setDefaults), "%s must begin with %s", template.Name, setDefaults)
		}
	}
}

// pathsOf returns the path of each value, and of each map of values.
func pathsOf(v values, parent []string) [][]string {
	var paths [][]string
	for _, key := range slices.Sorted(maps.Keys(v)) {
		path := append(slices.Clone(parent), key)
		paths = append(paths, path)
		if nested, ok := v[key].(values); ok {
			paths = append(paths, pathsOf(nested, path)...)
		}
	}
	return paths
}

func prefixesOf(path []string) [][]string {
	var prefixes [][]string
	for i := range path {
		prefixes = append(prefixes, path[:i+1])
	}
	return prefixes
}

// valuesWith are values of which one is set.
func valuesWith(path []string, value any) values {
	for _, key := range slices.Backward(path) {
		value = values{key: value}
	}
	return value.(values)
}

func valueAt(v values, path []string) any {
	var value any = v
	for _, key := range path {
		value = value.(values)[key]
	}
	return value
}

// openMaps are the paths of the maps whose keys are not ours, by the schema.
func openMaps(t *testing.T, name string) []string {
	t.Helper()
	schema := readValues(t, filepath.Join(charts, name, "values.schema.json"))
	var open []string
	var visit func(schema values, path []string)
	visit = func(schema values, path []string) {
		properties, closed := schema["properties"].(values)
		if strings.Contains(fmt.Sprint(schema["type"]), "object") && !closed {
			open = append(open, strings.Join(path, "."))
		}
		for key, property := range properties {
			visit(property.(values), append(slices.Clone(path), key))
		}
	}
	visit(schema, nil)
	return open
}

func readValues(t *testing.T, file string) values {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var v values
	require.NoError(t, yaml.Unmarshal(content, &v))
	return v
}

func copyOf(t *testing.T, v values) values {
	t.Helper()
	content, err := json.Marshal(v)
	require.NoError(t, err)
	var duplicate values
	require.NoError(t, json.Unmarshal(content, &duplicate))
	return duplicate
}
