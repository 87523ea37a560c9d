// Package check examines an installation of PodSequence: what is installed and running, who decides, what waits, and what the user may
// do about it. It needs no more permissions than the user has: what may not be read it reports as unknown.
package check

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/programflags"
)

// Options say what to examine.
type Options struct {
	// Namespace is where the user works.
	Namespace string
	// Installation is the namespace where PodSequence runs if its Deployments cannot be found.
	Installation string
	// SchedulerNames are the profiles of podsequence-scheduler, as far as the controller's flags cannot be read.
	SchedulerNames []string
	// Version and Kubernetes are the versions of this program, and of Kubernetes that it was built from.
	Version, Kubernetes string
	// Now is the time on the user's machine.
	Now time.Time
	// Again is how long to wait before a lease that looks stale is read again: the clock of the user's machine may differ.
	Again time.Duration
}

// The programs, which are also the values of the label of their component.
const (
	scheduler  = "scheduler"
	controller = "controller"
)

// facts are what was read. Each error says why something could not be.
type facts struct {
	Options
	server    string
	kinds     map[string]*kind // by plural
	kindsErr  error
	mutating  bool // whether the API server serves MutatingAdmissionPolicies
	policies  map[string]*policies
	sequences []*snapshot.Sequence
	// sequencesIn is the namespace that sequences were read from, empty for all.
	sequencesIn  string
	sequencesErr error

	deployments    map[string]*appsv1.Deployment // by component
	deploymentsIn  string                        // the namespace that was looked at, empty for all
	deploymentsErr error
	pods           map[string][]corev1.Pod // of the programs, by component
	leases         map[string]*lease       // by component

	rights  []right
	waiting []corev1.Pod
	// waitingIn is the namespace that waiting pods were read from, empty for all.
	waitingIn  string
	waitingErr error
}

// kind is one of our kinds as the API server has it.
type kind struct {
	served bool
	// trouble says what is wrong with its definition, as far as that may be read.
	trouble string
}

// policies are the names of the policies of one kind, and of those that have a binding.
type policies struct {
	there, bound map[string]bool
	err          error
}

// lease is a lease by which replicas of a program agree who leads.
type lease struct {
	name types.NamespacedName
	*coordinationv1.Lease
	err error
	// renewing reports that the lease was renewed while it was looked at, whatever the clocks say.
	renewing bool
}

// right is something that the user may or may not do in the namespace.
type right struct {
	what    string
	role    string // that has it
	allowed bool
	err     error
}

// holder returns who has the lease, empty if nobody has.
func (l *lease) holder() string {
	if l.Lease == nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// age returns how long ago the lease was renewed.
func (l *lease) age(now time.Time) time.Duration {
	return now.Sub(renewedAt(l.Lease).Time)
}

// isStale reports whether the lease was not renewed for longer than it lasts, by the clock of the user's machine.
func (l *lease) isStale(now time.Time) bool {
	const patience = 5 * time.Second // until others notice that the lease is free, and renew it
	lasts := 15 * time.Second
	if l.Spec.LeaseDurationSeconds != nil {
		lasts = time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
	}
	return !l.renewing && l.age(now) > lasts+patience
}

func renewedAt(l *coordinationv1.Lease) metav1.MicroTime {
	if l.Spec.RenewTime == nil {
		return metav1.MicroTime{}
	}
	return *l.Spec.RenewTime
}

// isLite reports whether the controller runs without a scheduler of ours.
func (f *facts) isLite() bool { return len(f.schedulerNames()) == 0 }

// isDefault reports whether our scheduler is that of the cluster.
func (f *facts) isDefault() bool {
	for _, name := range f.schedulerNames() {
		if name == corev1.DefaultSchedulerName {
			return true
		}
	}
	return false
}

// isWithoutSequences reports whether somebody left PodSequences out on purpose.
func (f *facts) isWithoutSequences() bool {
	deployment := f.deployments[controller]
	if deployment == nil || f.kindsInstalled() {
		return false
	}
	controllers, _ := programflags.Values(deployment, "--controllers")
	isList := slices.ContainsFunc(controllers, func(name string) bool { return !strings.HasPrefix(name, "-") })
	return slices.Contains(controllers, "-podsequence") ||
		isList && !slices.Contains(controllers, "podsequence") && !slices.Contains(controllers, "*")
}

// installation returns the namespace where PodSequence runs.
func (f *facts) installation() string {
	for _, deployment := range f.deployments {
		return deployment.Namespace // both are in one
	}
	return f.Installation
}

// kindsInstalled reports whether there can be sequences.
func (f *facts) kindsInstalled() bool {
	return f.kindsErr == nil && f.kinds[ourKinds[0].plural].served
}

// isAbsent reports whether there is nothing of PodSequence in the cluster.
func (f *facts) isAbsent() bool {
	return f.kindsErr == nil && !f.kindsInstalled() && len(f.deployments) == 0
}
