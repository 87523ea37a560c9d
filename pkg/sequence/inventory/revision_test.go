package inventory

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
)

// What Kubernetes' own controller says of a pod and a DaemonSet, for every generation and hash that the pod may have.
func TestAPodOfADaemonSetIsUpToDateWhenItsControllerSaysSo(t *testing.T) {
	const newestHash = "h2"
	generation := int64(3)
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Name: "net", Annotations: map[string]string{appsv1.DeprecatedTemplateGeneration: strconv.FormatInt(generation, 10)},
	}}
	for _, known := range []bool{true, false} { // whether some pod of the newest generation says which hash is the newest
		var w Workload
		assert.True(t, w.View(set))
		if known {
			w.NewestHashes = map[string]struct{}{newestHash: {}}
		}
		for _, made := range []string{"", "1", "2", "3", "4", "03"} {
			for _, hash := range []string{"", "h1", newestHash} {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
					"pod-template-generation": made, appsv1.DefaultDaemonSetUniqueLabelKey: hash,
				}}}
				facts := ViewPod(pod)
				want := daemonutil.IsPodUpdated(pod, newestHash, &generation)
				got := w.IsUpToDate(w.RevisionOf(&facts))
				if known {
					assert.Equal(t, want, got, "generation %q, hash %q", made, hash)
				} else if got {
					assert.True(t, want, "generation %q, hash %q: taken for up to date without knowing the newest hash", made, hash)
				}
			}
		}
	}
}

func TestWhatADaemonSetsControllerCountsIsOnlyOfTheGenerationThatItHasSeen(t *testing.T) {
	for name, test := range map[string]struct {
		desired, updated int32
		observed         int64
		want             bool
	}{
		"all pods are up to date":             {desired: 3, updated: 3, observed: 2, want: true},
		"one is not":                          {desired: 3, updated: 2, observed: 2},
		"that was before the newest template": {desired: 3, updated: 3, observed: 1},
		"there are none":                      {observed: 2},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
				Name: "net", Generation: 2, Annotations: map[string]string{appsv1.DeprecatedTemplateGeneration: "2"},
			}}
			set.Status = appsv1.DaemonSetStatus{DesiredNumberScheduled: test.desired, UpdatedNumberScheduled: test.updated, ObservedGeneration: test.observed}
			var w Workload
			assert.True(t, w.View(set))
			assert.Equal(t, test.want, w.IsUpToDate("1/old"))
		})
	}
}
