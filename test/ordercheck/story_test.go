package ordercheck

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// story writes a history as a cluster would: each step takes the next resource version, and a hundredth of a second.
type story struct {
	now       time.Time
	next      revision
	started   revision
	pods      map[string]*corev1.Pod
	namespace string // where what a step creates lives
	sequences map[string]*v1alpha1.PodSequence
	across    map[string]*v1alpha1.ClusterPodSequence
	nodes     map[string]metav1.Time // when they were created
	events    []event
	stops     []Stop
	lags      []Lag
	stopped   time.Time // since when the scheduler is; zero when it is not
}

type (
	step        func(*story)
	podEdit     func(*corev1.Pod)
	sequenceFix func(*v1alpha1.PodSequence)
)

var storyBegin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const testNamespace = "shop"

func tell(steps ...step) History {
	s := &story{
		now:       storyBegin,
		pods:      map[string]*corev1.Pod{},
		namespace: testNamespace,
		sequences: map[string]*v1alpha1.PodSequence{},
		across:    map[string]*v1alpha1.ClusterPodSequence{},
		nodes:     map[string]metav1.Time{},
	}
	for _, step := range steps {
		step(s)
	}
	return History{start: s.started, end: s.next, events: s.events, stops: s.stops, lags: s.lags}
}

func (s *story) tick() event {
	s.next++
	s.now = s.now.Add(10 * time.Millisecond)
	return event{revision: s.next, arrived: s.now, earliest: s.now.Truncate(time.Second)}
}

// whole is the time as the API writes it.
func (s *story) whole() metav1.Time { return metav1.NewTime(s.now.Truncate(time.Second)) }

func (s *story) changed(f facts, deleted bool) {
	e := f.as(s.tick())
	e.deleted = deleted
	s.events = append(s.events, e)
}

func (s *story) podChanged(pod *corev1.Pod, deleted bool) {
	s.changed(factsOfPod(pod.DeepCopy()), deleted)
}

func (s *story) sequenceChanged(sequence *v1alpha1.PodSequence, deleted bool) {
	s.changed(factsOfSequence(sequence.DeepCopy()), deleted)
}

// watchBegins makes all that happened so far the baseline.
func watchBegins(s *story) { s.started = s.next }

// passing lets time go by.
func passing(d time.Duration) step {
	return func(s *story) { s.now = s.now.Add(d) }
}

// create makes a pod of our scheduler.
func create(name string, edits ...podEdit) step {
	return func(s *story) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: s.namespace,
				Name:      name,
				UID:       types.UID(fmt.Sprintf("%s-%d", name, s.next)),

				CreationTimestamp: s.whole(),
			},
			Spec: corev1.PodSpec{SchedulerName: DefaultSchedulerName},
		}
		for _, edit := range edits {
			edit(pod)
		}
		s.pods[name] = pod
		s.podChanged(pod, false)
	}
}

func edit(name string, edits ...podEdit) step {
	return func(s *story) {
		for _, edit := range edits {
			edit(s.pods[name])
		}
		s.podChanged(s.pods[name], false)
	}
}

func remove(name string) step {
	return func(s *story) {
		s.podChanged(s.pods[name], true)
		delete(s.pods, name)
	}
}

func bind(name string) step { return bindTo(name, "node-1") }

// bindTo binds a pod as the API server does, which notes the time.
func bindTo(name, node string) step {
	return func(s *story) {
		edit(name, func(p *corev1.Pod) {
			p.Spec.NodeName = node
			setCondition(p, corev1.PodScheduled, corev1.ConditionTrue, s.whole())
		})(s)
	}
}

// ready makes a pod ready, as a kubelet does, which notes the time.
func ready(name string) step {
	return func(s *story) {
		edit(name, func(p *corev1.Pod) { setCondition(p, corev1.PodReady, corev1.ConditionTrue, s.whole()) })(s)
	}
}

func unready(name string) step { return edit(name, isNow(corev1.ConditionFalse)) }

func terminate(name string) step {
	return edit(name, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: storyBegin} })
}

func release(name string) step {
	return edit(name, func(p *corev1.Pod) { p.Spec.SchedulingGates = nil })
}

func onNode(p *corev1.Pod) { p.Spec.NodeName = "node-1" }

func isNow(status corev1.ConditionStatus) podEdit {
	return func(p *corev1.Pod) { setCondition(p, corev1.PodReady, status, metav1.Time{}) }
}

func setCondition(p *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus, at metav1.Time) {
	p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	p.Status.Conditions = append(p.Status.Conditions,
		corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: at})
}

func succeeded(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }

// endedByKubelet is what a pod looks like that was evicted and whose programs exited 0.
func endedByKubelet(p *corev1.Pod) {
	succeeded(p)
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet,
	})
}

func failed(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

// static makes it the mirror of a pod that kubelet runs from a file.
func static(p *corev1.Pod) {
	onNode(p)
	p.Spec.SchedulingGates = nil
	p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
	p.OwnerReferences = []metav1.OwnerReference{controlledBy("v1", "Node", "uid-of-node-1")}
}

// ofHook makes a pod a hook of Helm.
func ofHook(hooks string) podEdit {
	return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, "helm.sh/hook", hooks) }
}

