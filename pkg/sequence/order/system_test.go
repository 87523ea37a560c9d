package order

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func everything(where ...string) *Sequence {
	cluster := &v1alpha1.ClusterPodSequence{}
	group := v1alpha1.ClusterPodGroup{PodGroup: v1alpha1.PodGroup{PodSelector: &v1alpha1.LabelSelector{}}, Namespaces: where}
	if len(where) == 0 {
		group.NamespaceSelector = &v1alpha1.LabelSelector{}
	}
	cluster.Spec.PodGroups = []v1alpha1.ClusterPodGroup{group}
	return Compile(OfCluster(cluster), nil, time.Time{})
}

func TestWhichNamespacesAreSelected(t *testing.T) {
	tests := map[string]struct {
		installation, namespace string
		want                    bool
	}{
		"one of a user":                         {"podsequence-system", "shop", true},
		"kube-system":                           {"podsequence-system", "kube-system", false},
		"that of the installation":              {"podsequence-system", "podsequence-system", false},
		"that of an installation elsewhere":     {"ordering", "podsequence-system", true},
		"kube-system, with nothing known":       {"", "kube-system", false},
		"any other, with nothing known":         {"", "podsequence-system", true},
		"kube-system, with the installation in": {"kube-system", "kube-system", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			selecting := everything().InstalledIn(test.installation)
			assert.Equal(t, test.want, selecting.GroupsIn(test.namespace, nil, true).Has(0), "by label")
			assert.True(t, everything(test.namespace).InstalledIn(test.installation).GroupsIn(test.namespace, nil, true).Has(0), "listed")
		})
	}
}

func TestPodsOfPodSequenceItselfBelongToNoGroup(t *testing.T) {
	own := labels.Set{"app.kubernetes.io/name": "podsequence", "app.kubernetes.io/component": "controller"}
	tests := map[string]struct {
		installation, namespace string
		labels                  labels.Set
		want                    bool
	}{
		"one of them":                      {"ordering", "ordering", own, false},
		"one beside them":                  {"ordering", "ordering", labels.Set{"app.kubernetes.io/name": "exporter"}, true},
		"one that has their label":         {"ordering", "shop", own, true},
		"one with nothing known":           {"", "ordering", own, true},
		"one of kube-system by that label": {"ordering", "kube-system", own, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := everything(test.namespace).InstalledIn(test.installation)
			groups := s.GroupsIn(test.namespace, nil, true)
			_, isMember := s.GroupOf(test.namespace, "any", test.labels, false, groups)
			assert.Equal(t, test.want, isMember)
			_, isMember = s.GroupOfTemplate(test.namespace, test.labels, groups)
			assert.Equal(t, test.want, isMember, "a workload")
		})
	}
}
