package order

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestRead(t *testing.T) {
	tests := map[string]struct {
		stored         string
		wantSpec       v1alpha1.PodSequenceSpec
		wantUnreadable []Unreadable // messages by their beginnings
	}{
		"what makes sense is read as it is": {
			stored:   `{spec: {schedulingGateName: g, podGroups: [{pods: [a]}]}}`,
			wantSpec: v1alpha1.PodSequenceSpec{SchedulingGateName: "g", PodGroups: []v1alpha1.PodGroup{{Pods: []string{"a"}}}},
		},
		"no spec at all is an empty one": {
			stored: `{}`,
		},
		"a spec that is text": {
			stored: `{spec: shop}`, wantUnreadable: []Unreadable{{0, "spec: must be an object"}},
		},
		"groups that are no list": {
			stored: `{spec: {scope: Cluster, podGroups: {pods: [a]}}}`, wantSpec: v1alpha1.PodSequenceSpec{Scope: "Cluster"},
			wantUnreadable: []Unreadable{{0, "spec.podGroups: must be a list"}},
		},
		"a group that is none keeps its place": {
			stored: `{spec: {podGroups: [{pods: [a]}, b, {pods: [c]}]}}`,
			wantSpec: v1alpha1.PodSequenceSpec{
				PodGroups: []v1alpha1.PodGroup{{Pods: []string{"a"}}, {}, {Pods: []string{"c"}}},
			},
			wantUnreadable: []Unreadable{{1, "spec.podGroups[1]: must be an object"}},
		},
		"a group of which a part cannot be read keeps its name and no member": {
			stored:         `{spec: {podGroups: [{name: One, pods: [a, 5]}]}}`,
			wantSpec:       v1alpha1.PodSequenceSpec{PodGroups: []v1alpha1.PodGroup{{Name: "One"}}},
			wantUnreadable: []Unreadable{{0, "spec.podGroups[0]: "}},
		},
		"a field of the spec does not take the groups with it": {
			stored: `{spec: {scope: [Cluster], podGroups: [{pods: [a]}, {pods: [b]}]}}`,
			wantSpec: v1alpha1.PodSequenceSpec{
				PodGroups: []v1alpha1.PodGroup{{Pods: []string{"a"}}, {Pods: []string{"b"}}},
			},
			wantUnreadable: []Unreadable{{0, "spec.scope: "}},
		},
		"a namespace and a gate that cannot be read do not become the default": {
			stored:         `{spec: {namespace: [shop], schedulingGateName: 7, podGroups: []}}`,
			wantSpec:       v1alpha1.PodSequenceSpec{Namespace: "[shop]", SchedulingGateName: "7", PodGroups: []v1alpha1.PodGroup{}},
			wantUnreadable: []Unreadable{{0, "spec.namespace: "}, {0, "spec.schedulingGateName: "}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := map[string]any{}
			require.NoError(t, yaml.Unmarshal([]byte(test.stored), &object))
			object["metadata"] = map[string]any{"namespace": "shop", "name": "backend", "uid": "u", "generation": int64(3)}
			shopMetadata := metav1.ObjectMeta{Namespace: "shop", Name: "backend", UID: "u", Generation: 3}
			stored := Read(object)
			assert.Equal(t, shopMetadata, stored.ObjectMeta)
			assert.Equal(t, test.wantSpec, stored.Spec)
			require.Len(t, stored.Unreadable, len(test.wantUnreadable))
			for i, want := range test.wantUnreadable {
				assert.Equal(t, want.Group, stored.Unreadable[i].Group)
				assert.Contains(t, stored.Unreadable[i].Message, want.Message)
			}
		})
	}
	t.Run("a status that cannot be read is as good as none, and keeps nothing else from being read", func(t *testing.T) {
		stored := Read(map[string]any{
			"metadata": map[string]any{"name": "backend"}, "status": "done",
			"spec": map[string]any{"podGroups": []any{map[string]any{"pods": []any{"a"}}}},
		})
		assert.Empty(t, stored.Unreadable)
		assert.Empty(t, stored.Status)
		assert.Len(t, stored.Spec.PodGroups, 1)
	})
	t.Run("a field of status that had another type keeps no record from being read", func(t *testing.T) {
		object := map[string]any{}
		require.NoError(t, yaml.Unmarshal([]byte(`{metadata: {name: backend}, spec: {podGroups: [{pods: [a]}]}, status: {
			currentIndex: 1, readyPodsInCurrentGroup: [a], groups: [{name: One, expected: 1, ready: 1, hash: h}],
			nodeStatus: [{nodeName: node-0, currentIndex: 2, readyPodsInCurrentGroup: [a], satisfiedAt: null}, node-1]}}`), &object))
		for _, stored := range []Stored{Read(object), ReadCluster(object)} {
			assert.Empty(t, stored.Unreadable)
			require.Len(t, stored.Status.Groups, 1)
			assert.Equal(t, "h", stored.Status.Groups[0].Hash)
			assert.EqualValues(t, 1, *stored.Status.CurrentIndex)
			assert.Zero(t, stored.Status.ReadyPodsInCurrentGroup)
			assert.Equal(t, []v1alpha1.NodeStatus{{NodeName: "node-0", CurrentIndex: 2}}, stored.Status.NodeStatus)
		}
	})
	t.Run("a memory that another release wrote otherwise is left out, and what is in its old place counts", func(t *testing.T) {
		object := map[string]any{}
		require.NoError(t, yaml.Unmarshal([]byte(`{metadata: {name: backend}, spec: {podGroups: [{pods: [a]}]}, status: {
			groups: [{name: One, expected: 1, ready: 1, hash: h}], memory: {groups: [[a, b]]}}}`), &object))
		stored := Read(object)
		assert.Nil(t, stored.Status.Memory)
		assert.Equal(t, "h", GroupRecord(&stored.Status, 0).Hash)
	})
	t.Run("a memory is read as it was stored", func(t *testing.T) {
		memory := &v1alpha1.SequenceMemory{Groups: []v1alpha1.GroupMemory{{Hash: "h", Completed: true}}}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&v1alpha1.PodSequence{Status: v1alpha1.PodSequenceStatus{Memory: memory}})
		require.NoError(t, err)
		text, err := yaml.Marshal(object)
		require.NoError(t, err)
		object = map[string]any{}
		require.NoError(t, yaml.Unmarshal(text, &object))
		assert.Equal(t, memory, Read(object).Status.Memory)
	})
	t.Run("records of passes are read though the spec cannot be", func(t *testing.T) {
		stored := Read(map[string]any{
			"metadata": map[string]any{"name": "backend"}, "spec": "shop",
			"status": map[string]any{"groups": []any{map[string]any{"name": "One", "hash": "h"}}},
		})
		require.Len(t, stored.Status.Groups, 1)
		assert.Equal(t, "h", stored.Status.Groups[0].Hash)
	})
}

