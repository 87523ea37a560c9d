package integration

import (
	"fmt"
	"testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
)

// object is a reference with all fields that must be there, and more.
func object(more string) string {
	return `{apiVersion: cert-manager.io/v1, kind: Certificate, name: shop-tls` + more + `}`
}

// What groups wait for beside pods, in a PodSequence.
func TestValidationOfWhatGroupsAwait(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	tests := awaitedRules("")
	tests["an object with a namespace"] = ruleTest{
		spec: `{podGroups: [{objects: [` + object(", namespace: data") + `]}]}`,
		want: []string{"podGroups[].objects[].namespace is only for a ClusterPodSequence", "remove it"},
	}
	checkRules(t, v1alpha1.PodSequenceKind, tests)
}

// What groups wait for beside pods, in a ClusterPodSequence.
func TestValidationOfWhatGroupsAwaitAcrossNamespaces(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	tests := awaitedRules("namespaces: [a], ")
	tests["an object with a namespace"] = ruleTest{spec: `{podGroups: [{objects: [` + object(", namespace: data") + `]}]}`}
	tests["namespaces of a group without members"] = ruleTest{
		spec: `{podGroups: [{namespaces: [a], objects: [` + object("") + `]}]}`,
		want: []string{"spec.podGroups[0]", "the group has none: remove them, or set pods or podSelector"},
	}
	tests["a selector of namespaces of a group without members"] = ruleTest{
		spec: `{scope: Node, podGroups: [{namespaceSelector: {}, nodeConditions: [{type: Ready}]}]}`,
		want: []string{"spec.podGroups[0]", "the group has none: remove them, or set pods or podSelector"},
	}
	checkRules(t, v1alpha1.ClusterPodSequenceKind, tests)
}

// awaitedRules are the rules for both kinds; home is where the members of a group live.
func awaitedRules(home string) map[string]ruleTest {
	members := home + "podSelector: {}"
	tests := map[string]ruleTest{
		"objects alone":          {spec: `{podGroups: [{objects: [` + object("") + `]}, {` + members + `}]}`},
		"objects beside members": {spec: `{podGroups: [{` + members + `, objects: [` + object(", until: Ready") + `]}]}`},
		"an object of the core group, of a name with a colon": {
			spec: `{podGroups: [{objects: [{apiVersion: v1, kind: Service, name: "system:db", until: Exists}]}]}`,
		},
		"conditions of nodes alone": {spec: `{scope: Node, podGroups: [{nodeConditions: [{type: example.com/GPUHealthy}]}]}`},
		"conditions of nodes beside members": {
			spec: `{scope: Node, podGroups: [{` + members + `, nodeConditions: [{type: Ready, status: "False", whenAbsent: Pass}]}]}`,
		},
		"objects in scope Node": {spec: `{scope: Node, podGroups: [{objects: [` + object("") + `]}]}`},
		"conditions of nodes in cluster scope": {
			spec: `{podGroups: [{nodeConditions: [{type: Ready}]}]}`,
			want: []string{"podGroups[].nodeConditions is only for scope Node", "remove it, or set scope to Node"},
		},
		"an empty list of objects alone": {
			spec: `{podGroups: [{objects: []}]}`, want: []string{"spec.podGroups[0]", "set pods, podSelector, objects or nodeConditions"},
		},
		"too many objects": {
			spec: fmt.Sprintf(`{podGroups: [{objects: [%s]}]}`, repeat(17, func(int) string { return object("") })),
			want: []string{"spec.podGroups[0].objects: Too many", "at most 16 items"},
		},
		"the largest lists of both": {
			spec: fmt.Sprintf(`{scope: Node, podGroups: [%s]}`, repeat(64, func(int) string {
				return fmt.Sprintf(`{objects: [%s], nodeConditions: [%s]}`, repeat(16, func(int) string { return object("") }),
					repeat(8, func(i int) string { return fmt.Sprintf(`{type: example.com/Check-%d}`, i) }))
			})),
		},
		"an apiVersion that is none": {
			spec: `{podGroups: [{objects: [{apiVersion: "a/b/c", kind: Certificate, name: tls}]}]}`,
			want: []string{"spec.podGroups[0].objects[0].apiVersion", "must be a group and a version"},
		},
		"a kind that is none": {
			spec: `{podGroups: [{objects: [{apiVersion: v1, kind: "a b", name: tls}]}]}`,
			want: []string{"spec.podGroups[0].objects[0].kind", "must be a kind"},
		},
		"a name that is a path": {
			spec: `{podGroups: [{objects: [{apiVersion: v1, kind: Service, name: "../db"}]}]}`,
			want: []string{"spec.podGroups[0].objects[0].name", "must be the name of an object"},
		},
		"an object without a name": {
			spec: `{podGroups: [{objects: [{apiVersion: v1, kind: Service}]}]}`,
			want: []string{"spec.podGroups[0].objects[0].name: Required value"},
		},
		"until what is no condition": {
			spec: `{podGroups: [{objects: [` + object(`, until: "is ready"`) + `]}]}`,
			want: []string{"spec.podGroups[0].objects[0].until", "must be Current, Exists, or the type of a condition"},
		},
		"a condition of nodes twice": {
			spec: `{scope: Node, podGroups: [{nodeConditions: [{type: Ready}, {type: Ready, status: "False"}]}]}`,
			want: []string{"spec.podGroups[0].nodeConditions[1]", "Duplicate value"},
		},
		"a status that no condition has": {
			spec: `{scope: Node, podGroups: [{nodeConditions: [{type: Ready, status: Maybe}]}]}`,
			want: []string{"spec.podGroups[0].nodeConditions[0].status: Unsupported value"},
		},
		"both pods and podSelector": {
			spec: `{podGroups: [{` + members + `, pods: [a]}]}`,
			want: []string{"spec.podGroups[0]", "set only one of pods and podSelector"},
		},
	}
	for _, field := range []string{"expectedPods: 2", "minAvailable: 1", "minReadySeconds: 5", "requiredCondition: example.com/Reachable"} {
		tests["of a group without members, "+field] = ruleTest{
			spec: `{podGroups: [{objects: [` + object("") + `], ` + field + `}]}`,
			want: []string{"spec.podGroups[0]", "are about members, and the group has none: remove them, or set pods or podSelector"},
		}
	}
	return tests
}
