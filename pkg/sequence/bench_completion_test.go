package sequence

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// BenchmarkCompletion measures two events: the pod that completes a large group stops being ready, and is ready again. Every pod turned
// ready in another second. The second event looks at all of them, which must take less than a millisecond for 10,000.
func BenchmarkCompletion(b *testing.B) {
	for _, of := range []struct {
		name         string
		workloads    func(pods int32) []metav1.Object // the last owns the pods
		minAvailable string
	}{
		{name: "loose pods"},
		{name: "a Deployment", workloads: largeDeployment},
		{name: "a Deployment with minAvailable", workloads: largeDeployment, minAvailable: "100%"},
		{name: "loose pods with minAvailable", minAvailable: "100%"},
		{name: "a Job", workloads: largeJob},
	} {
		for _, pods := range []int{1_000, 10_000} {
			b.Run(fmt.Sprintf("%s/pods=%d", of.name, pods), func(b *testing.B) {
				engine := newEngine()
				engine.Tick(inSecond(2 * pods))
				ps := MakeSequence(oracleNamespace, "shop").UID("shop").Mode(v1alpha1.Continuous).Label("Work", "tier", "work")
				if of.minAvailable != "" {
					ps.MinAvailable(of.minAvailable)
				}
				engine.ApplySequence(ps.Label("Application", "tier", "app").Obj())
				var owners []metav1.OwnerReference
				if of.workloads != nil {
					for _, w := range of.workloads(int32(pods)) {
						engine.ApplyWorkload(w)
						owners = ownedBy(w)
					}
				}
				engine.ApplyPod(makePod("app", "1").Label("tier", "app").Obj())
				var last *corev1.Pod
				for i := range pods {
					last = makePod("work-"+strconv.Itoa(i), "1").Label("tier", "work").Node("n").Obj()
					last.OwnerReferences = owners
					last.Status.Conditions = readyIn(i)
					engine.ApplyPod(last)
				}
				version := 1
				changed := func(conditions []corev1.PodCondition) Changes {
					version++
					last.ResourceVersion, last.Status.Conditions = strconv.Itoa(version), conditions
					return engine.ApplyPod(last)
				}
				b.ReportAllocs()
				completions := time.Duration(0)
				for b.Loop() {
					changed(nil)
					start := time.Now()
					changes := changed(readyIn(pods))
					if completions += time.Since(start); len(changes.Released) != 1 {
						b.Fatal("the group is not complete")
					}
				}
				b.ReportMetric(float64(completions.Nanoseconds())/float64(b.N), "ns/completion")
			})
		}
	}
}

// BenchmarkMoreThanNeeded measures the event of one more pod that turns ready in a large group that has enough of them and waits. The cost
// must not grow with their number.
func BenchmarkMoreThanNeeded(b *testing.B) {
	for _, pods := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			var engine recording
			var waiting []*corev1.Pod
			b.ReportAllocs()
			for b.Loop() {
				if len(waiting) == 0 {
					b.StopTimer()
					engine, waiting = moreThanNeeded(pods)
					b.StartTimer()
				}
				pod := waiting[0]
				waiting = waiting[1:]
				engine.ApplyPod(pod)
			}
		})
	}
}

// moreThanNeeded is an engine with a group that waits and that half of so many pods satisfy, and the events by which the others turn ready.
func moreThanNeeded(pods int) (engine recording, others []*corev1.Pod) {
	engine = newEngine()
	engine.Tick(inSecond(2 * pods))
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").
		Label("Work", "tier", "work").MinAvailable("50%").Wait("24h").Label("Application", "tier", "app").Obj())
	workloads := largeDeployment(int32(pods))
	for _, w := range workloads {
		engine.ApplyWorkload(w)
	}
	for i := range pods {
		pod := makePod("work-"+strconv.Itoa(i), "1").Label("tier", "work").Node("n").Obj()
		pod.OwnerReferences = ownedBy(workloads[1])
		if ready := pod.DeepCopy(); i < pods/2 {
			pod.Status.Conditions = readyIn(i)
		} else {
			ready.ResourceVersion, ready.Status.Conditions = "2", readyIn(i)
			others = append(others, ready)
		}
		engine.ApplyPod(pod)
	}
	return engine, others
}

// BenchmarkOrderCheck measures the sequence that comes after the pods of two large groups, of which the second started out of order, and
// the report of that. It must not look at the first group once for each pod.
func BenchmarkOrderCheck(b *testing.B) {
	for _, pods := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			engine, ps := startedOutOfOrder(pods)
			reports := time.Duration(0)
			for b.Loop() {
				engine.ApplySequence(ps)
				start := time.Now()
				report, _ := engine.Report(shopKey)
				if reports += time.Since(start); report.OutOfOrder == nil || len(report.OutOfOrder.Pods) != pods {
					b.Fatal("the pods are not out of order")
				}
				engine.RemoveSequence(shopKey, "")
			}
			b.ReportMetric(float64(reports.Nanoseconds())/float64(b.N), "ns/report")
		})
	}
}

