package sequence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	. "example.com/podsequence/test/harness/builders"
)

var failuresEpoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// makeJob is a Job that was created some seconds after the beginning, and ended some seconds after that if a condition is given.
func makeJob(name, version string, created, ended int, condition batchv1.JobConditionType, labels map[string]string) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: oracleNamespace, Name: name, UID: types.UID(name), ResourceVersion: version,
		CreationTimestamp: metav1.NewTime(failuresEpoch.Add(time.Duration(created) * time.Second)),
	}}
	j.Spec.Template.Labels = labels
	if condition != "" {
		j.Status.Conditions = []batchv1.JobCondition{{
			Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(failuresEpoch.Add(time.Duration(ended) * time.Second)),
		}}
	}
	return j
}

// failedPods enters so many pods without a controller that failed, with so many labels more.
func failedPods(engine recording, number, more int) {
	for i := range number {
		p := makePod(fmt.Sprintf("failed-%05d", i), strconv.Itoa(10+i)).Label("tier", "first").Obj()
		p.Spec.NodeName, p.Status.Phase = "n", corev1.PodFailed
		for l := range more {
			p.Labels[fmt.Sprintf("%s.example.com/%d", strings.Repeat("k", 60), l)] = strings.Repeat("v", 60)
		}
		engine.ApplyPod(p)
	}
}

// Two releases in one second: status says the same of them whenever it is worked out, or it would be written again and again.
func TestOfJobsOfOneSecondStatusNamesAlwaysTheSame(t *testing.T) {
	engine, labels := newEngine(), map[string]string{"app": "migrate"}
	engine.Tick(failuresEpoch.Add(time.Minute))
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("Migration", "app", "migrate").Complete().Obj())
	engine.ApplyWorkload(makeJob("migrate-v1", "2", 1, 5, batchv1.JobFailed, labels))
	for i, name := range []string{"migrate-v4", "migrate-v2", "migrate-v3"} {
		engine.ApplyWorkload(makeJob(name, strconv.Itoa(10+i), 10, 0, "", labels))
	}
	for range 50 {
		r, _ := engine.Report(types.NamespacedName{Namespace: oracleNamespace, Name: "shop"})
		require.Contains(t, r.Groups[0].Progress, "it no longer counts when Job migrate-v2 is complete")
	}
}

// The controller saw the Job fail and go, and the scheduler was started in between. It hears of that when status says so.
func TestAFailureThatOnlyTheOtherProgramSawCountsFromWhenStatusListsIt(t *testing.T) {
	migration := map[string]string{"app": "migration"}
	of := func(engine recording) *corev1.Pod {
		engine.Tick(failuresEpoch.Add(time.Minute))
		engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Mode(v1alpha1.Continuous).
			Label("Migration", "app", "migration").Complete().Label("Web", "app", "web").Obj())
		engine.ApplyWorkload(makeJob("seed", "10", 0, 10, batchv1.JobComplete, migration))
		web := makePod("web", "11").Label("app", "web").Obj()
		engine.ApplyPod(web)
		return web
	}
	controller, scheduler := newEngine(), newEngine()
	of(controller)
	controller.ApplyWorkload(makeJob("schema", "12", 0, 20, batchv1.JobFailed, migration))
	controller.RemoveWorkload(makeJob("schema", "13", 0, 20, batchv1.JobFailed, migration))
	web := of(scheduler)
	require.False(t, scheduler.Decide(web).Held, "it knows nothing of it")

	stored := MakeSequence(oracleNamespace, "shop").UID("shop").Mode(v1alpha1.Continuous).
		Label("Migration", "app", "migration").Complete().Label("Web", "app", "web").Obj()
	report, _ := controller.Report(shopKey)
	stored.ResourceVersion, stored.Status.Failures = "14", report.Failures
	require.Len(t, report.Failures, 1)
	scheduler.ApplySequence(stored)
	assert.True(t, scheduler.Decide(web).Held)
	scheduler.ApplyWorkload(makeJob("schema-2", "15", 30, 40, batchv1.JobComplete, migration))
	assert.False(t, scheduler.Decide(web).Held, "a later Job of the group makes up for it")
}

// Somebody runs the pod again, which ends and is deleted before status is written.
func TestAPodThatWasCreatedAgainAndWentBeforeStatusWasWrittenEndedTheFailure(t *testing.T) {
	engine := newEngine()
	engine.Tick(failuresEpoch.Add(time.Minute))
	sequence := MakeSequence(oracleNamespace, "shop").UID("shop").Mode(v1alpha1.Continuous).
		Label("First", "tier", "first").Complete().Label("Web", "app", "web").Obj()
	engine.ApplySequence(sequence)
	web := makePod("web", "2").Label("app", "web").Obj()
	engine.ApplyPod(web)
	run := func(name, uid, version string, phase corev1.PodPhase) *corev1.Pod {
		p := makePod(name, version).UID(uid).Label("tier", "first").Node("n").Obj()
		p.Status.Phase = phase
		engine.ApplyPod(p)
		return p
	}
	run("other", "other", "3", corev1.PodSucceeded)
	failed := run("run", "first", "4", corev1.PodFailed)
	report, _ := engine.Report(shopKey)
	require.Len(t, report.Failures, 1)
	listed := sequence.DeepCopy()
	listed.ResourceVersion, listed.Status.Failures = "5", report.Failures
	engine.ApplySequence(listed)
	engine.RemovePod(failed)
	require.True(t, engine.Decide(web).Held)
	engine.RemovePod(run("run", "second", "6", corev1.PodSucceeded))
	assert.False(t, engine.Decide(web).Held)
}

