package sequence

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// What callers of the Engine say in the words of the floors below it. They import no floor themselves.
type (
	// Stored is a PodSequence as it is stored, as far as it can be read.
	Stored = spec.Stored
	// Unreadable is a part of a stored spec that is not what its field takes.
	Unreadable = spec.Unreadable
	// Problem is something that keeps a sequence from doing what its spec says.
	Problem = spec.Problem
	// Report is how far a sequence is.
	Report = report.Report
	// State is what may be special about a sequence.
	State = report.State
	// Decision says whether a pod may be scheduled now, and if not, what it waits for.
	Decision = report.Decision
	// WorkloadKind is a kind of object that owns pods, or that of pods.
	WorkloadKind = inventory.Kind
	// WorkloadRow is a row in the table of workload kinds.
	WorkloadRow = inventory.WorkloadKind
)

// SelectorOf turns a selector of the API into one of apimachinery. It fails for one that was stored under other rules. Without a
// selector it selects nothing.
func SelectorOf(in *v1alpha1.LabelSelector) (labels.Selector, error) { return spec.Selector(in) }

// OpenToTenants reports whether a selector of namespaces may reach those of several teams.
func OpenToTenants(namespaces *v1alpha1.LabelSelector) bool { return spec.OpenToTenants(namespaces) }

// WorkloadKinds returns the table of the kinds of workloads that the engine takes.
func WorkloadKinds() []WorkloadRow { return inventory.WorkloadKinds }

// IsUnorderedHook reports whether these are the annotations of a hook that no start order concerns.
func IsUnorderedHook(annotations map[string]string) bool {
	return inventory.IsUnorderedHook(annotations)
}

// IsMirror reports whether kubelet made the pod of a static pod, as a file on its node says.
func IsMirror(pod *corev1.Pod) bool { return inventory.IsMirror(pod) }

// HasFailed reports whether a pod ended before its work was done. One that its kubelet evicted may be in phase Succeeded.
func HasFailed(pod *corev1.Pod) bool { return inventory.HasFailed(pod) }

// HasSucceeded reports whether a pod ended because its work was done.
func HasSucceeded(pod *corev1.Pod) bool { return inventory.HasSucceeded(pod) }

// IsReplaced reports whether a pod failed and its controller replaces it: it is no member of any group then.
func IsReplaced(pod *corev1.Pod) bool { return inventory.IsReplaced(pod) }

// ReachedAt reports whether a pod says that it has reached what a group requires of its members, and since when, as far as it says.
func ReachedAt(pod *corev1.Pod, group *v1alpha1.PodGroup) (at time.Time, reached bool) {
	view := inventory.ViewPod(pod)
	is := view.Reached(inventory.Requirement{Status: group.RequiredStatus, Condition: group.RequiredCondition})
	return is.At.Time(), is.Done
}

// The kinds of workloads that the engine takes, and pods.
const (
	KindPod                   = inventory.KindPod
	KindDeployment            = inventory.KindDeployment
	KindReplicaSet            = inventory.KindReplicaSet
	KindReplicationController = inventory.KindReplicationController
	KindStatefulSet           = inventory.KindStatefulSet
	KindDaemonSet             = inventory.KindDaemonSet
	KindJob                   = inventory.KindJob
)

// Object is what is recorded of an object that a group waits for.
type Object = readiness.Object

// Read makes a PodSequence of what is stored, and ReadCluster a ClusterPodSequence. They never fail: what can be read is kept,
// and Unreadable has the rest.
func Read(stored map[string]any) Stored        { return spec.Read(stored) }
func ReadCluster(stored map[string]any) Stored { return spec.ReadCluster(stored) }

// DisplayName returns the name of a group as it is printed where names are not quoted anyway: quoted if it is not plain.
func DisplayName(name string) string { return spec.DisplayName(name) }

// NameOf names a PodSequence, or a ClusterPodSequence if the key has no namespace, as messages do.
func NameOf(key types.NamespacedName) string { return report.NameOf(key) }

// WaitingPatch returns the patch that says in the pod's PodScheduled condition what it waits for; nil if that is said already.
func WaitingPatch(p *corev1.Pod, message string, now time.Time) []byte {
	return report.WaitingPatch(p, message, now)
}

// StillGatedPatch returns the patch that takes back what WaitingPatch said of a pod that waits only for gates of others.
func StillGatedPatch(p *corev1.Pod, now time.Time) []byte { return report.StillGatedPatch(p, now) }

// TellsWait reports whether the pod's condition says, in the words of WaitingPatch, that it waits for a group.
func TellsWait(p *corev1.Pod) bool { return report.TellsWait(p) }