// A backup tool that restores status gives it to an object with another UID.
func TestTheStatusOfAnotherObjectIsNotRead(t *testing.T) {
	for name, test := range map[string]struct {
		observedUID string
		want        bool
	}{
		"written for this object":       {observedUID: "u", want: true},
		"written by an earlier release": {want: true},
		"written for another object":    {observedUID: "old"},
	} {
		for spec, text := range map[string]string{"": `{podGroups: [{pods: [a]}]}`, ", with a spec that cannot be read": `shop`} {
			t.Run(name+spec, func(t *testing.T) {
				object := map[string]any{}
				require.NoError(t, yaml.Unmarshal([]byte(`{metadata: {name: backend, uid: u}, spec: `+text+`, status: {
					observedGeneration: 3, observedUID: "`+test.observedUID+`", groups: [{name: One, expected: 1, ready: 1, hash: h}]}}`), &object))
				cluster := ReadCluster(object)
				for _, status := range []v1alpha1.PodSequenceStatus{Read(object).Status, cluster.Status, cluster.Cluster.Status} {
					if test.want {
						assert.Len(t, status.Groups, 1)
					} else {
						assert.Empty(t, status)
					}
				}
			})
		}
	}
}

func TestReadCluster(t *testing.T) {
	read := func(text string) Stored {
		object := map[string]any{}
		require.NoError(t, yaml.Unmarshal([]byte(text), &object))
		return ReadCluster(object)
	}
	whole := read(`{metadata: {name: csi}, spec: {scope: Node, podGroups: [{name: Driver, pods: [a], namespaces: [kube-system]}, {podSelector: {}, namespaceSelector: {}}]}}`)
	assert.Empty(t, whole.Unreadable)
	assert.Equal(t, "csi", whole.Name)
	assert.Equal(t, v1alpha1.ScopeNode, whole.Spec.Scope)
	assert.Equal(t, []string{"a"}, whole.Spec.PodGroups[0].Pods)
	assert.Equal(t, []string{"kube-system"}, whole.Cluster.Spec.PodGroups[0].Namespaces)

	broken := read(`{metadata: {name: csi}, spec: {podGroups: [{name: Driver, pods: [a], namespaces: kube-system}, {podSelector: {}, namespaces: [web]}]}}`)
	require.Len(t, broken.Unreadable, 1)
	assert.Equal(t, 0, broken.Unreadable[0].Group)
	s := Compile(broken, nil, time.Time{})
	assert.True(t, s.Groups[0].Unreadable, "so that what comes after it stays held")
	group, ok := s.GroupOf("web", "any", labels.Set{}, false, s.GroupsIn("web", nil, false))
	assert.True(t, ok)
	assert.Equal(t, 1, group)
}

