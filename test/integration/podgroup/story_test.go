package podgroup

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
)

// What users write, spelt out: a test that took it from the controller would not notice a change.
const (
	nameLabel      = "podgroup.jhwagner.github.io/name"
	readyLabel     = "podgroup.jhwagner.github.io/ready"
	sizeAnnotation = "podgroup.jhwagner.github.io/size"
)

// later keeps a pod from running until the test says so.
const later = "example.com/later"

// story is one test: a namespace, and words to tell what happens in it.
type story struct {
	*cluster.Story
	witness *witness
}

func newStory(t *testing.T) *story {
	t.Helper()
	return newStoryIn(t, shared)
}

// newStoryIn begins a story on a cluster of its own.
func newStoryIn(t *testing.T, c *cluster.Cluster) *story {
	t.Helper()
	s := &story{Story: cluster.NewStory(t, c)}
	s.witness = s.watch()
	return s
}

// expect tells the witness how many pods a group has.
func (s *story) expect(group string, size int) { s.witness.expect(group, size) }

// template is of pods of a group that run as soon as they are placed.
func template(group string, edits ...func(*corev1.PodTemplateSpec)) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{nameLabel: group}, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers:                    []corev1.Container{{Name: "work", Image: "example.com/work"}},
		},
	}
	for _, edit := range edits {
		edit(&t)
	}
	return t
}

// held pods exist but do not run until let go.
func held(t *corev1.PodTemplateSpec) {
	t.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: later}}
}

func annotation(key, value string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { t.Annotations[key] = value }
}

func label(key, value string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { t.Labels[key] = value }
}

func size(text string) func(*corev1.PodTemplateSpec) { return annotation(sizeAnnotation, text) }

func (s *story) pod(name, group string, edits ...func(*corev1.PodTemplateSpec)) *corev1.Pod {
	t := template(group, edits...)
	pod := &corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
	pod.Namespace, pod.Name = s.Namespace, name
	return pod
}

func (s *story) get(name string) *corev1.Pod {
	s.Helper()
	return cluster.Get(s.Story, &corev1.Pod{}, name)
}

// group are the pods of a group by name, those that are terminating too.
func (s *story) group(name string, more ...client.ListOption) []corev1.Pod {
	s.Helper()
	var list corev1.PodList
	options := append([]client.ListOption{client.InNamespace(s.Namespace), client.MatchingLabels{nameLabel: name}}, more...)
	require.NoError(s, s.API.List(s.Ctx, &list, options...))
	return list.Items
}

// releasePods removes all gates of these pods.
func (s *story) releasePods(names ...string) {
	s.Helper()
	for _, name := range names {
		s.Patch(s.Pod(name), `{"spec":{"schedulingGates":null}}`)
	}
}

func (s *story) awaitPhase(phase corev1.PodPhase, names ...string) {
	s.Helper()
	for _, name := range names {
		s.Await(fmt.Sprintf("%s to be %s", name, phase), func() bool { return s.get(name).Status.Phase == phase })
	}
}

// awaitRunning waits until so many pods of a group run.
func (s *story) awaitRunning(group string, n int) {
	s.Helper()
	s.Await(fmt.Sprintf("%d pods of %s to run", n, group), func() bool {
		pods := s.group(group)
		running := slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
		return len(running) == n
	})
}

// awaitLabels waits until a group has that many pods and all are labelled.
func (s *story) awaitLabels(group string, n int) {
	s.Helper()
	s.Await(fmt.Sprintf("%d pods of %s to be labelled", n, group), func() bool {
		pods := s.group(group)
		return len(pods) == n && !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return !labelled(&p) })
	})
}

// expectNoLabels checks, once the controller has dealt with all that happened so far, that no pod of a group is labelled.
func (s *story) expectNoLabels(group string) {
	s.Helper()
	s.fence()
	for _, pod := range s.group(group) {
		assert.False(s, labelled(&pod), "%s is labelled", pod.Name)
	}
}

// fence returns when the controller has dealt with everything that happened before. Pods come to it in the order in which
// they change, so when a group that ran later is labelled, earlier ones have been looked at; the second time, by the workers
// that were busy with them the first time, they have been decided on; and the third time their labels have been written. The
// fence is in another namespace, where no quota keeps it out.
func (s *story) fence() {
	s.Helper()
	for range 3 {
		name := "fence-" + utilrand.String(8)
		pod := s.pod(name, name)
		pod.Namespace = metav1.NamespaceDefault
		s.Create(pod)
		s.Await("the fence to be labelled", func() bool {
			require.NoError(s, s.API.Get(s.Ctx, client.ObjectKeyFromObject(pod), pod))
			return labelled(pod)
		})
		require.NoError(s, s.API.Delete(s.Ctx, pod))
	}
}

// events are the notes of a reason in the namespace.
func (s *story) events(reason string) []string {
	s.Helper()
	var notes []string
	for _, e := range s.Events("") {
		if e.Reason == reason {
			notes = append(notes, e.Note)
		}
	}
	slices.Sort(notes)
	return notes
}

// awaitEvent waits for an event of a reason that says what is expected.
func (s *story) awaitEvent(reason, pattern string) {
	s.Helper()
	s.Await(fmt.Sprintf("an event %s like %q", reason, pattern), func() bool {
		return slices.ContainsFunc(s.events(reason), regexp.MustCompile(pattern).MatchString)
	})
}
