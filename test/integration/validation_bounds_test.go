package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

// Values that no group can mean. Each is refused with the field, the value and what to write instead.
func TestValuesThatNoGroupCanMeanAreRefusedByName(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, kind := range map[string]struct {
		schema.GroupVersionKind
		home string
	}{
		"PodSequence":        {v1alpha1.PodSequenceKind, ""},
		"ClusterPodSequence": {v1alpha1.ClusterPodSequenceKind, ", namespaces: [shop]"},
	} {
		t.Run(name, func(t *testing.T) { checkRules(t, kind.GroupVersionKind, boundRules(kind.home)) })
	}
}

// boundRules are the rules on the values of a second group, which has a name, and whose home is what the kind says of where its
// pods live.
func boundRules(home string) map[string]ruleTest {
	spec := func(group string) string {
		return "{podGroups: [{pods: [a]" + home + "}, {name: Database, " + group + home + "}]}"
	}
	const second = "spec.podGroups[1]"
	tests := map[string]ruleTest{
		"the highest minAvailable": {spec: spec("podSelector: {}, minAvailable: 100000")},
		"one more": {
			spec: spec("podSelector: {}, minAvailable: 100001"),
			want: []string{second + ".minAvailable: Invalid value: 100001: must be a number from 0 to 100000, or a percentage"},
		},
		"a minAvailable that 32 bits cannot hold": {
			spec: spec("podSelector: {}, minAvailable: 99999999999"),
			want: []string{second + ".minAvailable: Invalid value: 99999999999: must be a number from 0 to 100000"},
		},
		"a minAvailable that 64 bits cannot hold": {
			spec: spec("podSelector: {}, minAvailable: 99999999999999999999"), want: []string{second + ".minAvailable"},
		},
		"expectedPods that 32 bits cannot hold": {
			spec: spec("podSelector: {}, expectedPods: 99999999999"),
			want: []string{second + ".expectedPods: Invalid value: 99999999999", "less than or equal to 100000"},
		},
		"names of pods with dots": {spec: spec("pods: [db-0.eu, 0a]")},
		"a name that no pod can have": {
			spec: spec(`pods: [db-0, "Not A Pod!"]`),
			want: []string{second + `.pods[1]: Invalid value: "Not A Pod!": must be the name of a pod: lower-case letters, digits`},
		},
		"a name of a pod with an empty part": {
			spec: spec(`pods: [a..b]`), want: []string{second + `.pods[0]: Invalid value: "a..b": must be the name of a pod`},
		},
		"as many available as expected": {spec: spec("podSelector: {}, minAvailable: 2, expectedPods: 2")},
		"a percentage of the expected":  {spec: spec("podSelector: {}, minAvailable: 100%, expectedPods: 2")},
		"more available than expected": {
			spec: spec("podSelector: {}, minAvailable: 5, expectedPods: 2"),
			want: []string{
				"spec.podGroups: Invalid value", `podGroups[1].minAvailable: group "Database" needs 5 ready members and expects 2: ` +
					"lower minAvailable, or raise expectedPods",
			},
		},
		"whole seconds in any unit": {spec: spec(`pods: [b], waitDuration: 1.5m, timeout: 2000ms`)},
		"a value that is no duration": {
			spec: spec(`pods: [b], timeout: 9999999999999999999h`), want: []string{second + ".timeout"},
		},
	}
	for _, d := range []string{"100ms", "1.5s", "1s1ns", "0.0001m"} {
		tests["a wait of "+d] = ruleTest{spec: spec("pods: [b], waitDuration: " + d), want: []string{
			`podGroups[1].waitDuration: "` + d + `" of group "Database" is not a whole number of seconds: use a duration such as 30s`,
		}}
		tests["a time-out of "+d] = ruleTest{spec: spec("pods: [b], timeout: " + d), want: []string{
			`podGroups[1].timeout: "` + d + `" of group "Database" is not a whole number of seconds: use a duration such as 10m`,
		}}
	}
	return tests
}

// The first group that is wrong is named, also in the largest sequence.
func TestTheLargestSequenceIsRefusedForItsLastGroup(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	name := func(i int) string { return fmt.Sprintf("%s%03d", strings.Repeat("x", 60), i) }
	spec := func(last string) string {
		return fmt.Sprintf(`{podGroups: [%s, %s]}`, repeat(63, func(i int) string {
			return fmt.Sprintf("{name: %s, podSelector: {}, expectedPods: 5, minAvailable: 5, timeout: 1h1m1s, waitDuration: 1h1m1s, dependsOn: [%s]}",
				name(i), repeat(min(i, 16), func(j int) string { return name(i - 1 - j) }))
		}), last)
	}
	checkRules(t, v1alpha1.PodSequenceKind, map[string]ruleTest{
		"a name of no group": {
			spec: spec("{pods: [a], dependsOn: [nobody]}"),
			want: []string{`podGroups[63].dependsOn: group "Group 64" depends on "nobody", which is the name of no group`},
		},
		"a fraction of a second": {
			spec: spec("{pods: [a], waitDuration: 10ms}"), want: []string{`podGroups[63].waitDuration: "10ms" of group "Group 64"`},
		},
		"more available than expected": {
			spec: spec("{podSelector: {}, minAvailable: 5, expectedPods: 4}"), want: []string{`podGroups[63].minAvailable: group "Group 64" needs 5`},
		},
	})
}

