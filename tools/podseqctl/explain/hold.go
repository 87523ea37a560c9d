package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

// unbound explains a pod that has no node: first what holds it, then what its scheduler says.
func (e *Explainer) unbound(pod *corev1.Pod) (Reason, func() []Reason) {
	r := Reason{Subject: e.name("pod", pod)}
	if why, awaits := e.AwaitsSequence(pod); awaits && len(e.Unread) == 0 {
		r.State, r.Message = Stuck, why.MessageNow()
		return r, func() []Reason { return e.existing(pod.Namespace) }
	}
	var holding, tried []sequence.Place
	var ungoverned []string
	// The gate that it may have been given because it names a PodSequence is lifted even if its sequence has another one.
	lifted := map[string]bool{v1alpha1.DefaultSchedulingGateName: pod.Labels[v1alpha1.SequenceLabel] != "" && e.mayBeLifted(v1alpha1.DefaultSchedulingGateName)}
	for _, place := range e.Places(pod) {
		s := e.Snapshot.Sequence(place.Sequence)
		lifted[s.Gate()] = true
		switch {
		case place.Decision.Held && place.Governed:
			holding = append(holding, place)
		case place.Decision.Held:
			ungoverned = append(ungoverned, s.String())
		case s.PerNode() && place.Governed:
			tried = append(tried, place)
		}
	}
	if len(holding) > 0 {
		messages := make([]string, len(holding))
		for i, place := range holding {
			s := e.Snapshot.Sequence(place.Sequence)
			messages[i] = fmt.Sprintf("held in %s of %s", s.Where(place.Group), s)
		}
		r.State, r.Message = Held, strings.Join(messages, ", and ")
		return r, func() []Reason {
			var because []Reason
			for _, place := range holding {
				because = append(because, e.hold(pod, place)...)
			}
			return slices.Concat(because, e.foreignGates(pod, lifted), e.outdated(pod))
		}
	}
	if r.State, r.Message = e.notScheduled(pod, lifted); r.State == Stuck && len(e.closedNodes(pod, tried)) > 0 {
		r.State = Held
	}
	if len(ungoverned) > 0 {
		r.Message += fmt.Sprintf("; %s should hold it but cannot: its schedulerName is %s, and it carries no gate of the sequence",
			strings.Join(ungoverned, " and "), pod.Spec.SchedulerName)
	}
	return r, func() []Reason {
		return slices.Concat(e.closedNodes(pod, tried), e.foreignGates(pod, lifted), e.gangs(pod), e.outdated(pod))
	}
}

// closedNodes explains the nodes that a pod asks for and that are not open to it in sequences of scope Node.
func (e *Explainer) closedNodes(pod *corev1.Pod, places []sequence.Place) []Reason {
	if len(places) == 0 {
		return nil
	}
	required, unsuited := nodeaffinity.GetRequiredNodeAffinity(pod), map[string]bool{}
	for _, node := range e.Snapshot.Nodes {
		matches, err := required.Match(node)
		unsuited[node.Name] = err == nil && !matches
	}
	var reasons []Reason
	for _, place := range places {
		reasons = append(reasons, e.nodes(e.Snapshot.Sequence(place.Sequence), place.Group, func(name string) bool { return !unsuited[name] })...)
	}
	return reasons
}

// outdated says that a pod that is not ready is of an older revision that its StatefulSet does not replace.
func (e *Explainer) outdated(pod *corev1.Pod) []Reason {
	message := e.Outdated(pod)
	if message == "" {
		return nil
	}
	return []Reason{{Subject: e.name("pod", pod), State: Stuck, Message: message}}
}

// existing says which PodSequences a namespace has: a label may have another name by mistake.
func (e *Explainer) existing(namespace string) []Reason {
	var names []string
	for _, s := range e.Sequences {
		if key := s.Key(); key.Namespace == namespace {
			names = append(names, key.Name)
		}
	}
	if len(names) == 0 {
		return []Reason{{Subject: "namespace " + namespace, State: Stuck, Message: "it has no PodSequence"}}
	}
	return []Reason{{Subject: "namespace " + namespace, State: Stuck, Message: "its PodSequences are " + strings.Join(names, ", ")}}
}

// hold explains what a sequence that holds a pod waits for.
func (e *Explainer) hold(pod *corev1.Pod, place sequence.Place) []Reason {
	s := e.Snapshot.Sequence(place.Sequence)
	var because []Reason
	if s.IsSuspended() {
		because = append(because, e.suspended(s))
	}
	if s.PerNode() {
		r := Reason{Subject: s.String(), State: Held, Message: place.Decision.MessageNow()}
		r.Because = e.nodes(s, place.Group, func(node string) bool { return node == place.Decision.Node })
		return append(because, r)
	}
	for _, i := range e.Blocking(s, place.Group) {
		because = append(because, e.group(s, i))
	}
	if len(because) == 0 {
		because = append(because, Reason{Subject: s.String(), State: Waiting, Message: place.Decision.MessageNow()})
	}
	return because
}

