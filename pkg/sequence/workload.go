package sequence

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/podgroups"
)

// WorkloadKind is a kind of object that makes pods, and so says how many to expect.
type WorkloadKind string

// The kinds of workloads that the engine is told of, and pods.
const (
	KindPod                   WorkloadKind = "Pod"
	KindDeployment            WorkloadKind = "Deployment"
	KindReplicaSet            WorkloadKind = "ReplicaSet"
	KindReplicationController WorkloadKind = "ReplicationController"
	KindStatefulSet           WorkloadKind = "StatefulSet"
	KindDaemonSet             WorkloadKind = "DaemonSet"
	KindJob                   WorkloadKind = "Job"
)

// groups of the kinds.
var workloadGroups = map[WorkloadKind]string{
	KindDeployment: appsv1.GroupName, KindReplicaSet: appsv1.GroupName, KindStatefulSet: appsv1.GroupName,
	KindDaemonSet: appsv1.GroupName, KindJob: batchv1.GroupName, KindReplicationController: corev1.GroupName,
}

func knownKind(ref *metav1.OwnerReference) bool {
	group, known := workloadGroups[WorkloadKind(ref.Kind)]
	if !known {
		return false
	}
	named, _, hasGroup := strings.Cut(ref.APIVersion, "/")
	if !hasGroup {
		named = ""
	}
	return named == group
}

// workload is what the engine keeps of an object that makes pods.
type workload struct {
	kind            WorkloadKind
	namespace, name string
	uid             types.UID
	resourceVersion string
	created         time.Time
	terminating     bool

	// owner is the Deployment of a ReplicaSet, or the CronJob of a Job; empty if there is none.
	owner types.UID
	// object is kept where a rule of Kubernetes asks for it, with what the rule looks at: Deployment, ReplicaSet and
	// DaemonSet.
	object metav1.Object
	labels map[string]string     // of the pods it makes
	gangs  []podgroups.Reference // Jobs only: the PodGroups that its pods name

	expected         int // members that it makes, for RequireReady
	expectedComplete int // for RequireComplete; Jobs only
	observed         bool
	// revision marks the pods of the newest template, see revisionOf. It is not looked at if allCurrent.
	revision   string
	allCurrent bool
	firstPod   int // the first ordinal of a StatefulSet
	pause      pause

	complete   bool // Jobs only
	completeAt time.Time
	failed     bool
	failure    string

	// superseded is set for a Job of a CronJob that has a newer one.
	superseded bool

	// shares has the workload's place in each sequence whose groups select its pods.
	shares map[*sequence]*share

	// due are the nodes that a DaemonSet should run on, and onNode counts the pods it has on each. Kept only while a
	// sequence of node scope selects it.
	due    map[string]struct{}
	onNode map[string]int
}

// viewWorkload extracts what matters of an object of one of the kinds above; it returns nil for any other.
func viewWorkload(object metav1.Object) *workload {
	w := &workload{
		namespace: object.GetNamespace(), name: object.GetName(), uid: object.GetUID(),
		resourceVersion: object.GetResourceVersion(), created: object.GetCreationTimestamp().Time,
		terminating: object.GetDeletionTimestamp() != nil, observed: true, allCurrent: true,
		shares: map[*sequence]*share{},
	}
	generation := object.GetGeneration()
	switch o := object.(type) {
	case *appsv1.Deployment:
		w.kind, w.labels = KindDeployment, o.Spec.Template.Labels
		w.object = &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: o.Spec.Template}}
		w.expected = int(ptr.Deref(o.Spec.Replicas, 1))
		w.observed = o.Status.ObservedGeneration >= generation
		w.allCurrent = false // revision is the newest ReplicaSet, see newestReplicaSet
		w.pause = pauseOf(o)
	case *appsv1.ReplicaSet:
		w.kind, w.labels = KindReplicaSet, o.Spec.Template.Labels
		w.object = &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: o.Name, UID: o.UID, CreationTimestamp: o.CreationTimestamp},
			Spec:       appsv1.ReplicaSetSpec{Template: o.Spec.Template},
		}
		w.expected = int(ptr.Deref(o.Spec.Replicas, 1))
		w.observed = o.Status.ObservedGeneration >= generation
		w.owner = controllerOfKind(o, appsv1.SchemeGroupVersion.Group, string(KindDeployment))
	case *corev1.ReplicationController:
		w.kind = KindReplicationController
		if o.Spec.Template != nil {
			w.labels = o.Spec.Template.Labels
		}
		w.expected = int(ptr.Deref(o.Spec.Replicas, 1))
		w.observed = o.Status.ObservedGeneration >= generation
	case *appsv1.StatefulSet:
		w.viewStatefulSet(o)
	case *appsv1.DaemonSet:
		w.kind, w.labels = KindDaemonSet, o.Spec.Template.Labels
		w.object = &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Generation: generation}, Spec: appsv1.DaemonSetSpec{Template: o.Spec.Template},
		}
		w.expected = int(o.Status.DesiredNumberScheduled)
		w.observed = o.Status.ObservedGeneration >= generation
		w.revision = o.Annotations[appsv1.DeprecatedTemplateGeneration]
		w.allCurrent = w.revision == "" || o.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
	case *batchv1.Job:
		w.viewJob(o)
	default:
		return nil
	}
	return w
}