// The next Job of the CronJob began before the first one failed, and was complete. That it goes first changes nothing.
func TestAJobOfACronJobThatANewerOneReplacedIsNoFailureWhenTheNewerOneGoesFirst(t *testing.T) {
	engine, template := newEngine(), map[string]string{"app": "import"}
	engine.Tick(failuresEpoch.Add(time.Minute))
	of := func(j *batchv1.Job) *batchv1.Job {
		j.OwnerReferences = []metav1.OwnerReference{controllerRef("batch/v1", "CronJob", "import", "c1")}
		return j
	}
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Mode(v1alpha1.Continuous).
		Label("Import", "app", "import").Complete().Label("Web", "app", "web").Obj())
	engine.ApplyWorkload(of(makeJob("import-1", "3", 0, 30, batchv1.JobFailed, template)))
	engine.ApplyWorkload(of(makeJob("import-2", "4", 20, 25, batchv1.JobComplete, template)))
	engine.RemoveWorkload(of(makeJob("import-2", "5", 20, 25, batchv1.JobComplete, template)))
	engine.RemoveWorkload(of(makeJob("import-1", "6", 0, 30, batchv1.JobFailed, template)))
	report, _ := engine.Report(shopKey)
	assert.Empty(t, report.Failures)
}

// A program that is started when the successor is there takes it for the successor, though it is there when the failure is first seen.
func TestSuccessorThatWasThereBeforeTheProgram(t *testing.T) {
	engine, template := newEngine(), map[string]string{"app": "migration"}
	engine.Tick(failuresEpoch.Add(time.Minute))
	engine.ReplaceWorkloads(inventory.KindJob, []metav1.Object{
		makeJob("migrate-41", "1", 0, 10, batchv1.JobFailed, template), makeJob("migrate-42", "2", 20, 0, "", template),
	}, "2")
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Mode(v1alpha1.Continuous).
		Label("Migration", "app", "migration").Complete().Label("Web", "app", "web").Obj())
	engine.ApplyPod(makePod("web", "4").Label("app", "web").Obj())
	engine.RemoveWorkload(makeJob("migrate-41", "5", 0, 10, batchv1.JobFailed, template))
	engine.ApplyWorkload(makeJob("migrate-42", "6", 20, 60, batchv1.JobComplete, template))

	report, _ := engine.Report(types.NamespacedName{Namespace: oracleNamespace, Name: "shop"})
	assert.Empty(t, report.Failures)
	assert.True(t, report.Groups[0].Satisfied, report.Groups[0].Progress)
}

// Whoever may create pods chooses their labels, and must not make status too large to be written.
func TestStatusOfFailuresIsSmall(t *testing.T) {
	for _, labels := range []int{7, 100} {
		engine := newEngine()
		engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Mode(v1alpha1.Continuous).
			Label("First", "tier", "first").Label("Web", "app", "web").Obj())
		failedPods(engine, 2*v1alpha1.MaxFailures, labels)
		status, size := statusSize(t, engine, "shop")
		assert.Len(t, status.Failures, v1alpha1.MaxFailures)
		assert.Less(t, size, maxStatusSize/2)
	}
}

// Failures of a group for which nobody waits take no room from those of others.
func TestFailuresOfTheLastGroupPushOutNoOther(t *testing.T) {
	engine := newEngine()
	engine.Tick(failuresEpoch.Add(time.Minute))
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Mode(v1alpha1.Continuous).
		Label("Migration", "app", "migration").Complete().Label("Rest", "tier", "first").Obj())
	for i := range v1alpha1.MaxFailures {
		p := makePod(fmt.Sprintf("failed-%d", i), strconv.Itoa(10+i)).Label("tier", "first").Obj()
		p.Spec.NodeName, p.Status.Phase = "n", corev1.PodFailed
		engine.ApplyPod(p)
		p.ResourceVersion = strconv.Itoa(100 + i)
		engine.RemovePod(p)
	}
	seed, schema := map[string]string{"app": "migration", "part": "seed"}, map[string]string{"app": "migration", "part": "schema"}
	engine.ApplyWorkload(makeJob("seed", "1000", 0, 10, batchv1.JobComplete, seed))
	engine.ApplyWorkload(makeJob("schema", "1001", 0, 10, batchv1.JobFailed, schema))
	engine.RemoveWorkload(makeJob("schema", "1002", 0, 10, batchv1.JobFailed, schema))
	failedPods(engine, 2*v1alpha1.MaxFailures, 0)
	report, _ := engine.Report(types.NamespacedName{Namespace: oracleNamespace, Name: "shop"})
	assert.False(t, report.Groups[0].Satisfied, report.Groups[0].Progress)
	assert.Len(t, report.Failures, v1alpha1.MaxFailures)
	assert.True(t, slices.ContainsFunc(report.Failures, func(f v1alpha1.Failure) bool { return f.Name == "schema" }))
}