func inNamespace(namespace string) podEdit { return func(p *corev1.Pod) { p.Namespace = namespace } }

func scheduledBy(name string) podEdit { return func(p *corev1.Pod) { p.Spec.SchedulerName = name } }

func labelled(keysAndValues ...string) podEdit {
	return func(p *corev1.Pod) {
		p.Labels = map[string]string{}
		for i := 0; i < len(keysAndValues); i += 2 {
			p.Labels[keysAndValues[i]] = keysAndValues[i+1]
		}
	}
}

func gatedBy(gate string) podEdit {
	return func(p *corev1.Pod) {
		p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
	}
}

var gated = gatedBy(v1alpha1.DefaultSchedulingGateName)

// order makes a PodSequence, of the given groups.
func order(name string, fixes ...sequenceFix) step {
	return func(s *story) {
		sequence := &v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{
			Namespace:  s.namespace,
			Name:       name,
			UID:        types.UID(fmt.Sprintf("%s-%d", name, s.next)),
			Generation: 1,

			CreationTimestamp: s.whole(),
		}}
		for _, fix := range fixes {
			fix(sequence)
		}
		s.sequences[name] = sequence
		s.sequenceChanged(sequence, false)
	}
}

// reorder gives a PodSequence another spec.
func reorder(name string, fixes ...sequenceFix) step {
	return func(s *story) {
		sequence := s.sequences[name]
		sequence.Spec = v1alpha1.PodSequenceSpec{}
		sequence.Generation++
		for _, fix := range fixes {
			fix(sequence)
		}
		s.sequenceChanged(sequence, false)
	}
}

// report changes the status of a PodSequence.
func report(name string, fixes ...sequenceFix) step {
	return func(s *story) {
		for _, fix := range fixes {
			fix(s.sequences[name])
		}
		s.sequenceChanged(s.sequences[name], false)
	}
}

func disband(name string) step {
	return func(s *story) {
		s.sequenceChanged(s.sequences[name], true)
		delete(s.sequences, name)
	}
}

func named(pods ...string) sequenceFix { return group(v1alpha1.PodGroup{Pods: pods}) }

func group(g v1alpha1.PodGroup) sequenceFix {
	return func(s *v1alpha1.PodSequence) { s.Spec.PodGroups = append(s.Spec.PodGroups, g) }
}

func selecting(selector v1alpha1.LabelSelector) sequenceFix {
	return group(v1alpha1.PodGroup{PodSelector: &selector})
}

// withLabel selects by a matchLabels of one.
func withLabel(key string, value v1alpha1.LabelValue) sequenceFix {
	return selecting(v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{key: value}})
}

// matching selects by a matchExpressions of one.
func matching(key string, op v1alpha1.LabelSelectorOperator, values ...v1alpha1.LabelValue) sequenceFix {
	return selecting(v1alpha1.LabelSelector{
		MatchExpressions: []v1alpha1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}},
	})
}

var everythingElse = selecting(v1alpha1.LabelSelector{})

// livingIn moves a sequence to another namespace and points it at the namespace of the tests.
func livingIn(namespace string) sequenceFix {
	return func(s *v1alpha1.PodSequence) { s.Namespace, s.Spec.Namespace = namespace, testNamespace }
}

// allowing makes a namespace allow sequences of the namespaces in a list.
func allowing(namespace, list string) step {
	return func(s *story) {
		s.changed(factsOfNamespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: namespace, Annotations: map[string]string{v1alpha1.AllowSequencesFromAnnotation: list},
		}}), false)
	}
}

// abolish deletes a namespace.
func abolish(namespace string) step {
	return func(s *story) {
		s.changed(factsOfNamespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}), true)
	}
}

func targeting(namespace string) sequenceFix {
	return func(s *v1alpha1.PodSequence) { s.Spec.Namespace = namespace }
}

func liftingGate(gate string) sequenceFix {
	return func(s *v1alpha1.PodSequence) { s.Spec.SchedulingGateName = gate }
}

// recordedPassed writes passes of the leading groups into the status.
func recordedPassed(groups int) sequenceFix {
	return func(s *v1alpha1.PodSequence) {
		recordedHashes(s)
		for i := range groups {
			s.Status.Groups[i].PassedAt = &metav1.Time{Time: storyBegin}
		}
	}
}

// withPasses writes the passes of the leading groups of the sequence with this UID, and nothing of it into what the status says of groups.
func withPasses(uid func(s *v1alpha1.PodSequence) types.UID, groups int) sequenceFix {
	return func(s *v1alpha1.PodSequence) {
		recordedHashes(s)
		s.Status.Passes = map[string]v1alpha1.GroupPass{}
		for i := range groups {
			s.Status.Passes[hashOf(i)] = v1alpha1.GroupPass{UID: uid(s), At: metav1.Time{Time: storyBegin}}
		}
	}
}

func itsOwn(s *v1alpha1.PodSequence) types.UID { return s.UID }

func another(*v1alpha1.PodSequence) types.UID { return "another" }
