// Package check examines an installation of PodSequence: what is installed and running, who decides, what waits, and what the user may
// do about it. It needs no more permissions than the user has: what may not be read it reports as unknown.
package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	appsapi "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
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

// expectedPolicies returns the policies of the shipped manifests that this installation should have: by its mode, the features that it
// has, and what its API server serves.
func (f *facts) expectedPolicies() ([]policy, error) {
	directories := []string{"parts/admission", "parts/admission/controller"}
	if !f.isLite() {
		directories = append(directories, "parts/admission/scheduler")
	}
	if f.mutating {
		if f.kinds["deploymentcoordinations"].served {
			directories = append(directories, "parts/policies/deploymentcoordination")
		}
		if f.isLite() {
			directories = append(directories, "parts/policies/gating")
		}
		if !f.isLite() && !f.isDefault() {
			directories = append(directories, "parts/policies/routing", "parts/policies/opt-in")
		}
	}
	var expected []policy
	for _, directory := range directories {
		found, err := policiesIn(directory)
		if err != nil {
			return nil, err
		}
		expected = append(expected, found...)
	}
	return expected, nil
}

// judgeKinds reports which kinds are installed. The features of the others may be turned off.
func (f *facts) judgeKinds() []Line {
	const check = "kinds"
	if f.kindsErr != nil {
		return []Line{but(check, Unknown, "try again; if it stays, look at the API server", "%v", f.kindsErr)}
	}
	var served, missing []string
	for _, each := range ourKinds {
		found := f.kinds[each.plural]
		switch {
		case found.trouble != "":
			return []Line{but(check, Wrong, fmt.Sprintf("kubectl get crd %s.%s -o yaml says more; then install PodSequence again", each.plural, each.Group),
				"the definition of %s %s", each.name, found.trouble)}
		case found.served:
			served = append(served, each.name+" "+each.Version)
		default:
			missing = append(missing, each.name)
		}
	}
	switch {
	case f.isWithoutSequences():
		return []Line{but(check, Note, "install PodSequence again with all its features if pods should start in order",
			"%s; without %s, as the flag --controllers of the controller says: no pod is held", cmp.Or(strings.Join(served, ", "), "none"),
			strings.Join(missing, ", "))}
	case !f.kinds[ourKinds[0].plural].served:
		return []Line{but(check, Wrong, "install PodSequence: kubectl apply --server-side -k manifests/default, or the Helm charts",
			"%s is not installed in this cluster: nothing is held", ourKinds[0].name)}
	case !f.kinds[ourKinds[1].plural].served:
		return []Line{but(check, Wrong, "install PodSequence again: this kind belongs to it", "%s is not installed", ourKinds[1].name)}
	case len(missing) > 0:
		return []Line{ok(check, "%s; without %s", strings.Join(served, ", "), strings.Join(missing, ", "))}
	}
	return []Line{ok(check, "%s", strings.Join(served, ", "))}
}

// judgePrograms reports what runs.
func (f *facts) judgePrograms() []Line {
	if f.deploymentsErr != nil {
		return []Line{unread("programs", "Deployments in namespace "+f.deploymentsIn,
			fmt.Sprintf("for the role view in namespace %s, or ask a cluster administrator to run this", f.deploymentsIn), f.deploymentsErr)}
	}
	if len(f.deployments) == 0 && f.deploymentsIn != "" {
		return []Line{but("programs", Unknown, "if PodSequence runs in another namespace, give it: --installation-namespace NAME",
			"no Deployment in namespace %s, and you may not read those of other namespaces", f.deploymentsIn)}
	}
	var lines []Line
	switch {
	case f.deployments[scheduler] != nil:
		lines = append(lines, f.judgeProgram(scheduler))
	case f.isWithoutSequences():
		lines = append(lines, ok(scheduler, "none: without PodSequences it has no purpose"))
	case f.isLite():
		lines = append(lines, ok(scheduler, "none: lite mode, in which the controller lifts the gates of other schedulers' pods"))
	case f.isDefault():
		lines = append(lines, ok(scheduler, "no Deployment: it runs in place of kube-scheduler"))
	default:
		lines = append(lines, f.judgeProgram(scheduler))
	}
	return append(lines, f.judgeProgram(controller))
}