// Values that today's definition refuses may have been stored by an earlier one. Whoever changes something else is not kept from it.
func TestStoredValuesThatAreRefusedToday(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	earlier := readEarlierDefinitions(t, "podsequences")
	latest := earlier[slices.IndexFunc(earlier, func(d earlierDefinition) bool { return d.Since == "8e154f8" })] // that allowed them
	definition := versionedDefinition(t, storedKinds["podsequences"].definition, s.Namespace+".example.com", []earlierDefinition{latest})
	require.NoError(t, s.API.Create(s.Ctx, definition))
	t.Cleanup(func() { assert.NoError(t, s.API.Delete(s.Ctx, definition)) })

	sequence := func(version, name string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetGroupVersionKind(schema.GroupVersionKind{Group: definition.Spec.Group, Version: version, Kind: v1alpha1.PodSequenceKind.Kind})
		object.SetNamespace(s.Namespace)
		object.SetName(name)
		return object
	}
	for name, text := range map[string]string{
		"unwise": `{podGroups: [{name: a, pods: [a], waitDuration: 1.5s, timeout: 100ms},
			{name: b, podSelector: {}, minAvailable: 5, expectedPods: 2}, {name: c, pods: [c]}]}`,
		"never": `{podGroups: [{pods: ["Not A Pod!"]}, {podSelector: {}, minAvailable: 99999999999}]}`,
	} {
		var spec map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(text), &spec))
		stored := sequence(latest.version(), name)
		stored.Object["spec"] = spec
		cluster.Await(t, "the definition to be served", func() bool { return s.API.Create(s.Ctx, stored) == nil })
	}

	for _, test := range []struct{ object, what, patch, want string }{
		{object: "unwise", what: "suspended", patch: `[{"op": "add", "path": "/spec/suspend", "value": true}]`},
		{object: "unwise", what: "skipped", patch: `[{"op": "add", "path": "/spec/podGroups/1/skip", "value": true}]`},
		{object: "unwise", what: "a group more", patch: `[{"op": "add", "path": "/spec/podGroups/0", "value": {"name": "e", "pods": ["e"]}}]`},
		{object: "unwise", what: "another group removed", patch: `[{"op": "remove", "path": "/spec/podGroups/2"}]`},
		{object: "unwise", what: "corrected", patch: `[{"op": "replace", "path": "/spec/podGroups/1/minAvailable", "value": 2}]`},
		{
			object: "unwise", what: "another fraction of a second",
			patch: `[{"op": "replace", "path": "/spec/podGroups/0/waitDuration", "value": "1.7s"}]`,
			want:  `podGroups[0].waitDuration: "1.7s" of group "a" is not a whole number of seconds`,
		},
		{
			object: "unwise", what: "more still", patch: `[{"op": "replace", "path": "/spec/podGroups/1/minAvailable", "value": 6}]`,
			want: `podGroups[1].minAvailable: group "b" needs 6 ready members and expects 2`,
		},
		{
			object: "unwise", what: "one more fraction of a second",
			patch: `[{"op": "add", "path": "/spec/podGroups/2/waitDuration", "value": "10ms"}]`,
			want:  `podGroups[2].waitDuration: \"10ms\" of group \"c\" is not a whole number of seconds`, // beside the one that was
		},
		{object: "never", what: "suspended", patch: `[{"op": "add", "path": "/spec/suspend", "value": true}]`},
		{
			object: "never", what: "skipped by annotation",
			patch: `[{"op": "add", "path": "/metadata/annotations", "value": {"podsequence.example.com/skip": "Group 1"}}]`,
		},
		{
			object: "never", what: "another group changed", patch: `[{"op": "replace", "path": "/spec/podGroups/0/pods", "value": ["a"]}]`,
			want: "spec.podGroups[1].minAvailable: Invalid value: 99999999999",
		},
	} {
		object := sequence(v1alpha1.GroupVersion.Version, test.object)
		err := s.API.Patch(s.Ctx, object, client.RawPatch(types.JSONPatchType, []byte(test.patch)), client.DryRunAll)
		if test.want == "" {
			assert.NoError(t, err, test.what)
		} else {
			assert.ErrorContains(t, err, test.want, test.what)
		}
	}
}
