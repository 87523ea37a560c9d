package sequence

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

var csiKey = types.NamespacedName{Name: "csi"}

func TestANamespaceThatIsNotKnownIsNotSelected(t *testing.T) {
	e := newEngine()
	cluster := acrossTeams("")
	cluster.Spec.PodGroups[1].NamespaceSelector = &v1alpha1.LabelSelector{}
	e.ApplyClusterSequence(cluster)
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
	e.ReplaceClusterSequences(nil, "11")
	_, there = e.Report(csiKey)
	assert.False(t, there)
}

// What a namespace has left behind is forgotten with it.
func TestNamespacesThatComeAndGoLeaveNothing(t *testing.T) {
	f := newSpread(2, 1)
	namespaces := len(f.namespaces)
	for i := range 50 {
		namespace := f.namespace(100+i, "red")
		f.ApplyNamespace(namespace)
		pod := f.pod(namespace.Name, "app", "app").Obj()
		f.ApplyPod(pod)
		f.RemovePod(pod)
		f.RemoveNamespace(namespace)
	}
	assert.Len(t, f.namespaces, namespaces)
	assert.Len(t, f.sequences[csiKey].groupsByNamespace, 3)
}

func TestTargetNamespacesOfAClusterSequence(t *testing.T) {
	f := newSpread(2, 1)
	namespaces, ok := f.TargetNamespaces(csiKey)
	assert.True(t, ok)
	assert.ElementsMatch(t, []string{"kube-system", "team-0", "team-1"}, namespaces, fmt.Sprint(namespaces))
}
