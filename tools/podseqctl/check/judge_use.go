package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

const (
	// mostListed is how many sequences that need somebody are named. One screen must do.
	mostListed = 5
	// answerTime is how long the controller may take to write the status of a changed sequence.
	answerTime = time.Minute
)

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

// endsState returns what ends what is special about a sequence.
func endsState(state string) string {
	switch {
	case strings.Contains(state, v1alpha1.ConditionSuspended):
		return "kubectl podseq resume NAME, when they may continue"
	case strings.Contains(state, v1alpha1.ConditionDryRun):
		return "set spec.dryRun to false to enforce the order"
	}
	return "kubectl podseq get NAME says why and until when; kubectl podseq unskip NAME GROUP ends it"
}

// in says where something was looked for.
func in(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
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

// editedAt returns when somebody last wrote more of the sequence than its status.
func editedAt(s *snapshot.Sequence) time.Time {
	at := s.Object.GetCreationTimestamp().Time
	for _, entry := range s.Object.GetManagedFields() {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(at) {
			at = entry.Time.Time
		}
	}
	return at
}

// whySequence returns the command that explains a sequence.
func whySequence(s *snapshot.Sequence) string {
	if s.IsCluster() {
		return "kubectl podseq why " + s.Argument()
	}
	return fmt.Sprintf("kubectl podseq why podsequence/%s -n %s", s.Key().Name, s.Key().Namespace)
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