// judgeProgram reports what runs of one program.
func (f *facts) judgeProgram(program string) Line {
	deployment, lease := f.deployments[program], f.leases[program]
	leads := lease != nil && lease.err == nil && lease.holder() != "" && !lease.isStale(f.Now)
	if deployment == nil {
		if leads {
			return ok(program, "no Deployment: it runs outside of the cluster")
		}
		return but(program, Wrong, "install PodSequence again: make deploy, or helm upgrade",
			"no Deployment of podsequence-%s in any namespace", program)
	}
	name := deployment.Namespace + "/" + deployment.Name
	wanted, ready := replicasOf(deployment), deployment.Status.ReadyReplicas
	look := fmt.Sprintf("kubectl -n %s", deployment.Namespace)
	says := fmt.Sprintf("%d of %d replicas ready in %s, image %s", ready, wanted, deployment.Namespace, imageOf(deployment))
	scale := fmt.Sprintf("%s scale deployment %s --replicas=2", look, deployment.Name)
	trouble, pod := troubleOfPods(f.pods[program])
	switch {
	case wanted == 0 && leads:
		return ok(program, "Deployment %s has no replicas: it runs outside of the cluster", name)
	case wanted == 0 && lease != nil && apierrors.IsNotFound(lease.err):
		return but(program, Note, "if it does not: "+scale,
			"Deployment %s has no replicas and nobody leads: it runs elsewhere without a lease, as in the sandbox, or not at all", name)
	case wanted == 0:
		return but(program, Wrong, scale, "Deployment %s is scaled to 0", name)
	case trouble != "" && ready == 0:
		return but(program, Wrong, fmt.Sprintf("%s describe pod %s; %s logs %s --previous", look, pod, look, pod), "%s; %s", says, trouble)
	case ready == 0:
		return but(program, Wrong, fmt.Sprintf("%s describe deployment,pods -l %s,app.kubernetes.io/component=%s", look, ourLabels, program), "%s", says)
	case trouble != "":
		return but(program, Wrong, fmt.Sprintf("%s logs %s --previous", look, pod), "%s; %s", says, trouble)
	case ready < wanted:
		return but(program, Note, fmt.Sprintf("one leads and the others wait; %s get pods says why they are not ready", look), "%s", says)
	}
	return ok(program, "%s", says)
}

// judgeLeases reports who decides. Without a leader nothing is released.
func (f *facts) judgeLeases() []Line {
	var lines []Line
	for _, program := range []string{scheduler, controller} {
		lease, deployment := f.leases[program], f.deployments[program]
		if lease == nil || apierrors.IsNotFound(lease.err) && deployment != nil && replicasOf(deployment) == 0 {
			continue // the line of the program says so
		}
		lines = append(lines, f.judgeLease(program, lease))
	}
	return lines
}

func (f *facts) judgeLease(program string, l *lease) Line {
	check := program + " lease"
	consequence := map[string]string{
		scheduler:  "no pod of podsequence-scheduler is scheduled or released",
		controller: "no status is written, and no gate of other schedulers' pods is lifted",
	}[program]
	coordinations := f.kinds["deploymentcoordinations"]
	paused := program == controller && coordinations != nil && coordinations.served
	if paused {
		consequence = "no status is written, no gate of other schedulers' pods is lifted, " +
			"and no Deployment that a DeploymentCoordination paused is unpaused"
	}
	where := fmt.Sprintf("kubectl -n %s get pods,leases", l.name.Namespace)
	if deployment := f.deployments[program]; deployment != nil {
		where += fmt.Sprintf("; kubectl -n %s logs deployment/%s", deployment.Namespace, deployment.Name)
	} else {
		where += "; then look at the log of the program"
	}
	if paused {
		where += "; for a Deployment that must not wait: kubectl annotate deployment NAME -n NAMESPACE " + appsapi.PausedByAnnotation +
			"- && kubectl rollout resume deployment/NAME -n NAMESPACE"
	}
	outside := f.deploymentsErr == nil && f.deployments[program] == nil
	switch {
	case apierrors.IsNotFound(l.err) && outside:
		return but(check, Note, "if the program runs outside of the cluster, look at its log", "no lease %s", l.name)
	case apierrors.IsNotFound(l.err):
		return but(check, Wrong, where, "no lease %s: nobody leads, so %s", l.name, consequence)
	case l.err != nil:
		return unread(check, "lease "+l.name.String(), "a cluster administrator to run this", l.err)
	case l.holder() == "":
		return but(check, Wrong, where, "nobody leads, so %s", consequence)
	case l.isStale(f.Now):
		return but(check, Wrong, where,
			"%s led, but renewed the lease %s ago: it is down or cannot reach the API server, so %s", leader(l), text.Age(renewedAt(l.Lease).Time, f.Now), consequence)
	case l.renewing:
		return ok(check, "%s leads and renews it (the clock of this machine differs)", leader(l))
	}
	return ok(check, "%s leads, renewed %s ago", leader(l), text.Age(renewedAt(l.Lease).Time, f.Now))
}

