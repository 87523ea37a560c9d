package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	. "example.com/podsequence/test/harness/builders"
)

func TestWhatIsEnoughMayChangeWhileItIsConfirmed(t *testing.T) {
	t.Run("under Continuous it is confirmed anew", func(t *testing.T) {
		d := newConfirming(t, v1alpha1.Continuous)
		d.ApplyPod(db("db-0", "10"))
		d.ApplyPod(db("db-1", "11"))
		d.expect(d.ApplyWorkload(statefulSet(2, "12")), about("12"))
		d.expect(d.confirm("11"), about("12"))
		d.expect(d.confirm("12"), nil, "app")
	})
	t.Run("a pass is permanent: that it was enough at one time will do", func(t *testing.T) {
		d := newConfirming(t, v1alpha1.BootstrapOnly)
		d.ApplyPod(db("db-0", "10"))
		d.ApplyWorkload(statefulSet(2, "12"))
		d.expectHeld(app("app", "3"), "1 of 2 pods ready")
		d.expect(d.confirm("10"), nil, "app")
	})
	t.Run("but not if the change was from before", func(t *testing.T) {
		d := newConfirming(t, v1alpha1.BootstrapOnly)
		d.ApplyPod(db("db-0", "10"))
		d.ApplyWorkload(statefulSet(2, "8"))
		d.expect(d.Confirm(Subject{Namespace: oracleNamespace, Kinds: OfWorkloads}, d.Moment()), nil)
		d.expectHeld(app("app", "3"), "1 of 2 pods ready")
	})
	t.Run("nor if versions of pods and workloads cannot be compared", func(t *testing.T) {
		d := newConfirming(t, v1alpha1.BootstrapOnly)
		d.VersionsIncomparable()
		d.ApplyPod(db("db-0", "10"))
		d.ApplyWorkload(statefulSet(2, "12"))
		d.expect(d.Confirm(Subject{Namespace: oracleNamespace, Kinds: OfWorkloads}, d.Moment()), nil)
		d.expectHeld(app("app", "3"), "1 of 2 pods ready")
	})
}

// The pod breaks before it has been ready for long enough, and the event that says so comes when that time is over. Its version is newer
// than all that was known then, but that does not mean that the pod broke later.
func TestAPodThatBrokeTooSoonPassesNoGroupWhenItsEventIsLate(t *testing.T) {
	for name, late := range map[string]time.Duration{"it is on trial": 0, "it is seen when the time is over": 7 * time.Second} {
		t.Run(name, func(t *testing.T) {
			d := newConfirming(t, v1alpha1.BootstrapOnly)
			d.settings.UnprobedReady = 5 * time.Second
			ready := db("db-0", "10")
			ready.Status.Conditions[0].LastTransitionTime = metav1.NewTime(worldEpoch)
			d.Tick(worldEpoch.Add(late))
			d.ApplyPod(ready)
			d.Tick(worldEpoch.Add(7 * time.Second))
			d.expectHeld(app("app", "3"), "checking")
			asked := d.Moment()
			d.ApplyPod(broken("db-0", "15"))
			d.expect(d.Confirm(Subject{Namespace: oracleNamespace, Kinds: OfWorkloads}, asked), nil)
			d.expectHeld(app("app", "3"), "0 of 1 pods ready")
		})
	}
}

// A Job with ttlSecondsAfterFinished: 0 is gone before the answer comes.
func TestAJobThatIsGoneWhileItIsConfirmedWasComplete(t *testing.T) {
	d := newEmptyConfirming(t)
	d.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("migrate", "job", "m").Complete().Label("app", "tier", "app").Obj())
	d.ApplyPod(app("app", "2"))
	job := &batchv1.Job{}
	job.Namespace, job.Name, job.UID, job.ResourceVersion = oracleNamespace, "m", "m", "3"
	job.Spec.Template.Labels = map[string]string{"job": "m"}
	d.ApplyWorkload(job)
	done := job.DeepCopy()
	done.ResourceVersion = "5"
	done.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	d.expect(d.ApplyWorkload(done), about("5"))
	gone := done.DeepCopy()
	gone.ResourceVersion = "6"
	d.RemoveWorkload(gone)
	d.expectHeld(app("app", "2"), "no pod matched it when this was written")
	d.expect(d.confirm("5"), nil, "app")
}