func (w *workload) viewStatefulSet(o *appsv1.StatefulSet) {
	w.kind, w.labels = KindStatefulSet, o.Spec.Template.Labels
	w.expected = int(ptr.Deref(o.Spec.Replicas, 1))
	w.observed = o.Status.ObservedGeneration >= o.Generation
	if o.Spec.Ordinals != nil {
		w.firstPod = int(o.Spec.Ordinals.Start)
	}
	w.revision = o.Status.UpdateRevision
	strategy := o.Spec.UpdateStrategy
	partitioned := strategy.RollingUpdate != nil && ptr.Deref(strategy.RollingUpdate.Partition, 0) > 0
	w.allCurrent = w.revision == "" || partitioned || strategy.Type == appsv1.OnDeleteStatefulSetStrategyType
}

func (w *workload) viewJob(o *batchv1.Job) {
	w.kind, w.labels = KindJob, o.Spec.Template.Labels
	w.gangs = podgroups.Of(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Labels: o.Spec.Template.Labels, Annotations: o.Spec.Template.Annotations},
		Spec:       o.Spec.Template.Spec,
	})
	parallelism := int(ptr.Deref(o.Spec.Parallelism, 1))
	completions := parallelism
	if o.Spec.Completions != nil {
		completions = int(*o.Spec.Completions)
	}
	w.expected, w.expectedComplete = min(parallelism, completions), completions
	w.owner = controllerOfKind(o, batchv1.SchemeGroupVersion.Group, "CronJob")
	for _, c := range o.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			w.complete, w.completeAt = true, c.LastTransitionTime.Time
			if o.Status.CompletionTime != nil {
				w.completeAt = o.Status.CompletionTime.Time
			}
		case batchv1.JobFailed:
			w.failed, w.failure = true, fmt.Sprintf("%s: %s", c.Reason, c.Message)
		}
	}
}

func controllerOfKind(object metav1.Object, group, kind string) types.UID {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil || ref.Kind != kind || !strings.HasPrefix(ref.APIVersion, group+"/") {
		return ""
	}
	return ref.UID
}

// workloadKey is what can be deleted and made again.
type workloadKey struct {
	kind            WorkloadKind
	namespace, name string
}

func (w *workload) key() workloadKey { return workloadKey{w.kind, w.namespace, w.name} }

// counts tells whether the workload says by itself what to expect. A Deployment speaks for its ReplicaSets.
func (w *workload) counts() bool {
	return !w.terminating && !(w.kind == KindReplicaSet && w.owner != "")
}

// expects is the number of members the workload makes.
func (w *workload) expects(required v1alpha1.RequiredStatus) int {
	if required == v1alpha1.RequireComplete && w.kind == KindJob {
		return w.expectedComplete
	}
	return w.expected
}

// revisionOf is the revision of a pod that this workload made itself. For a Deployment see Engine.makerOf.
func (w *workload) revisionOf(p *pod) string {
	switch w.kind {
	case KindStatefulSet:
		return p.labels[appsv1.StatefulSetRevisionLabel]
	case KindDaemonSet:
		return p.labels["pod-template-generation"] // extensions/v1beta1 DaemonSetTemplateGenerationKey
	}
	return ""
}

// makesByName tells whether the name is that of a pod which this StatefulSet makes.
func (w *workload) makesByName(name string) bool {
	if w.kind != KindStatefulSet {
		return false
	}
	text, ok := strings.CutPrefix(name, w.name+"-")
	if !ok {
		return false
	}
	ordinal, err := strconv.Atoi(text)
	return err == nil && strconv.Itoa(ordinal) == text && ordinal >= w.firstPod && ordinal < w.firstPod+w.expected
}

// wants reports whether a pod that it owns is one of those that it should have: a StatefulSet that is being scaled down still
// has more.
func (w *workload) wants(p *pod) bool { return w.kind != KindStatefulSet || w.makesByName(p.name) }

// String names the workload as messages do.
func (w *workload) String() string { return fmt.Sprintf("%s %s", w.kind, w.name) }
