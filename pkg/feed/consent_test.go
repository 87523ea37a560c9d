package feed

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestOfANamespaceOnlyLabelsAndWhatItAllowsAndRequiresAreKept(t *testing.T) {
	whole := &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{
			Name: "shop", UID: "uid", ResourceVersion: "7", Labels: map[string]string{"team": "blue"},
			Annotations: map[string]string{v1alpha1.AllowSequencesFromAnnotation: "*", v1alpha1.RequireSequenceAnnotation: "true", "other": "x"},
		},
		Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
	}
	assert.Equal(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "shop", UID: "uid", ResourceVersion: "7", Labels: map[string]string{"team": "blue"},
		Annotations: map[string]string{v1alpha1.AllowSequencesFromAnnotation: "*", v1alpha1.RequireSequenceAnnotation: "true"},
	}}, trimNamespace(whole))
}
