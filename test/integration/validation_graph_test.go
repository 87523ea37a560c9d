package integration

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
)

// groupRules are the rules on what both kinds say of groups. home is what a group of the kind says of where its pods live.
func groupRules(home string) map[string]ruleTest {
	spec := func(groups ...string) string {
		for i, group := range groups {
			groups[i] = "{" + group + home + "}"
		}
		return "{podGroups: [" + strings.Join(groups, ", ") + "]}"
	}
	many := func(groups int, group func(int) string) string {
		list := make([]string, groups)
		for i := range list {
			list[i] = group(i)
		}
		return spec(list...)
	}
	return map[string]ruleTest{
		"a diamond": {spec: spec(
			"name: db, pods: [a]", "name: left, pods: [b], dependsOn: [db]", "name: right, pods: [c], dependsOn: [db]",
			"pods: [d], dependsOn: [left, right]")},
		"a group that waits for none":            {spec: spec("pods: [a]", "pods: [b], dependsOn: []")},
		"names in any script":                    {spec: spec(`name: "Données, 2e étage"`+", pods: [a]", "name: データベース, pods: [b]", `name: "a \"b\"", pods: [c]`)},
		"the name that the group has by default": {spec: spec("name: Group 1, pods: [a]", "pods: [b]", `name: "", pods: [c]`, "name: Group 5, pods: [d]")},
		"a name of two groups": {
			spec: spec("name: x, pods: [a]", "name: x, pods: [b]", "name: z, pods: [c]", "pods: [d], dependsOn: [z]"),
			want: []string{"spec.podGroups", "names in podGroups must differ", "give each group its own podGroups[].name"},
		},
		"a name that an earlier group has by default": {
			spec: spec("pods: [a]", "name: Group 1, pods: [b]"),
			want: []string{"spec.podGroups", "names in podGroups must differ", `a group without a name is called "Group <n>"`},
		},
		"a name that a later group has by default": {
			spec: spec("name: Group 2, pods: [a]", `name: "", pods: [b]`),
			want: []string{"spec.podGroups", "names in podGroups must differ"},
		},
		"the longest names, and two of them the same": {
			spec: many(64, func(i int) string {
				return fmt.Sprintf("name: %s%02d, podSelector: {}", strings.Repeat("x", 61), min(i, 62))
			}),
			want: []string{"spec.podGroups", "names in podGroups must differ"},
		},
		"a line break in a name": {
			spec: spec(`name: "a\nReady: True", pods: [a]`),
			want: []string{"spec.podGroups", "podGroups[].name must not contain control characters", "remove them"},
		},
		"an escape sequence in a name": {
			spec: spec("pods: [a]", `name: "\e[31mred", pods: [b]`), want: []string{"podGroups[].name must not contain control characters"},
		},
		"a name that turns the direction of what follows": {
			spec: spec(`name: "a\u202eb", pods: [a]`), want: []string{"podGroups[].name must not contain control characters"},
		},
		"the largest graph": {spec: many(64, func(i int) string {
			names := repeat(min(i, 16), func(j int) string { return groupName(i - 1 - j) })
			return fmt.Sprintf("name: %s, podSelector: {}, dependsOn: [%s]", groupName(i), names)
		})},
		"a group that depends on a later one": {
			spec: spec("name: one, pods: [a], dependsOn: [two]", "name: two, pods: [b]"),
			want: []string{`spec.podGroups: Invalid value`, `podGroups[0].dependsOn: group "one" depends on "two", which is not listed earlier: list that`},
		},
		"a group that depends on itself": {
			spec: spec("name: one, pods: [a], dependsOn: [one]"),
			want: []string{`podGroups[0].dependsOn: group "one" depends on "one", which is not listed earlier`},
		},
		"a group that depends on none of these": {
			spec: spec("name: one, pods: [a]", "name: two, pods: [b], dependsOn: [three]"),
			want: []string{`podGroups[1].dependsOn: group "two" depends on "three", which is the name of no group: correct the name`},
		},
		"a group that depends on one without a name, by the name that messages give it": {
			spec: spec("pods: [a]", `name: two, pods: [b], dependsOn: ["Group 1"]`),
			want: []string{`podGroups[1].dependsOn: group "two" depends on "Group 1", which is the name of no group`, "or name that group"},
		},
		"a name of two groups that a third depends on": {
			spec: spec("name: x, pods: [a]", "name: x, pods: [b]", "pods: [c], dependsOn: [x]"),
			want: []string{`podGroups[2].dependsOn: group "Group 3" depends on "x", which more than one group is called: give each group its own name`},
		},
		"a name of an earlier and a later group that one between depends on": {
			spec: spec("name: x, pods: [a]", "pods: [b], dependsOn: [x]", "name: x, pods: [c]"),
			want: []string{`podGroups[1].dependsOn: group "Group 2" depends on "x", which more than one group is called`},
		},
		"the same name twice in dependsOn": {
			spec: spec("name: x, pods: [a]", "pods: [b], dependsOn: [x, x]"),
			want: []string{"spec.podGroups[1].dependsOn[1]: Duplicate value"},
		},
		"an empty name in dependsOn": {
			spec: spec("name: x, pods: [a]", `pods: [b], dependsOn: [""]`),
			want: []string{"spec.podGroups[1].dependsOn[0]", "at least 1 chars long"},
		},
		"too many names in dependsOn": {
			spec: many(18, func(i int) string {
				return fmt.Sprintf("name: %s, podSelector: {}, dependsOn: [%s]", groupName(i), repeat(i, groupName))
			}),
			want: []string{"spec.podGroups[17].dependsOn: Too many", "at most 16 items"},
		},
		"expectedPods":         {spec: spec("podSelector: {}, expectedPods: 100000", "podSelector: {}, expectedPods: 1, minAvailable: 50%")},
		"expectedPods of zero": {spec: spec("podSelector: {}, expectedPods: 0"), want: []string{"spec.podGroups[0].expectedPods", "greater than or equal to 1"}},
		"too many expectedPods": {
			spec: spec("podSelector: {}, expectedPods: 100001"),
			want: []string{"spec.podGroups[0].expectedPods", "less than or equal to 100000"},
		},
		"expectedPods with pods": {
			spec: spec("pods: [a], expectedPods: 1"),
			want: []string{"spec.podGroups[0]", "expectedPods is only for podSelector", "remove it"},
		},
		"minReadySeconds": {spec: spec("podSelector: {}, minReadySeconds: 0", "pods: [a], requiredStatus: Ready, minReadySeconds: 3600")},
		"a negative minReadySeconds": {
			spec: spec("podSelector: {}, minReadySeconds: -1"), want: []string{"spec.podGroups[0].minReadySeconds", "greater than or equal to 0"},
		},
		"minReadySeconds of more than an hour": {
			spec: spec("podSelector: {}, minReadySeconds: 3601"), want: []string{"spec.podGroups[0].minReadySeconds", "less than or equal to 3600"},
		},
		"minReadySeconds with Complete": {
			spec: spec("podSelector: {}, requiredStatus: Complete, minReadySeconds: 5"),
			want: []string{"spec.podGroups[0]", "minReadySeconds is only for requiredStatus Ready", "remove it"},
		},
		"skip": {spec: spec("pods: [a], skip: true", "podSelector: {}, skip: false")},
		"skip in words": {
			spec: spec("pods: [a], skip: please"), want: []string{"spec.podGroups[0].skip", "must be of type boolean"},
		},
		"dryRun": {spec: strings.Replace(spec("pods: [a]"), "{", "{dryRun: true, ", 1)},
		"dryRun in words": {
			spec: strings.Replace(spec("pods: [a]"), "{", "{dryRun: please, ", 1),
			want: []string{"spec.dryRun", "must be of type boolean"},
		},
	}
}

