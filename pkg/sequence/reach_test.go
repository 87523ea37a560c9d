package sequence

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/confirmation"
	. "example.com/podsequence/test/harness/builders"
)

var csiKey = types.NamespacedName{Name: "csi"}

// What turns ready across namespaces is confirmed for all of them, and for the Namespaces: labels may select them, and they may be going.
func TestWhatIsAskedAcrossNamespaces(t *testing.T) {
	tests := map[string]struct {
		namespaces []string
		selector   *v1alpha1.LabelSelector
		known      int // namespaces of the red team
		want       []Subject
	}{
		"one namespace": {namespaces: []string{"a"}, want: []Subject{{Namespace: "a", Kinds: OfWorkloads}, {Kinds: OfNamespaces}}},
		"each of a few": {
			namespaces: []string{"a", "b"},
			want:       []Subject{{Namespace: "a", Kinds: OfWorkloads}, {Namespace: "b", Kinds: OfWorkloads}, {Kinds: OfNamespaces}},
		},
		"none that is selected":  {selector: &v1alpha1.LabelSelector{}, want: []Subject{{Kinds: OfNamespaces}}},
		"one that is selected":   {selector: &v1alpha1.LabelSelector{}, known: 1, want: []Subject{{Namespace: "team-0", Kinds: OfWorkloads}, {Kinds: OfNamespaces}}},
		"many that are selected": {selector: &v1alpha1.LabelSelector{}, known: confirmation.ManyNamespaces + 1, want: []Subject{{Kinds: OfWorkloads}, {Kinds: OfNamespaces}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := &spread{answering: newEngine()}
			for i := range test.known {
				f.ApplyNamespace(f.namespace(i, "red"))
			}
			cluster := acrossTeams("")
			cluster.Spec.PodGroups[0].Namespaces, cluster.Spec.PodGroups[0].NamespaceSelector = test.namespaces, test.selector
			f.ApplyClusterSequence(cluster)
			s := f.sequences[csiKey]
			assert.ElementsMatch(t, test.want, s.groups[0].subjects)
			assert.ElementsMatch(t, test.want, s.groups[1].subjectsBefore)
			assert.Empty(t, s.groups[0].subjectsBefore)
		})
	}
}

// A Namespace of which only the name is known is selected by nothing: what it says is kept back.
func TestANamespaceWithoutAVersionIsNotSelected(t *testing.T) {
	e := newEngine()
	cluster := acrossTeams("")
	cluster.Spec.PodGroups[1].NamespaceSelector = &v1alpha1.LabelSelector{}
	e.ApplyClusterSequence(cluster)
	e.ReplaceNamespaces([]*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "web"}}}, "5")
	app := makePod("app", "6").Namespace("web").Label("tier", "app").Obj()
	e.ApplyPod(app)
	assert.False(t, e.Decide(app).Held)
	e.ApplyNamespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "4"}})
	assert.True(t, e.Decide(app).Held)
}

// Lists of one kind leave the other kind alone, and say nothing of what it has.
func TestKindsOfSequencesAreListedByThemselves(t *testing.T) {
	e := newEngine()
	e.ApplyClusterSequence(acrossTeams(""))
	e.ApplySequence(MakeSequence(oracleNamespace, "csi").UID("own").Pods("One", "one").Obj())
	e.ReplaceSequences(nil, "10")
	_, there := e.Report(csiKey)
	assert.True(t, there)
	_, there = e.Report(types.NamespacedName{Namespace: oracleNamespace, Name: "csi"})
	assert.False(t, there)
	assert.Equal(t, []types.UID{"csi"}, e.UnlistedSequences(true, nil, "10"))
	assert.Empty(t, e.UnlistedSequences(false, nil, "10"))
	e.ReplaceClusterSequences(nil, "11")
	_, there = e.Report(csiKey)
	assert.False(t, there)
}

// A pod is asked about Namespaces as long as any sequence selects them.
func TestWhoAsksForNamespaces(t *testing.T) {
	e := newEngine()
	app := makePod("app", "6").Namespace("web").Obj()
	e.ApplyNamespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "1"}})
	assert.False(t, e.Verdict(app).FirstSeen.AsksNamespaces)
	e.ApplyClusterSequence(acrossTeams(""))
	assert.True(t, e.Verdict(app).FirstSeen.AsksNamespaces)
	named := acrossTeams("")
	named.Generation, named.ResourceVersion = 2, "9"
	named.Spec.PodGroups[1].Namespaces, named.Spec.PodGroups[1].NamespaceSelector = []string{"web"}, nil
	e.ApplyClusterSequence(named)
	assert.False(t, e.Verdict(app).FirstSeen.AsksNamespaces)
}

// What a namespace has left behind is forgotten with it.
func TestNamespacesThatComeAndGoLeaveNothing(t *testing.T) {
	f := newSpread(2, 1)
	namespaces, unconfirmed := len(f.namespaces), len(f.questions.unconfirmed)
	for i := range 50 {
		namespace := f.namespace(100+i, "red")
		f.ApplyNamespace(namespace)
		pod := f.pod(namespace.Name, "app", "app").Obj()
		f.ApplyPod(pod)
		f.RemovePod(pod)
		f.RemoveNamespace(namespace)
	}
	assert.Len(t, f.namespaces, namespaces)
	assert.LessOrEqual(t, len(f.questions.unconfirmed), unconfirmed+1, "that of all namespaces stays")
	assert.Len(t, f.sequences[csiKey].groups[1].namespaces, 2)
}

func TestTargetNamespacesOfAClusterSequence(t *testing.T) {
	f := newSpread(2, 1)
	namespaces, ok := f.TargetNamespaces(csiKey)
	assert.True(t, ok)
	assert.ElementsMatch(t, []string{"kube-system", "team-0", "team-1"}, namespaces, fmt.Sprint(namespaces))
}
