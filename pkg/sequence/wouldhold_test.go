package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
	. "example.com/podsequence/test/harness/builders"
)

// tiers is a sequence of the pods labelled app=db and app=api.
func tiers(name string) *SequenceWrapper {
	return MakeSequence(oracleNamespace, name).UID(name).Label("Database", "app", "db").Label("Application", "app", "api")
}

// emptyDeployment is one of two pods labelled app=NAME that has none yet.
func emptyDeployment(name string, edits ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: oracleNamespace, Name: name, UID: types.UID(name), ResourceVersion: "2", Generation: 1},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 1},
	}
	d.Spec.Template.Labels = map[string]string{"app": name}
	for _, edit := range edits {
		edit(d)
	}
	return d
}

func paused(d *appsv1.Deployment) { d.Spec.Paused = true }

func pausedBy(coordination string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Paused = true
		d.Annotations = map[string]string{"apps.containerinfra.nl/paused-by": coordination}
	}
}

// podToCome is a pod of a template: it has no name.
func podToCome(app string) *st.PodWrapper {
	return st.MakePod().Namespace(oracleNamespace).Name("").SchedulerName(oracleScheduler).Label("app", app)
}

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

func TestWouldHold(t *testing.T) {
	const gate = "podsequence.example.com/sequence-gate"
	shop := Hold{Sequence: shopKey, Group: `group 1/2 "Database"`, Groups: []int{0}}
	first := Hold{Sequence: shopKey, Group: `group 1/3 "Database"`, Groups: []int{0}}
	needsDB := shop
	needsDB.Paused = []types.NamespacedName{{Namespace: oracleNamespace, Name: "db"}}
	tiersOnly := func(e recording) { e.ApplySequence(tiers("shop").Obj()) }
	type pods = []*st.PodWrapper
	for name, tc := range map[string]struct {
		given func(e recording)
		pods  pods
		want  Hold
	}{
		"no pods":                        {given: tiersOnly},
		"a pod that no sequence selects": {given: tiersOnly, pods: pods{podToCome("other")}},
		"a pod of the first group":       {given: tiersOnly, pods: pods{podToCome("db")}},
		"a pod of a later group":         {given: tiersOnly, pods: pods{podToCome("api")}, want: shop},
		"a pod of a later group with one that no sequence selects": {
			given: tiersOnly, pods: pods{podToCome("other"), podToCome("api")}, want: shop,
		},
		"a pod of another scheduler without a gate cannot be held": {
			given: tiersOnly, pods: pods{podToCome("api").SchedulerName("default-scheduler")},
		},
		"a pod with the label is given our scheduler, or the gate": {
			given: tiersOnly, pods: pods{podToCome("api").SchedulerName("default-scheduler").Label(v1alpha1.SequenceLabel, "shop")}, want: shop,
		},
		"a pod whose label names a sequence that does not exist": {
			given: func(recording) {}, pods: pods{podToCome("api").SchedulerName("default-scheduler").Label(v1alpha1.SequenceLabel, "shop")},
			want: Hold{Sequence: shopKey, Missing: order.NamedMissing},
		},
		"a pod of a namespace that requires a sequence, and has none": {
			given: func(e recording) { e.ApplyNamespace(requiring("true", "1")) }, pods: pods{podToCome("api")},
			want: Hold{Sequence: types.NamespacedName{Namespace: oracleNamespace}, Missing: order.AnyMissing},
		},
		"a pod of another scheduler is held by its gate": {
			given: tiersOnly, pods: pods{podToCome("api").SchedulerName("default-scheduler").SchedulingGates([]string{gate})}, want: shop,
		},
		"the first of two sequences by name": {
			given: func(e recording) { e.ApplySequence(tiers("zoo").Obj()); e.ApplySequence(tiers("shop").Obj()) },
			pods:  pods{podToCome("api")}, want: shop,
		},
		"a suspended sequence holds its first group": {
			given: func(e recording) { e.ApplySequence(tiers("shop").Suspend().Obj()) },
			pods:  pods{podToCome("db"), podToCome("api")}, want: Hold{Sequence: shopKey},
		},
		"a dry run holds nothing": {
			given: func(e recording) {
				e.ApplySequence(sequenceWith(tiers("shop"), func(ps *v1alpha1.PodSequence) { ps.Spec.DryRun = true }))
			}, pods: pods{podToCome("api")},
		},
		"a sequence of scope Node is left out": {
			given: func(e recording) { e.ApplySequence(tiers("shop").NodeScope().Obj()) }, pods: pods{podToCome("api")},
		},
		"a group that is ready and waits for its time": {
			given: func(e recording) {
				e.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("Database", "db-0").Wait("1h").Label("Application", "app", "api").Obj())
				e.ApplyPod(readyPod(oracleNamespace, "db-0", "", "3"))
			},
			pods: pods{podToCome("api")}, want: shop,
		},
		"a group that is passed": {
			given: func(e recording) {
				e.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("Database", "db-0").Label("Application", "app", "api").Obj())
				e.ApplyPod(readyPod(oracleNamespace, "db-0", "", "3"))
				e.Tick(time.Now().Add(time.Hour))
			},
			pods: pods{podToCome("api")},
		},
		"pods of a group and of the one after wait for the group before both": {
			given: func(e recording) { e.ApplySequence(headAndWorkers().Obj()) },
			pods:  pods{podToCome("worker"), podToCome("head")}, want: first,
		},
		"pods of the first group take those of later ones with them": {
			given: func(e recording) { e.ApplySequence(headAndWorkers().Obj()) },
			pods:  pods{podToCome("db"), podToCome("worker")},
		},
		"a group of their own is no excuse for another that they wait for, too": {
			given: func(e recording) {
				e.ApplySequence(sequenceWith(headAndWorkers(), func(ps *v1alpha1.PodSequence) { ps.Spec.PodGroups[1].DependsOn = []string{} }))
			},
			pods: pods{podToCome("head"), podToCome("worker")}, want: first,
		},
		"a paused Deployment that the group needs": {
			given: func(e recording) {
				e.ApplySequence(tiers("shop").Obj())
				e.ApplyWorkload(emptyDeployment("db", paused))
			},
			pods: pods{podToCome("api")}, want: needsDB,
		},
		"a Deployment that is not paused": {
			given: func(e recording) { e.ApplySequence(tiers("shop").Obj()); e.ApplyWorkload(emptyDeployment("db")) },
			pods:  pods{podToCome("api")}, want: shop,
		},
		"a paused Deployment that lacks no pod": {
			given: func(e recording) {
				e.ApplySequence(tiers("shop").Obj())
				e.ApplyPod(makePod("db-0", "3").Label("app", "db").Obj())
				e.ApplyWorkload(emptyDeployment("db", paused, func(d *appsv1.Deployment) { *d.Spec.Replicas = 0 }))
			},
			pods: pods{podToCome("api")}, want: shop,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine()
			tc.given(e)
			objects := make([]*corev1.Pod, 0, len(tc.pods))
			for _, pod := range tc.pods {
				objects = append(objects, pod.Obj())
			}
			assert.Equal(t, tc.want, e.WouldHold(objects...))
		})
	}
}