// notScheduled says what a pod waits for that no known sequence holds.
func (e *Explainer) notScheduled(pod *corev1.Pod, lifted map[string]bool) (State, string) {
	condition := podCondition(pod, corev1.PodScheduled)
	gates := 0
	for _, gate := range pod.Spec.SchedulingGates {
		if lifted[gate.Name] {
			gates++
		}
	}
	switch {
	case gates > 0 && gates == len(pod.Spec.SchedulingGates):
		return Waiting, "its sequences release it, and its gate will be lifted in a moment; if not, is podsequence-controller running?"
	case len(pod.Spec.SchedulingGates) > 0:
		if report.TellsWait(pod) {
			return Held, e.asItsConditionSays(condition, pod)
		}
		return Stuck, "its scheduling gates keep it from being scheduled"
	case report.TellsWait(pod) && e.seesEverything(pod):
		return Waiting, "its sequences have released it, and its scheduler will place it in a moment"
	case report.TellsWait(pod):
		return Held, e.asItsConditionSays(condition, pod)
	case condition == nil && e.Now.Sub(pod.CreationTimestamp.Time) < schedulersAnswerWithin:
		return Waiting, fmt.Sprintf("not scheduled yet, created %s ago", e.ago(pod.CreationTimestamp.Time))
	case condition == nil:
		return Waiting, fmt.Sprintf("not scheduled yet, and its scheduler does not say why: is %s running?", pod.Spec.SchedulerName)
	}
	return Stuck, fmt.Sprintf("not scheduled: %s: %s", condition.Reason, condition.Message)
}

// asItsConditionSays quotes what the program that holds the pod wrote.
func (e *Explainer) asItsConditionSays(condition *corev1.PodCondition, pod *corev1.Pod) string {
	if e.seesEverything(pod) {
		return condition.Message + " (as its condition PodScheduled says)"
	}
	return condition.Message + " (as its condition PodScheduled says; you may not read more)"
}

// schedulersAnswerWithin is how long a scheduler may take to say something of a new pod before somebody should look after it.
const schedulersAnswerWithin = 10 * time.Second

// seesEverything reports whether all sequences that may hold the pod are known.
func (e *Explainer) seesEverything(pod *corev1.Pod) bool {
	if len(e.Unread) > 0 {
		return false
	}
	return !slices.ContainsFunc(e.Sequences, func(s *snapshot.Sequence) bool {
		_, judged := e.Judged(s)
		return !judged
	})
}

// foreignGates explains gates that no sequence lifts.
func (e *Explainer) foreignGates(pod *corev1.Pod, lifted map[string]bool) []Reason {
	var reasons []Reason
	for _, gate := range pod.Spec.SchedulingGates {
		if lifted[gate.Name] {
			continue
		}
		message := "whoever set this gate must remove it: PodSequences do not"
		if e.mayBeLifted(gate.Name) {
			message = "no sequence that you may read selects this pod and lifts this gate: correct the labels of the pod or the selector of the sequence, or remove the gate"
		}
		reasons = append(reasons, Reason{Subject: "gate " + gate.Name, State: Stuck, Message: message})
	}
	return reasons
}

// mayBeLifted reports whether the administrator lets sequences lift a gate.
func (e *Explainer) mayBeLifted(gate string) bool {
	return slices.ContainsFunc(e.Config.GatePrefixes, func(prefix string) bool { return strings.HasPrefix(gate, prefix) })
}

// gangs explains PodGroups that are scheduled as a whole. Below them are the members that something else holds.
func (e *Explainer) gangs(pod *corev1.Pod) []Reason {
	var reasons []Reason
	for _, reference := range podgroups.Of(pod) {
		key := reference.String()
		minimum, known := e.PodGroupMinimum(reference)
		if !known || len(e.path) > 0 && e.path[len(e.path)-1] == key {
			continue
		}
		if slices.Contains(e.path, key) {
			reasons = append(reasons, Reason{
				Subject: "PodGroup " + e.short(reference.Namespace, reference.Name), State: Stuck,
				Message: Deadlock + ", and sequences make pods of this PodGroup wait for each other; " +
					"put all its pods into one group of one sequence",
			})
			continue
		}
		members, bound := 0, 0
		var unbound []*corev1.Pod
		for _, other := range e.Pods {
			if other.Namespace != pod.Namespace || !slices.Contains(podgroups.Of(other), reference) {
				continue
			}
			members++
			switch {
			case other.Spec.NodeName != "":
				bound++
			case other != pod:
				unbound = append(unbound, other)
			}
		}
		r := Reason{
			Subject: "PodGroup " + e.short(reference.Namespace, reference.Name), State: Waiting,
			Message: fmt.Sprintf("it is scheduled as a whole: it needs %s, %d exist, %d have a node", text.Count(minimum, "pod"), members, bound),
		}
		if members < minimum {
			r.State = Stuck
		}
		e.path = append(e.path, key)
		r.Because = slices.DeleteFunc(e.pods(unbound, v1alpha1.PodGroup{}), func(member Reason) bool { return member.State != Held })
		e.path = e.path[:len(e.path)-1]
		if r.State == Waiting && len(r.Because) > 0 {
			r.State = Held
		}
		reasons = append(reasons, r)
	}
	return reasons
}