func groupName(i int) string { return fmt.Sprintf("g%d", i) }

func TestValidationOfGroups(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	checkRules(t, v1alpha1.PodSequenceKind, groupRules(""))
}

func TestValidationOfClusterPodSequences(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	tests := groupRules(", namespaces: [shop]")
	own := map[string]ruleTest{
		"names and labels of namespaces": {spec: `{podGroups: [
			{pods: [a], namespaces: [kube-system]}, {podSelector: {}, namespaces: [one, two]},
			{podSelector: {}, namespaceSelector: {matchLabels: {team: shop}, matchExpressions: [{key: a, operator: Exists}]}},
			{podSelector: {}, namespaceSelector: {}}]}`},
		"every field set": {spec: `{scope: Node, enforcementMode: Continuous, suspend: true, dryRun: true,
			schedulingGateName: podsequence.example.com/own, podGroups: [{name: one, namespaces: [a], podSelector: {}, expectedPods: 3,
			skip: true, dependsOn: [], nodeSelector: {a: b}, requiredStatus: Complete, minAvailable: 1, waitDuration: 1s,
			timeout: 1m, onTimeout: Continue}]}`},
		"the largest": {spec: fmt.Sprintf(`{podGroups: [%s]}`, repeat(64, func(i int) string {
			return fmt.Sprintf(`{podSelector: {}, namespaces: [%s]}`, repeat(64, func(j int) string { return fmt.Sprintf("n%d-%d", i, j) }))
		}))},
		"neither namespaces nor namespaceSelector": {
			spec: `{podGroups: [{podSelector: {}}]}`,
			want: []string{"spec.podGroups[0]", "set exactly one of namespaces and namespaceSelector", "name the namespaces"},
		},
		"both namespaces and namespaceSelector": {
			spec: `{podGroups: [{podSelector: {}, namespaces: [a], namespaceSelector: {}}]}`,
			want: []string{"spec.podGroups[0]", "set exactly one of namespaces and namespaceSelector"},
		},
		"pods of two namespaces": {
			spec: `{podGroups: [{pods: [x], namespaces: [a, b]}]}`,
			want: []string{"spec.podGroups[0]", "pods needs exactly one entry in namespaces", "one group per namespace"},
		},
		"pods of selected namespaces": {
			spec: `{podGroups: [{pods: [x], namespaceSelector: {}}]}`,
			want: []string{"spec.podGroups[0]", "pods needs exactly one entry in namespaces"},
		},
		"an empty list of namespaces alone is as good as none": {
			spec: `{podGroups: [{podSelector: {}, namespaces: []}]}`,
			want: []string{"spec.podGroups[0]", "set exactly one of namespaces and namespaceSelector"},
		},
		"empty means absent, as templates of charts write it": {
			spec: `{schedulingGateName: "", podGroups: [
				{pods: [], podSelector: {}, namespaces: [], namespaceSelector: {}, waitDuration: "", timeout: "", nodeSelector: {}, expectedPods: 2},
				{pods: [a], namespaces: [b]}]}`,
		},
		"the same namespace twice": {
			spec: `{podGroups: [{podSelector: {}, namespaces: [a, a]}]}`,
			want: []string{"spec.podGroups[0].namespaces[1]: Duplicate value"},
		},
		"a namespace that is none": {
			spec: `{podGroups: [{podSelector: {}, namespaces: [Not_One]}]}`, want: []string{"spec.podGroups[0].namespaces[0]", "should match"},
		},
		"too many namespaces": {
			spec: fmt.Sprintf(`{podGroups: [{podSelector: {}, namespaces: [%s]}]}`, repeat(65, groupName)),
			want: []string{"spec.podGroups[0].namespaces: Too many", "at most 64 items"},
		},
		"an unknown operator on namespaces": {
			spec: `{podGroups: [{podSelector: {}, namespaceSelector: {matchExpressions: [{key: a, operator: Near, values: [b]}]}}]}`,
			want: []string{"spec.podGroups[0].namespaceSelector.matchExpressions[0].operator: Unsupported value"},
		},
		"In without values on namespaces": {
			spec: `{podGroups: [{podSelector: {}, namespaceSelector: {matchExpressions: [{key: a, operator: In}]}}]}`,
			want: []string{"spec.podGroups[0].namespaceSelector.matchExpressions[0]", "values must be non-empty"},
		},
		"a namespace label that is none": {
			spec: `{podGroups: [{podSelector: {}, namespaceSelector: {matchLabels: {a: "b c"}}}]}`,
			want: []string{"spec.podGroups[0].namespaceSelector.matchLabels", "every value must be a label value"},
		},
		"a namespace of its own": {
			spec: `{namespace: shop, podGroups: [{podSelector: {}, namespaces: [a]}]}`, want: []string{`unknown field "spec.namespace"`},
		},
		"neither pods nor podSelector": {
			spec: `{podGroups: [{namespaces: [a]}]}`, want: []string{"spec.podGroups[0]", "set pods, podSelector, objects or nodeConditions"},
		},
		"nodeSelector in cluster scope": {
			spec: `{podGroups: [{podSelector: {}, namespaces: [a], nodeSelector: {gpu: "true"}}]}`,
			want: []string{"podGroups[].nodeSelector is only for scope Node", "remove it, or set scope to Node"},
		},
		"BootstrapOnly in node scope": {
			spec: `{scope: Node, enforcementMode: BootstrapOnly, podGroups: [{podSelector: {}, namespaces: [a]}]}`,
			want: []string{"enforcementMode must be Continuous for scope Node"},
		},
		"a gate name that is none": {
			spec: `{schedulingGateName: "not a gate", podGroups: [{podSelector: {}, namespaces: [a]}]}`,
			want: []string{"spec.schedulingGateName", "must be a qualified name"},
		},
		"onTimeout without timeout": {
			spec: `{podGroups: [{podSelector: {}, namespaces: [a], onTimeout: Continue}]}`,
			want: []string{"spec.podGroups[0]", "onTimeout needs timeout"},
		},
		"no groups": {spec: `{podGroups: []}`, want: []string{"spec.podGroups", "at least 1 items"}},
	}
	for name := range own {
		assert.NotContains(t, tests, name)
	}
	maps.Copy(tests, own)
	checkRules(t, v1alpha1.ClusterPodSequenceKind, tests)
}
