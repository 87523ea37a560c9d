package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Workload holds the facts of an object that owns pods.
type Workload struct {
	Kind            Kind
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	CreatedAt       time.Time
	Terminating     bool
	DeletedAt       time.Time // zero while it is not being deleted

	// Owner is the Deployment of a ReplicaSet, or the CronJob of a Job; empty if there is none.
	Owner types.UID
	// CronJob is the name of the CronJob of a Job.
	CronJob string
	// OwnedBy is the kind and name of the controller of a Job, such as: JobSet train. It is empty for none, and for a CronJob.
	OwnedBy string
	// Object is kept where a rule of Kubernetes asks for it, with what the rule looks at: Deployment, ReplicaSet and
	// DaemonSet.
	Object metav1.Object
	Labels map[string]string // of the pods it owns
	// SchedulerName and Gates are those of its template.
	SchedulerName string
	Gates         []string

	Expected         int // pods that it should own, for RequireReady
	ExpectedComplete int // for RequireComplete; Jobs only
	// ReadyNodes and UpdatedNodes say, of a DaemonSet, on how many of the nodes that it is due on it has a ready pod, and one of the newest
	// template, as its controller counted them together with Expected.
	ReadyNodes, UpdatedNodes int
	// Observed reports that its controller has seen its newest generation, and Generation is that: of what it should have.
	Observed   bool
	Generation int64
	// Revision marks the pods of the newest template, see RevisionOf; of a DaemonSet it is the template generation only. It is
	// not looked at if AllCurrent.
	Revision   string
	AllCurrent bool
	// NewestHashes are, of a DaemonSet, the template hashes of its pods of the newest generation, see IsUpToDate.
	NewestHashes map[string]struct{}
	FirstOrdinal int // of a StatefulSet
	// KeepsOldPods reports that it is a StatefulSet that starts its pods one after the other. Its controller replaces none of an older
	// revision before that is ready.
	KeepsOldPods bool
	// QuotaExceeded is the name of a ResourceQuota that refuses its pods, with what they ask for, what is used and what is allowed; empty
	// if none does, or if workloads of this kind do not say.
	QuotaExceeded string
	Pause         Pause

	// Hook marks a Job that is a hook which no order concerns, see IsUnorderedHook.
	Hook bool

	Complete    bool // Jobs only
	CompletedAt time.Time
	Failed      bool
	FailedAt    time.Time
	Failure     string

	// NamespaceGoing reports that its namespace is being deleted.
	NamespaceGoing bool
	// Superseded marks a Job of a CronJob that has a newer one.
	Superseded bool
}

// View reads the facts of an object of one of the kinds in the table. It reports false for any other.
func (w *Workload) View(object metav1.Object) bool {
	*w = Workload{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
		ResourceVersion: object.GetResourceVersion(), CreatedAt: object.GetCreationTimestamp().Time,
		Generation: object.GetGeneration(), Terminating: object.GetDeletionTimestamp() != nil, Observed: true, AllCurrent: true,
	}
	if w.Terminating {
		w.DeletedAt = object.GetDeletionTimestamp().Time
	}
	for i := range WorkloadKinds {
		if WorkloadKinds[i].view(w, object) {
			return true
		}
	}
	return false
}

// WorkloadKey is what can be deleted and made again.
type WorkloadKey struct {
	Kind            Kind
	Namespace, Name string
}

// Key returns what another object has that is made in the place of this one.
func (w *Workload) Key() WorkloadKey { return WorkloadKey{w.Kind, w.Namespace, w.Name} }