func TestWhereGroupsLive(t *testing.T) {
	group := func(edit func(*v1alpha1.ClusterPodGroup)) *Sequence {
		cluster := &v1alpha1.ClusterPodSequence{}
		cluster.Spec.SchedulingGateName = "g"
		cluster.Spec.PodGroups = []v1alpha1.ClusterPodGroup{{PodGroup: v1alpha1.PodGroup{PodSelector: &v1alpha1.LabelSelector{}}}}
		edit(&cluster.Spec.PodGroups[0])
		return Compile(OfCluster(cluster), []string{"g"}, time.Time{})
	}
	tests := map[string]struct {
		edit        func(*v1alpha1.ClusterPodGroup)
		labels      map[string]string
		exists      bool
		want        bool
		wantProblem string
	}{
		"by name, whether it exists or not": {edit: func(g *v1alpha1.ClusterPodGroup) { g.Namespaces = []string{"a", "web"} }, want: true},
		"by another name":                   {edit: func(g *v1alpha1.ClusterPodGroup) { g.Namespaces = []string{"we"} }, exists: true},
		"by label": {
			edit: func(g *v1alpha1.ClusterPodGroup) {
				g.NamespaceSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"team": "red"}}
			},
			labels: map[string]string{"team": "red"}, exists: true, want: true,
		},
		"every one that exists":            {edit: func(g *v1alpha1.ClusterPodGroup) { g.NamespaceSelector = &v1alpha1.LabelSelector{} }, exists: true, want: true},
		"every one, and it does not exist": {edit: func(g *v1alpha1.ClusterPodGroup) { g.NamespaceSelector = &v1alpha1.LabelSelector{} }},
		"nowhere":                          {edit: func(*v1alpha1.ClusterPodGroup) {}, exists: true, wantProblem: "exactly one of namespaces and namespaceSelector"},
		"pods by name in two namespaces": {
			edit: func(g *v1alpha1.ClusterPodGroup) {
				g.Pods, g.PodSelector, g.Namespaces = []string{"a"}, nil, []string{"web", "dev"}
			},
			wantProblem: "pods needs exactly one entry in namespaces",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := group(test.edit)
			assert.Equal(t, test.want, s.GroupsIn("web", test.labels, test.exists).Has(0))
			if test.wantProblem == "" {
				assert.Empty(t, s.Problems)
				return
			}
			require.Len(t, s.Problems, 1)
			assert.Contains(t, s.Problems[0].Message, test.wantProblem)
		})
	}
}

// Pods of one name may live in many namespaces.
func TestAGroupNamesPodsOfOneNamespace(t *testing.T) {
	cluster := &v1alpha1.ClusterPodSequence{}
	cluster.Spec.PodGroups = []v1alpha1.ClusterPodGroup{{PodGroup: v1alpha1.PodGroup{Pods: []string{"boot"}}, Namespaces: []string{"web"}}}
	g := Compile(OfCluster(cluster), nil, time.Time{}).Groups[0]
	assert.True(t, g.NamesPod("web", "boot"))
	assert.False(t, g.NamesPod("shop", "boot"))
	assert.False(t, g.NamesPod("web", "other"))
}
