package sequence

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
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

func TestTargetNamespacesOfAClusterSequence(t *testing.T) {
	f := newSpread(2, 1)
	namespaces, ok := f.TargetNamespaces(csiKey)
	assert.True(t, ok)
	assert.ElementsMatch(t, []string{"kube-system", "team-0", "team-1"}, namespaces, fmt.Sprint(namespaces))
}
