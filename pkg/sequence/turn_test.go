package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/spec"
	. "example.com/podsequence/test/harness/builders"
)

// headAndWorkers is a sequence of the pods labelled app=db, app=head and app=worker.
func headAndWorkers() *SequenceWrapper {
	return MakeSequence(oracleNamespace, "shop").UID("shop").
		Label("Database", "app", "db").Label("Head", "app", "head").Label("Workers", "app", "worker")
}

// sequenceWith is the sequence with a change.
func sequenceWith(w *SequenceWrapper, edit func(*v1alpha1.PodSequence)) *v1alpha1.PodSequence {
	ps := w.Obj()
	edit(ps)
	return ps
}

func TestTurn(t *testing.T) {
	database := Turn{Hold: Hold{Sequence: shopKey, Group: `group 1/2 "Database"`}, Groups: []int{0}}
	for name, tc := range map[string]struct {
		given func(e answering)
		pods  []*st.PodWrapper
		want  Turn
	}{
		"no pods": {given: func(e answering) { e.ApplySequence(tiers("shop").Obj()) }},
		"a pod that no sequence selects": {
			given: func(e answering) { e.ApplySequence(tiers("shop").Obj()) }, pods: []*st.PodWrapper{podToCome("other")},
		},
		"a pod of the first group": {
			given: func(e answering) { e.ApplySequence(tiers("shop").Obj()) }, pods: []*st.PodWrapper{podToCome("db")},
		},
		"a pod of a later group": {
			given: func(e answering) { e.ApplySequence(tiers("shop").Obj()) }, pods: []*st.PodWrapper{podToCome("api")}, want: database,
		},
		"a pod of a later group with one that no sequence selects": {
			given: func(e answering) { e.ApplySequence(tiers("shop").Obj()) },
			pods:  []*st.PodWrapper{podToCome("other"), podToCome("api")}, want: database,
		},
		"a pod of another scheduler without a gate cannot be held": {
			given: func(e answering) { e.ApplySequence(tiers("shop").Obj()) },
			pods:  []*st.PodWrapper{podToCome("api").SchedulerName("default-scheduler")},
		},
		"a label that names a sequence that does not exist": {
			given: func(answering) {},
			pods:  []*st.PodWrapper{podToCome("api").Label(v1alpha1.SequenceLabel, "shop")},
			want:  Turn{Hold: Hold{Sequence: shopKey, Missing: spec.NamedMissing}},
		},
		"a dry run holds nothing": {
			given: func(e answering) {
				e.ApplySequence(sequenceWith(tiers("shop"), func(ps *v1alpha1.PodSequence) { ps.Spec.DryRun = true }))
			}, pods: []*st.PodWrapper{podToCome("api")},
		},
		"a group that is ready and waits for its time": {
			given: func(e answering) {
				e.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("Database", "db-0").Wait("1h").Label("Application", "app", "api").Obj())
				e.ApplyPod(readyPod(oracleNamespace, "db-0", "", "3"))
			},
			pods: []*st.PodWrapper{podToCome("api")}, want: database,
		},
		"a group that is passed": {
			given: func(e answering) {
				e.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("Database", "db-0").Label("Application", "app", "api").Obj())
				e.ApplyPod(readyPod(oracleNamespace, "db-0", "", "3"))
				e.Tick(time.Now().Add(time.Hour))
			},
			pods: []*st.PodWrapper{podToCome("api")},
		},
		"pods of a group and of the one after wait for the group before both": {
			given: func(e answering) { e.ApplySequence(headAndWorkers().Obj()) },
			pods:  []*st.PodWrapper{podToCome("worker"), podToCome("head")},
			want:  Turn{Hold: Hold{Sequence: shopKey, Group: `group 1/3 "Database"`}, Groups: []int{0}},
		},
		"pods of the first group take those of later ones with them": {
			given: func(e answering) { e.ApplySequence(headAndWorkers().Obj()) },
			pods:  []*st.PodWrapper{podToCome("db"), podToCome("worker")},
		},
		"a group of their own is no excuse for another that they wait for, too": {
			given: func(e answering) {
				e.ApplySequence(sequenceWith(headAndWorkers(), func(ps *v1alpha1.PodSequence) { ps.Spec.PodGroups[1].DependsOn = []string{} }))
			},
			pods: []*st.PodWrapper{podToCome("head"), podToCome("worker")},
			want: Turn{Hold: Hold{Sequence: shopKey, Group: `group 1/3 "Database"`}, Groups: []int{0}},
		},
		"a suspended sequence holds its first group": {
			given: func(e answering) { e.ApplySequence(tiers("shop").Suspend().Obj()) },
			pods:  []*st.PodWrapper{podToCome("db"), podToCome("api")}, want: Turn{Hold: Hold{Sequence: shopKey}},
		},
		"a sequence of scope Node is left out": {
			given: func(e answering) { e.ApplySequence(tiers("shop").NodeScope().Obj()) }, pods: []*st.PodWrapper{podToCome("api")},
		},
		"the first of two sequences by name": {
			given: func(e answering) { e.ApplySequence(tiers("zoo").Obj()); e.ApplySequence(tiers("shop").Obj()) },
			pods:  []*st.PodWrapper{podToCome("api")}, want: database,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine()
			tc.given(e)
			objects := make([]*corev1.Pod, 0, len(tc.pods))
			for _, pod := range tc.pods {
				objects = append(objects, pod.Obj())
			}
			assert.Equal(t, tc.want, e.Turn(objects))
		})
	}
}

func TestTurnNamesTheSequenceThatIsMissing(t *testing.T) {
	turn := newEngine().Turn([]*corev1.Pod{podToCome("api").Label(v1alpha1.SequenceLabel, "shop").Obj()})
	assert.Equal(t, types.NamespacedName{Namespace: oracleNamespace, Name: "shop"}, turn.Hold.Sequence)
	assert.True(t, turn.Hold.Held())
}