// CompareWorkloads compares two keys by namespace, kind and name.
func CompareWorkloads(a, b WorkloadKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// Counts reports whether the workload says by itself what to expect. A Deployment speaks for its ReplicaSets, and nobody expects pods of a
// hook that no order concerns. A workload that is being deleted expects what it expected, until it is gone.
func (w *Workload) Counts() bool { return (w.Kind != KindReplicaSet || w.Owner == "") && !w.Hook }

// IsGoing reports whether the workload is being deleted before its work is done. What goes away satisfies nothing. A complete Job has done
// its work, and its deletion takes nothing back. In a group of several namespaces the workload also goes with its namespace, complete
// or not, because so does whatever else the group had there.
func (w *Workload) IsGoing(severalNamespaces bool) bool {
	return (severalNamespaces && w.NamespaceGoing) || (w.Terminating && !w.Complete)
}

// Expects returns the number of pods that the workload should own.
func (w *Workload) Expects(required v1alpha1.RequiredStatus) int {
	if required == v1alpha1.RequireComplete && w.Kind == KindJob {
		return w.ExpectedComplete
	}
	return w.Expected
}

// RevisionOf returns the revision of a pod that names this workload as its owner.
func (w *Workload) RevisionOf(p *Pod) string {
	switch w.Kind {
	case KindStatefulSet:
		return p.Labels.Get(appsv1.StatefulSetRevisionLabel)
	case KindDaemonSet:
		return p.DaemonRevision()
	}
	return ""
}

// IsUpToDate reports whether a pod of a revision is up to date to the workload's own controller.
//
// To that of DaemonSets it is if its template generation or its hash is the newest (IsPodUpdated in pkg/controller/daemon/util of
// Kubernetes): after a roll-back, and when a DaemonSet adopts pods, the hash is the newest and the generation is not. Which hash is the
// newest no DaemonSet says, but its pods of the newest generation have it.
func (w *Workload) IsUpToDate(revision string) bool {
	if w.AllCurrent || w.Revision == revision {
		return true
	}
	if w.Kind != KindDaemonSet {
		return false
	}
	generation, hash := SplitDaemonRevision(revision)
	_, newest := w.NewestHashes[hash]
	return generation == w.Revision || newest
}

// templateGenerationLabel is DaemonSetTemplateGenerationKey of extensions/v1beta1.
const templateGenerationLabel = "pod-template-generation"

// SplitDaemonRevision undoes DaemonRevision.
func SplitDaemonRevision(revision string) (generation, hash string) {
	generation, hash, _ = strings.Cut(revision, "/")
	return generation, hash
}

// OwnsName reports whether the name is that of a pod which this StatefulSet should have.
func (w *Workload) OwnsName(name string) bool {
	if w.Kind != KindStatefulSet {
		return false
	}
	text, ok := strings.CutPrefix(name, w.Name+"-")
	if !ok {
		return false
	}
	ordinal, err := strconv.Atoi(text)
	return err == nil && strconv.Itoa(ordinal) == text && ordinal >= w.FirstOrdinal && ordinal < w.FirstOrdinal+w.Expected
}

// LeavesOldPods reports whether its controller, having seen its newest template, replaces no pod of an older revision that is not ready.
func (w *Workload) LeavesOldPods() bool { return w.KeepsOldPods && w.Observed && !w.Terminating }

// Wants reports whether a pod that it owns is one of those that it should have: a StatefulSet that is being scaled down still
// has more.
func (w *Workload) Wants(p *Pod) bool { return w.Kind != KindStatefulSet || w.OwnsName(p.Name) }

// SamePods reports whether another version of the workload leaves its pods where they are counted.
func (w *Workload) SamePods(other *Workload) bool {
	return w.Counts() == other.Counts() && w.Owner == other.Owner && maps.Equal(w.Labels, other.Labels) &&
		(w.Kind != KindStatefulSet || (w.Expected == other.Expected && w.FirstOrdinal == other.FirstOrdinal))
}

// CountsAs reports whether another version of the workload counts as this one does, wherever it is counted.
func (w *Workload) CountsAs(other *Workload) bool {
	return w.UID == other.UID && w.Generation == other.Generation && w.SamePods(other) && w.Terminating == other.Terminating && w.NamespaceGoing == other.NamespaceGoing &&
		w.Expected == other.Expected && w.ExpectedComplete == other.ExpectedComplete &&
		w.ReadyNodes == other.ReadyNodes && w.UpdatedNodes == other.UpdatedNodes && w.Observed == other.Observed &&
		(w.Revision == other.Revision || w.Kind == KindDeployment) && w.AllCurrent == other.AllCurrent && // that of a Deployment its ReplicaSets say
		w.Complete == other.Complete && w.Failed == other.Failed && w.CronJob == other.CronJob
}

// StartedAfter reports whether the workload is younger than another.
func (w *Workload) StartedAfter(other *Workload) bool {
	if !w.CreatedAt.Equal(other.CreatedAt) {
		return w.CreatedAt.After(other.CreatedAt)
	}
	return w.Name > other.Name
}

// String names the workload as messages do.
func (w *Workload) String() string { return fmt.Sprintf("%s %s", w.Kind, w.Name) }

// viewRefusal reads from the condition ReplicaFailure which quota refuses pods. The plugin of the API server that keeps quotas writes:
// pods "db-1" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3
func (w *Workload) viewRefusal(isFailure bool, status corev1.ConditionStatus, message string) {
	if _, quota, exceeded := strings.Cut(message, "exceeded quota: "); exceeded && isFailure && status == corev1.ConditionTrue {
		w.QuotaExceeded = quota
	}
}

// Pause reports whether a Deployment is paused, and which DeploymentCoordination paused it, if one did.
type Pause struct {
	Paused bool
	By     string
}

// pausedByAnnotation names the DeploymentCoordination that paused a Deployment. Its kind is not known here: a test compares the two.
const pausedByAnnotation = "apps.containerinfra.nl/paused-by"

func pauseOf(d *appsv1.Deployment) Pause {
	if !d.Spec.Paused {
		return Pause{}
	}
	return Pause{true, d.Annotations[pausedByAnnotation]}
}
