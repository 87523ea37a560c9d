package release

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/holds"
)

const ourScheduler = "podsequence-scheduler"

var planner = Planner{holds.Finder{SchedulerNames: []string{ourScheduler}, GatePrefixes: []string{"podsequence.example.com/"}}}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)}
}

// template makes the template of pods of our scheduler that carry our label.
func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web", v1alpha1.SequenceLabel: "shop"}},
		Spec:       corev1.PodSpec{SchedulerName: ourScheduler, Containers: []corev1.Container{{Name: "work", Image: "work"}}},
	}
}

func cleanTemplate() corev1.PodTemplateSpec {
	t := template()
	t.Spec.SchedulerName = corev1.DefaultSchedulerName
	delete(t.Labels, v1alpha1.SequenceLabel)
	return t
}

// pod makes a pod: its words say what it has.
func pod(name, words string, owner client.Object) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta(name), Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName}}
	p.Status.Phase = corev1.PodPending
	if owner != nil {
		controlledBy(p, owner)
	}
	for word := range strings.FieldsSeq(words) {
		switch word {
		case "ours":
			p.Spec.SchedulerName = ourScheduler
		case "gated":
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: v1alpha1.DefaultSchedulingGateName})
		case "gated-by-others":
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "example.com/quota"})
		case "bound":
			p.Spec.NodeName, p.Status.Phase = "node-1", corev1.PodRunning
		case "terminating":
			p.DeletionTimestamp = new(metav1.Now())
		case "failed":
			p.Status.Phase = corev1.PodFailed
		default:
			panic(word)
		}
	}
	return p
}

func controlledBy(object, owner client.Object) {
	kind, err := apiutil.GVKForObject(owner, clientgoscheme.Scheme)
	if err != nil {
		panic(err)
	}
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)})
}

// said prints a plan in a few words.
func said(plan PodPlan) string {
	var steps []string
	for _, step := range plan.Steps {
		steps = append(steps, fmt.Sprintf("%s %s", step.Action, step.Pod.Name))
	}
	return strings.Join(steps, ", ")
}

func deployment(paused bool) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Paused: paused, Template: template(), Strategy: appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: new(intstr.FromString("25%"))},
	}}}
}

func statefulSet(strategy appsv1.StatefulSetUpdateStrategyType, partition int32) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{Template: template()}}
	set.Spec.UpdateStrategy.Type = strategy
	if strategy == appsv1.RollingUpdateStatefulSetStrategyType {
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}
	}
	set.Status.UpdateRevision = "new"
	return set
}

func daemonSet(strategy appsv1.DaemonSetUpdateStrategyType) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: meta("agent"), Spec: appsv1.DaemonSetSpec{Template: template()}}
	set.Spec.UpdateStrategy.Type = strategy
	return set
}

