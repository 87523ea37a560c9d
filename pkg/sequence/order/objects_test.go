package order

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func waitingFor(objects ...v1alpha1.ObjectReference) Stored {
	ps := &v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop", UID: "shop"}}
	ps.Spec.PodGroups = []v1alpha1.PodGroup{{Name: "Certificates", Objects: objects}}
	return Stored{PodSequence: ps}
}

func certificate(name, until string) v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{APIVersion: "cert-manager.io/v1", Kind: "Certificate", Name: name, Until: until}
}

func TestAGroupMayHaveObjectsAndNoMembers(t *testing.T) {
	s := Compile(waitingFor(certificate("a", ""), certificate("a", "Current"), certificate("a", "Ready")), nil, time.Time{})
	assert.True(t, s.Groups[0].WithoutMembers)
	assert.Equal(t, []v1alpha1.ObjectReference{certificate("a", "Current"), certificate("a", "Ready")}, s.Groups[0].Objects)
	for _, problem := range s.Problems {
		assert.NotEqual(t, v1alpha1.ReasonInvalidSpec, problem.Reason, problem.Message)
	}
}

func TestAPodSequenceWaitsForObjectsOfItsOwnNamespaceOnly(t *testing.T) {
	elsewhere := certificate("a", "")
	elsewhere.Namespace = "other"
	s := Compile(waitingFor(elsewhere), nil, time.Time{})
	assert.True(t, s.Groups[0].Unreadable, "it must not count as ready")
	require.NotEmpty(t, s.Problems)
	assert.Contains(t, s.Problems[len(s.Problems)-1].Message, `remove namespace "other"`)

	cluster := &v1alpha1.ClusterPodSequence{}
	cluster.Spec.PodGroups = []v1alpha1.ClusterPodGroup{{PodGroup: v1alpha1.PodGroup{Objects: []v1alpha1.ObjectReference{elsewhere}}}}
	of := Compile(OfCluster(cluster), nil, time.Time{})
	assert.False(t, of.Groups[0].Unreadable)
	assert.False(t, of.SelectsNamespaces())
}

func TestOfObjectsOnlyTheirSetDefinesAGroup(t *testing.T) {
	hash := func(objects ...v1alpha1.ObjectReference) string {
		return Compile(waitingFor(objects...), nil, time.Time{}).Groups[0].Hash
	}
	a, b := certificate("a", ""), certificate("b", "Ready")
	assert.Equal(t, hash(a, b), hash(b, certificate("a", "Current"), a))
	assert.NotEqual(t, hash(a, b), hash(a))
	assert.NotEqual(t, hash(a), hash(certificate("a", "Ready")))
}