func TestAGroupThatNeedsAPausedDeploymentSaysSo(t *testing.T) {
	for name, tc := range map[string]struct {
		db   *appsv1.Deployment
		want string
	}{
		"not paused":                   {emptyDeployment("db"), "0 of 2 pods ready"},
		"paused by its owner":          {emptyDeployment("db", paused), "0 of 2 pods ready, Deployment db is paused: set its spec.paused to false"},
		"paused by a coordination":     {emptyDeployment("db", pausedBy("rollouts")), "0 of 2 pods ready, Deployment db is paused by DeploymentCoordination rollouts until its turn"},
		"a mark of a pause that ended": {emptyDeployment("db", pausedBy("rollouts"), func(d *appsv1.Deployment) { d.Spec.Paused = false }), "0 of 2 pods ready"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine()
			e.ApplySequence(tiers("shop").Obj())
			e.ApplyWorkload(tc.db)
			report, ok := e.Report(shopKey)
			require.True(t, ok)
			assert.Equal(t, tc.want, report.Groups[0].Progress)
			status := report.Status(&v1alpha1.PodSequence{}, metav1.Now().Time)
			assert.Equal(t, `waiting for group 1/2 "Database": `+tc.want, status.Message)
		})
	}
}

func TestAPauseIsAChangeOfTheSequence(t *testing.T) {
	e := newEngine()
	e.ApplySequence(tiers("shop").Obj())
	e.ApplyWorkload(emptyDeployment("db"))
	changes := e.ApplyWorkload(emptyDeployment("db", paused, func(d *appsv1.Deployment) { d.ResourceVersion = "3" }))
	assert.True(t, changes.Sequences.Has(shopKey))
}

func TestTargetNamespaces(t *testing.T) {
	e := newEngine()
	e.ApplySequence(tiers("shop").TargetNamespace("elsewhere").Obj())
	namespaces, ok := e.TargetNamespaces(shopKey)
	assert.True(t, ok)
	assert.Equal(t, []string{"elsewhere"}, namespaces)
	_, ok = e.TargetNamespaces(types.NamespacedName{Namespace: "shop", Name: "none"})
	assert.False(t, ok)
}
