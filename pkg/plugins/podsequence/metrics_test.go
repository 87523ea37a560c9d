package podsequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/pkg/sequence"
	. "example.com/podsequence/test/harness/builders"
)

func TestPendingPodsThatNoSequenceHolds(t *testing.T) {
	created := metav1.Unix(1000, 0)
	waiting := func() *st.PodWrapper { return pod("p", "5").CreationTimestamp(created) }
	for name, test := range map[string]struct {
		pod     *st.PodWrapper
		pending bool
	}{
		"a pod without a sequence":                     {waiting(), true},
		"a pod of the group that is started first":     {waiting().Label("tier", "db"), true},
		"a pod that a sequence holds":                  {waiting().Label("tier", "app"), false},
		"a pod with a gate that nobody here will lift": {waiting().SchedulingGates([]string{"queue.example.org/admission"}), false},
		"a pod with our gate and without a sequence":   {waiting().SchedulingGates([]string{"podsequence.example.com/other"}), true},
		"a pod of another scheduler":                   {waiting().SchedulerName("default-scheduler"), false},
		"a pod on a node":                              {waiting().Node("n"), false},
		"a pod that is being deleted":                  {waiting().Terminating(), false},
	} {
		t.Run(name, func(t *testing.T) {
			engine := sequence.NewEngine(sequence.Config{SchedulerNames: []string{schedulerName}, GatePrefixes: []string{DefaultGatePrefix}})
			engine.ApplySequence(MakeSequence("shop", "shop").Label("Database", "tier", "db").Label("Application", "tier", "app").Obj())
			engine.ApplyPod(test.pod.Obj())
			pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
			younger := pod("younger", "6").CreationTimestamp(metav1.Unix(2000, 0)).Label("tier", "db").Obj()
			for _, object := range []*v1.Pod{test.pod.Obj(), younger} {
				require.NoError(t, pods.Add(object))
			}
			args, err := parseArgs(nil)
			require.NoError(t, err)
			h := newHolder(args, listersv1.NewPodLister(pods), schedulerName)
			assert.True(t, h.oldestPending().IsZero(), "a standby does not know")

			h.feeding.Store(&feeding{engine: engine})
			want := younger.CreationTimestamp.Time
			if test.pending {
				want = created.Time
			}
			assert.Equal(t, want, h.oldestPending())
		})
	}
}