// judgeVersions compares the versions of what works together.
func (f *facts) judgeVersions() []Line {
	const check = "versions"
	versions := []string{"kubectl podseq " + f.Version}
	known := map[string]string{} // by program
	for _, program := range []string{scheduler, controller} {
		if deployment := f.deployments[program]; deployment != nil {
			known[program] = tagOf(imageOf(deployment))
			versions = append(versions, program+" "+cmp.Or(known[program], "of an image without a tag"))
		}
	}
	says := strings.Join(append(versions, "Kubernetes "+f.server), ", ")
	server, err := version.ParseGeneric(f.server)
	built, builtErr := version.ParseGeneric(f.Kubernetes)
	ours, theirs := known[controller], known[scheduler]
	switch {
	case err == nil && server.LessThan(oldestServer):
		return []Line{but(check, Wrong, "upgrade the cluster, see docs/versions.md", "%s: PodSequence needs Kubernetes %s or later", says, oldestServer)}
	case ours != "" && theirs != "" && ours != theirs:
		return []Line{but(check, Wrong, "install one version of both: they apply the same rules only then", "%s: the programs differ", says)}
	case isRelease(f.Version) && isRelease(ours) && trimmed(f.Version) != trimmed(ours):
		return []Line{but(check, Note, "install kubectl podseq "+ours+": it answers by the rules of its own version", "%s", says)}
	case err == nil && builtErr == nil && server.Minor() > built.Minor()+1:
		return []Line{but(check, Note, "upgrade PodSequence, see docs/versions.md",
			"%s: this version of PodSequence is built from Kubernetes %s", says, f.Kubernetes)}
	}
	return []Line{ok(check, "%s", says)}
}

// judgeSequences names the sequences that need somebody.
func (f *facts) judgeSequences() []Line {
	const check = "sequences"
	if f.sequencesErr != nil {
		return []Line{unread(check, "PodSequences in namespace "+f.Namespace, "for the role view in namespace "+f.Namespace, f.sequencesErr)}
	}
	var lines []Line
	wrong, special := 0, map[string][]string{}
	for _, each := range f.sequences {
		says, fix := f.troubleOfSequence(each)
		if state := each.State(); state != v1alpha1.StateActive && !strings.Contains(state, v1alpha1.ReasonNamespaceNotAllowed) {
			special[state] = append(special[state], each.String())
		}
		if says == "" {
			continue
		}
		if wrong++; wrong <= mostListed {
			lines = append(lines, but(check, Wrong, fix, "%s: %s", each, says))
		}
	}
	if wrong > mostListed {
		lines = append(lines, but(check, Wrong, "kubectl podseq get -A -o wide", "%d more are degraded", wrong-mostListed))
	}
	for _, state := range slices.Sorted(maps.Keys(special)) {
		lines = append(lines, but(check, Note, endsState(state), "%s: %s", state, text.Names(special[state], mostListed)))
	}
	if len(lines) == 0 {
		lines = append(lines, ok(check, "%d%s, none of them degraded", len(f.sequences), in(f.sequencesIn)))
	}
	return lines
}

// troubleOfSequence says why somebody must act, and what to do; empty if nobody must.
func (f *facts) troubleOfSequence(s *snapshot.Sequence) (says, fix string) {
	degraded := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionDegraded)
	isOld := f.Now.Sub(editedAt(s)) > answerTime
	switch {
	case degraded != nil && degraded.Status == "True":
		return fmt.Sprintf("Degraded, %s: %s", degraded.Reason, degraded.Message), whySequence(s)
	case s.Status.Phase == v1alpha1.PhaseFailed:
		return strings.TrimSuffix("Failed: "+s.Status.Message, ": "), whySequence(s)
	case isOld && !s.IsCluster() && slices.Contains(s.Object.GetFinalizers(), v1alpha1.FormerFinalizer):
		return "has the finalizer " + v1alpha1.FormerFinalizer + " of the Pod Sequence Controller, so it cannot be deleted: either " +
			"podsequence-controller could not remove it, or that program still runs", s.RemoveFormerFinalizer()
	case isOld && s.Status.ObservedGeneration < s.Object.GetGeneration():
		return "podsequence-controller has not answered its last change, " + text.Age(editedAt(s), f.Now) + " ago", whySequence(s)
	}
	return "", ""
}