// startedOutOfOrder is an engine with two groups of so many pods, of which the second started before the first was ready, and a sequence
// that comes later.
func startedOutOfOrder(pods int) (engine recording, ps *v1alpha1.PodSequence) {
	engine = newEngine()
	engine.Tick(inSecond(2 * pods))
	for i := range pods {
		work := makePod("work-"+strconv.Itoa(i), "1").Label("tier", "work").Node("n").Obj()
		work.Status.Conditions = readyIn(i)
		engine.ApplyPod(work)
		engine.ApplyPod(makePod("app-"+strconv.Itoa(i), "1").Label("tier", "app").Node("n").Obj())
	}
	return engine, MakeSequence(oracleNamespace, "shop").UID("shop").Label("Work", "tier", "work").Label("Application", "tier", "app").Obj()
}

// BenchmarkNewestRevision measures the event by which other pods of a large Deployment are those of its newest template.
func BenchmarkNewestRevision(b *testing.B) {
	for _, pods := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			engine := newEngine()
			deployment := oneLargeDeployment(engine, pods)
			version := 1
			b.ReportAllocs()
			for b.Loop() {
				version++
				deployment.ResourceVersion, deployment.Spec.Template.Spec.Hostname = strconv.Itoa(version), []string{"", "other"}[version%2]
				engine.ApplyWorkload(deployment)
			}
		})
	}
}

// BenchmarkEdit measures an edit of a sequence whose groups have many pods: it is suspended, and goes on.
func BenchmarkEdit(b *testing.B) {
	for _, pods := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			engine := newEngine()
			oneLargeDeployment(engine, pods)
			generation := int64(1)
			b.ReportAllocs()
			for b.Loop() {
				generation++
				edited := MakeSequence(oracleNamespace, "shop").UID("shop").Generation(generation).Label("Work", "tier", "work")
				if generation%2 == 0 {
					edited.Suspend()
				}
				engine.ApplySequence(edited.Obj())
			}
		})
	}
}

// oneLargeDeployment tells an engine of a sequence, and of a Deployment with that many pods, which are ready.
func oneLargeDeployment(engine recording, pods int) *appsv1.Deployment {
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("Work", "tier", "work").Obj())
	workloads := largeDeployment(int32(pods))
	for _, w := range workloads {
		engine.ApplyWorkload(w)
	}
	for i := range pods {
		pod := makePod("work-"+strconv.Itoa(i), "1").Label("tier", "work").Node("n").Obj()
		pod.OwnerReferences, pod.Status.Conditions = ownedBy(workloads[1]), readyIn(i)
		engine.ApplyPod(pod)
	}
	return workloads[0].(*appsv1.Deployment)
}

func inSecond(second int) time.Time { return scenarioEpoch.Add(time.Duration(second) * time.Second) }

func readyIn(second int) []corev1.PodCondition {
	return []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(inSecond(second))}}
}

var (
	largeMeta     = metav1.ObjectMeta{Namespace: oracleNamespace, Name: "work", ResourceVersion: "1", Generation: 1}
	largeTemplate = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"tier": "work"}}}
)

func largeDeployment(pods int32) []metav1.Object {
	deployment := &appsv1.Deployment{
		ObjectMeta: largeMeta, Spec: appsv1.DeploymentSpec{Replicas: &pods, Template: largeTemplate},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 1},
	}
	deployment.UID = "deployment"
	set := &appsv1.ReplicaSet{
		ObjectMeta: largeMeta, Spec: appsv1.ReplicaSetSpec{Replicas: &pods, Template: largeTemplate},
		Status: appsv1.ReplicaSetStatus{ObservedGeneration: 1},
	}
	set.UID, set.OwnerReferences = "set", ownedBy(deployment)
	return []metav1.Object{deployment, set}
}

func largeJob(pods int32) []metav1.Object {
	job := &batchv1.Job{ObjectMeta: largeMeta, Spec: batchv1.JobSpec{Parallelism: &pods, Completions: &pods, Template: largeTemplate}}
	job.UID = "job"
	return []metav1.Object{job}
}

// ownedBy names a workload as the controller of something.
func ownedBy(w metav1.Object) []metav1.OwnerReference {
	kind := map[types.UID]metav1.TypeMeta{
		"deployment": {APIVersion: "apps/v1", Kind: "Deployment"}, "set": {APIVersion: "apps/v1", Kind: "ReplicaSet"},
		"job": {APIVersion: "batch/v1", Kind: "Job"},
	}[w.GetUID()]
	return []metav1.OwnerReference{{APIVersion: kind.APIVersion, Kind: kind.Kind, Name: w.GetName(), UID: w.GetUID(), Controller: new(true)}}
}