// A watch that begins anew with a list never tells what came and went meanwhile. What another watch brought meanwhile was never
// looked at together with that.
func TestWhatAListMayHideIsConfirmedAsOfTheList(t *testing.T) {
	relist := func(d confirming, version string) Changes {
		return d.ReplaceWorkloads(inventory.KindStatefulSet, []metav1.Object{statefulSet(1, "2")}, version)
	}
	for _, mode := range []v1alpha1.EnforcementMode{v1alpha1.BootstrapOnly, v1alpha1.Continuous} {
		t.Run("a group that turned ready before the list, "+string(mode), func(t *testing.T) {
			d := newConfirming(t, mode)
			d.expect(d.ApplyPod(db("db-0", "10")), about("10"))
			relist(d, "20")
			d.expect(d.confirm("10"), about("20"))
			d.expectHeld(app("app", "3"), "checking")
			d.expect(d.confirm("20"), nil, "app")
		})
	}
	t.Run("a group that was ready for a moment before the list", func(t *testing.T) {
		d := newConfirming(t, v1alpha1.BootstrapOnly)
		d.ApplyPod(db("db-0", "10"))
		relist(d, "20")
		d.ApplyPod(broken("db-0", "15"))
		d.expect(d.confirm("20"), nil)
		d.expectHeld(app("app", "3"), "0 of 1 pods ready")
	})
	t.Run("a group that turns ready after the list, as of a version from before it", func(t *testing.T) {
		d := newConfirming(t, v1alpha1.BootstrapOnly)
		relist(d, "20")
		d.ApplyPod(db("db-0", "10"))
		d.ApplyPod(broken("db-0", "15"))
		d.expect(d.confirm("20"), nil)
		d.expectHeld(app("app", "3"), "0 of 1 pods ready")
	})
	t.Run("a pod that came before the list", func(t *testing.T) {
		d := newConfirming(t, v1alpha1.Continuous)
		d.ApplyPod(db("db-0", "10"))
		d.confirm("10")
		d.ApplyPod(app("late", "12"))
		relist(d, "20")
		d.expect(d.confirm("12"), about("20"))
		d.expectHeld(app("late", "12"), "checking that no change older than this pod was missed")
		d.expect(d.confirm("20"), nil, "late")
	})
}

// A namespace has the label for a moment, and what says that its pods were not ready then comes when it has lost it.
func TestAGroupIsNotPassedForAMomentOfANamespaceThatHasLeft(t *testing.T) {
	e := NewEngine(Config{SchedulerNames: []string{oracleScheduler}})
	namespace := func(team, version string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "data", ResourceVersion: version, Labels: map[string]string{"team": team}}}
	}
	database := func(ready corev1.ConditionStatus, version string) *corev1.Pod {
		return makePod("db", version).Namespace("data").Label("tier", "driver").Node("n").
			Conditions([]corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}).Obj()
	}
	cluster := acrossTeams("")
	cluster.Spec.PodGroups[0].Namespaces, cluster.Spec.PodGroups[0].NamespaceSelector = nil, cluster.Spec.PodGroups[1].NamespaceSelector
	cluster.Spec.PodGroups[1].Namespaces, cluster.Spec.PodGroups[1].NamespaceSelector = []string{"web"}, nil
	app := makePod("app", "4").Namespace("web").Label("tier", "app").Obj()
	e.ApplyNamespace(namespace("blue", "2"))
	e.ApplyClusterSequence(cluster)
	e.ApplyPod(app)
	e.ApplyPod(database(corev1.ConditionTrue, "5"))

	asked := Questions{}
	told := func(changes Changes) {
		for subject, question := range changes.Questions {
			asked.Add(subject, question)
		}
	}
	told(e.ApplyNamespace(namespace("red", "10")))
	require.NotEmpty(t, asked, "the group looks ready")
	told(e.ApplyNamespace(namespace("blue", "11")))
	told(e.ApplyPod(database(corev1.ConditionFalse, "9")))
	for subject := range asked {
		told(e.Confirm(subject, e.Moment()))
	}
	assert.True(t, e.Decide(app).Held)
}