func TestThePodsOfAWorkload(t *testing.T) {
	rolling, paused := deployment(false), deployment(true)
	coordinated := deployment(true)
	coordinated.Annotations = map[string]string{"apps.containerinfra.nl/paused-by": "one-at-a-time"}
	held := &appsv1.ReplicaSet{ObjectMeta: meta("web-1"), Spec: appsv1.ReplicaSetSpec{Template: template()}}
	clean := &appsv1.ReplicaSet{ObjectMeta: meta("web-2"), Spec: appsv1.ReplicaSetSpec{Template: cleanTemplate()}}
	sets := []*appsv1.ReplicaSet{held, clean}
	ordered, onDelete := statefulSet("RollingUpdate", 0), statefulSet("OnDelete", 0)
	partitioned, fromTen := statefulSet("RollingUpdate", 2), statefulSet("RollingUpdate", 2)
	fromTen.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 10}
	agents, agentsOnDelete := daemonSet("RollingUpdate"), daemonSet("OnDelete")
	job := &batchv1.Job{ObjectMeta: meta("import"), Spec: batchv1.JobSpec{Template: template()}}
	cleanJob := &batchv1.Job{ObjectMeta: meta("import"), Spec: batchv1.JobSpec{Template: cleanTemplate()}}
	finished := job.DeepCopy()
	finished.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	labelled := pod("a", "ours", nil)
	labelled.Labels = map[string]string{v1alpha1.SequenceLabel: "shop"}
	nightly := &batchv1.CronJob{ObjectMeta: meta("nightly")}

	for name, tc := range map[string]struct {
		world    World
		changed  bool
		want     string
		stayHeld string
		note     string
	}{
		"a Deployment replaces its pods by its rollout, and the running ones too": {
			world:   World{Workload: rolling, ReplicaSets: sets, Pods: []*corev1.Pod{pod("a", "ours", held), pod("b", "ours bound", held), pod("c", "gated", held)}},
			changed: true,
			note:    "deployment/web rolls out the changed template. It also replaces 1 pod that had a node (RollingUpdate, maxUnavailable 25%). Watch it:",
		},
		"an earlier rollout of a Deployment goes on": {
			world: World{Workload: rolling, ReplicaSets: sets, Pods: []*corev1.Pod{pod("a", "ours", held)}},
		},
		"pods of a Deployment that an admission policy gave to our scheduler are created again": {
			world: World{Workload: rolling, ReplicaSets: sets, Pods: []*corev1.Pod{pod("a", "ours", clean), pod("b", "ours bound", clean)}},
			want:  "delete a",
		},
		"a paused Deployment rolls nothing out": {
			world:   World{Workload: paused, ReplicaSets: sets, Pods: []*corev1.Pod{pod("a", "ours", held), pod("b", "gated", held), pod("c", "ours bound", held)}},
			changed: true, want: "lift b", stayHeld: "deployment/web is paused, so it does not roll out the changed template. Resume it:\n  kubectl rollout resume -n shop deployment/web",
		},
		"a Deployment that a coordination paused waits for its turn": {
			world: World{Workload: coordinated, ReplicaSets: sets, Pods: []*corev1.Pod{pod("a", "ours", held)}}, changed: true,
			stayHeld: "DeploymentCoordination one-at-a-time keeps deployment/web paused until it has the turn to roll out.",
		},
		"a paused Deployment without held pods": {
			world: World{Workload: paused, ReplicaSets: sets}, changed: true, note: "deployment/web is paused",
		},
		"a StatefulSet does not replace pods that have never run": {
			world:   World{Workload: ordered, Pods: []*corev1.Pod{pod("db-0", "ours bound", ordered), pod("db-1", "ours", ordered), pod("db-2", "gated", ordered)}},
			changed: true, want: "delete db-1, delete db-2",
			note: "statefulset/db rolls out the changed template. It also replaces 1 pod that had a node (RollingUpdate, one after another from the highest number).",
		},
		"a StatefulSet with OnDelete keeps the running pods": {
			world:   World{Workload: onDelete, Pods: []*corev1.Pod{pod("db-0", "ours bound", onDelete), pod("db-1", "ours", onDelete), pod("db-2", "gated", onDelete)}},
			changed: true, want: "delete db-1, lift db-2",
		},
		"below the partition of a StatefulSet pods come from the old template": {
			world:   World{Workload: partitioned, Pods: []*corev1.Pod{pod("db-0", "gated", nil), pod("db-1", "ours", nil), pod("db-2", "ours", nil), pod("db-3", "bound", nil)}},
			changed: true, want: "lift db-0, delete db-2",
			stayHeld: `db-1: below the partition, statefulset/db creates pods from the old template. Lower the partition, then run this command again:
  kubectl patch statefulset -n shop db -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'`,
			note: "It also replaces 1 pod that had a node",
		},
		"below the partition the old revision is known later too": {
			world:    World{Workload: partitioned, Pods: []*corev1.Pod{pod("db-1", "ours", nil)}},
			stayHeld: "db-1: below the partition",
		},
		"a partition counts from the first pod of the StatefulSet": {
			world:   World{Workload: fromTen, Pods: []*corev1.Pod{pod("db-10", "gated", nil), pod("db-11", "ours", nil), pod("db-12", "ours", nil)}},
			changed: true, want: "lift db-10, delete db-12", stayHeld: "db-11: below the partition",
			note: "statefulset/db rolls out the changed template. Watch it",
		},
		"a DaemonSet replaces its pods by its rollout": {
			world: World{Workload: agents, Pods: []*corev1.Pod{pod("a", "ours", agents)}}, changed: true,
			note: "daemonset/agent rolls out the changed template. Watch it:\n  kubectl rollout status -n shop daemonset/agent",
		},
		"pods of a DaemonSet that an admission policy gave to our scheduler are created again": {
			world: World{Workload: agents, Pods: []*corev1.Pod{pod("a", "ours", agents)}}, want: "delete a",
		},
		"a DaemonSet with OnDelete": {
			world:   World{Workload: agentsOnDelete, Pods: []*corev1.Pod{pod("a", "ours", nil), pod("b", "gated", nil), pod("c", "bound ours", nil)}},
			changed: true, want: "delete a, lift b",
		},
		"a ReplicaSet without a Deployment": {
			world:   World{Workload: held, Pods: []*corev1.Pod{pod("a", "ours gated", held), pod("b", "gated", held), pod("c", "bound ours", held)}},
			changed: true, want: "delete a, lift b",
		},
		"neither ended nor terminating pods are touched, nor those of others": {
			world: World{Workload: held, Pods: []*corev1.Pod{pod("a", "ours terminating", held), pod("b", "ours failed", held), pod("c", "", held), pod("d", "gated-by-others", held)}},
		},
		"a gate of others is said": {
			world: World{Workload: held, Pods: []*corev1.Pod{pod("a", "gated gated-by-others", held)}}, want: "lift a",
			note: "The gate example.com/quota of 1 pod does not belong to PodSequence: whoever set it must remove it.",
		},
		"a Job's pods are not deleted, because it counts them as failed": {
			world:    World{Workload: job, Pods: []*corev1.Pod{pod("a", "ours", job), pod("b", "ours", job)}},
			stayHeld: "The scheduler of 2 pods of job/import cannot be changed. The template of a Job cannot be changed: create the Job again. It repeats what it has completed:\n  kubectl get job -n shop import",
		},
		"a Job's gated pods are released, and its template is said": {
			world: World{Workload: job, Pods: []*corev1.Pod{pod("a", "gated", job)}}, want: "lift a",
			note: "The pods that job/import creates from now on are held.",
		},
		"a Job whose pods an admission policy gave to our scheduler": {
			world:    World{Workload: cleanJob, Pods: []*corev1.Pod{pod("a", "ours", cleanJob)}},
			stayHeld: `"spec":{"schedulerName":"default-scheduler"}`,
		},
		"a finished Job needs nothing": {world: World{Workload: finished}},
		"the Jobs of a CronJob": {
			world:    World{Workload: nightly, Jobs: []*batchv1.Job{finished, job}, Pods: []*corev1.Pod{pod("a", "ours", job)}},
			changed:  true,
			stayHeld: "The scheduler of 1 pod of job/import cannot be changed.",
		},
		"a bare pod with a gate": {world: World{Workload: pod("a", "gated", nil)}, want: "lift a"},
		"a bare pod of our scheduler is created again": {
			world:    World{Workload: pod("a", "gated ours", nil)},
			stayHeld: "The scheduler of pod/a cannot be changed. The pod has never run: create it again:\n  kubectl get pod -n shop a -o yaml | kubectl patch --local",
		},
		"a bare pod is created again without its label": {
			world:    World{Workload: labelled},
			stayHeld: `-p '{"metadata":{"labels":{"podsequence.example.com/sequence":null}},"spec":{"schedulerName":"default-scheduler"}}'`,
		},
		"a bare pod that has a node": {world: World{Workload: pod("a", "ours bound", nil)}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planner.Pods(tc.world, tc.changed)
			assert.Equal(t, tc.want, said(plan))
			assertSaid(t, tc.stayHeld, plan.StayHeld)
			assertSaid(t, tc.note, plan.Notes)
		})
	}
}

