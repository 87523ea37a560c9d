package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// A list that is not older than what is known of an object has the object in that version or a later one, unless etcd was restored.
func TestAListThatGoesBackIsNoticed(t *testing.T) {
	meta := func(version string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shop", Name: "a", UID: "a", ResourceVersion: version}
	}
	kinds := map[string]func(e *Engine, object, list string) Changes{
		"pods": func(e *Engine, object, list string) Changes {
			return e.ReplacePods([]*corev1.Pod{{ObjectMeta: meta(object)}}, list)
		},
		"Jobs": func(e *Engine, object, list string) Changes {
			return e.ReplaceWorkloads(KindJob, []metav1.Object{&batchv1.Job{ObjectMeta: meta(object)}}, list)
		},
		"nodes": func(e *Engine, object, list string) Changes {
			return e.ReplaceNodes([]*corev1.Node{{ObjectMeta: meta(object)}}, list)
		},
		"PodSequences": func(e *Engine, object, list string) Changes {
			return e.ReplaceSequences([]Stored{{PodSequence: &v1alpha1.PodSequence{ObjectMeta: meta(object)}}}, list)
		},
	}
	tests := map[string]struct{ object, list, want string }{
		"the same version":                             {object: "50", list: "60"},
		"a later one":                                  {object: "55", list: "60"},
		"an older one, from a cache that lags":         {object: "40", list: "45"},
		"an older one, in a list that cannot be older": {object: "40", list: "1000000060", want: "50"},
		"an older one, in a list of the same version":  {object: "40", list: "50", want: "50"},
	}
	for kind, replace := range kinds {
		for name, tt := range tests {
			t.Run(kind+"/"+name, func(t *testing.T) {
				e := NewEngine(Config{})
				assert.Empty(t, replace(e, "50", "50").WentBack)
				assert.Equal(t, tt.want, replace(e, tt.object, tt.list).WentBack)
			})
		}
	}
}