// judgeWaiting counts the pods that are held. That pods wait is by design.
func (f *facts) judgeWaiting() []Line {
	const check = "held pods"
	if f.waitingErr != nil {
		return []Line{unread(check, "pods in namespace "+f.Namespace, "for the role view in namespace "+f.Namespace, f.waitingErr)}
	}
	if len(f.waiting) == 0 {
		return []Line{ok(check, "no pod waits%s", in(f.waitingIn))}
	}
	longest := slices.MinFunc(f.waiting, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name))
	})
	are := "pods wait"
	if len(f.waiting) == 1 {
		are = "pod waits"
	}
	return []Line{but(check, Note, fmt.Sprintf("kubectl podseq why %s -n %s", longest.Name, longest.Namespace),
		"%d %s%s, the oldest is %s, created %s ago", len(f.waiting), are, in(f.waitingIn), longest.Namespace+"/"+longest.Name,
		text.Age(longest.CreationTimestamp.Time, f.Now))}
}

// judgeRights reports what the user may do in the namespace.
func (f *facts) judgeRights() []Line {
	const check = "your permissions"
	var may, mayNot, roles []string
	for _, right := range f.rights {
		switch {
		case right.err != nil:
			return []Line{unread(check, "what you may do", "a cluster administrator: everybody may ask this", right.err)}
		case right.allowed:
			may = append(may, right.what)
		default:
			mayNot, roles = append(mayNot, right.what), append(roles, right.role)
		}
	}
	where := " in namespace " + f.Namespace
	if len(mayNot) == 0 {
		return []Line{ok(check, "%s%s", strings.Join(may, ", "), where)}
	}
	says := "you may not " + strings.Join(mayNot, ", ") + where
	if len(may) > 0 {
		says = strings.Join(may, ", ") + where + "; not: " + strings.Join(mayNot, ", ")
	}
	return []Line{but(check, Note, fmt.Sprintf("if you need that, ask for the role %s in namespace %s", roles[len(roles)-1], f.Namespace), "%s", says)}
}

// judgePolicies reports which policies are missing.
func (f *facts) judgePolicies() []Line {
	const check = "policies"
	if !f.kindsInstalled() {
		return nil
	}
	expected, err := f.expectedPolicies()
	if err != nil {
		return []Line{but(check, Unknown, "install kubectl podseq again", "%v", err)}
	}
	if err := cmp.Or(f.policies[validating].err, f.policies[mutating].err); err != nil {
		return []Line{unread(check, "admission policies", "a cluster administrator to run this", err)}
	}
	var missing, unbound []string
	for _, each := range expected {
		switch found := f.policies[each.plural]; {
		case !found.there[each.name]:
			missing = append(missing, each.name)
		case !found.bound[each.name]:
			unbound = append(unbound, each.name)
		}
	}
	const fix = "install PodSequence again (make deploy, or helm upgrade), unless you left them out on purpose"
	switch {
	case len(missing) > 0:
		return []Line{but(check, Wrong, fix, "%d of %d are missing: %s", len(missing), len(expected), text.Names(missing, mostListed))}
	case len(unbound) > 0:
		return []Line{but(check, Wrong, fix, "without a binding these do nothing: %s", text.Names(unbound, mostListed))}
	case !f.mutating && f.isDefault():
		return []Line{ok(check, "all %d that Kubernetes %s can have", len(expected), f.server)}
	case !f.mutating && f.isLite():
		return []Line{but(check, Note, "give the templates the scheduling gate as well, or upgrade to Kubernetes 1.36: see docs/including-pods.md",
			"all %d that Kubernetes %s can have; it has no MutatingAdmissionPolicies, so no pod is given the gate", len(expected), f.server)}
	case !f.mutating:
		return []Line{but(check, Note, "give the templates schedulerName as well, or upgrade to Kubernetes 1.36: see docs/including-pods.md",
			"all %d that Kubernetes %s can have; it has no MutatingAdmissionPolicies, so no pod is routed to podsequence-scheduler", len(expected), f.server)}
	}
	return []Line{ok(check, "all %d, with their bindings", len(expected))}
}

// schedulerNames returns the profiles of our scheduler that the controller knows.
func (f *facts) schedulerNames() []string {
	if deployment := f.deployments[controller]; deployment != nil {
		if names, given := programflags.Values(deployment, "--scheduler-names"); given {
			return names
		}
	}
	return f.SchedulerNames
}