// assertSaid expects one line with the text, or none.
func assertSaid(t *testing.T, want string, lines []string) {
	t.Helper()
	if want == "" {
		assert.Empty(t, lines)
		return
	}
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], want)
}

func TestWhatIsRemovedFromATemplate(t *testing.T) {
	selecting := func(selector *metav1.LabelSelector) *appsv1.Deployment {
		d := deployment(false)
		d.Spec.Selector = selector
		return d
	}
	both := holds.Hold{Scheduler: ourScheduler, Sequence: "shop"}
	for name, tc := range map[string]struct {
		workload client.Object
		want     holds.Hold
		kept     bool
	}{
		"label and scheduler": {
			workload: selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}), want: both,
		},
		"a label that the selector needs stays": {
			workload: selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", v1alpha1.SequenceLabel: "shop"}}),
			want:     holds.Hold{Scheduler: ourScheduler}, kept: true,
		},
		"a label that the selector needs by an expression stays": {
			workload: selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: v1alpha1.SequenceLabel, Operator: metav1.LabelSelectorOpExists},
			}}),
			want: holds.Hold{Scheduler: ourScheduler}, kept: true,
		},
		"a label that the selector does not need goes": {
			workload: selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: v1alpha1.SequenceLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"other"}},
			}}),
			want: both,
		},
		"the template of a Job cannot be changed": {workload: &batchv1.Job{Spec: batchv1.JobSpec{Template: template()}}},
		"a CronJob has the template of its Jobs": {
			workload: &batchv1.CronJob{Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template()}}}},
			want:     both,
		},
		"a pod has no template": {workload: pod("a", "ours", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			remove, kept := planner.Template(tc.workload)
			assert.Equal(t, tc.want, remove)
			assert.Equal(t, tc.kept, kept)
		})
	}
}
