package podgroup

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/internal/controlplane"
)

// What users write, spelt out: a test that took it from the controller would not notice a change.
const (
	nameLabel      = "podgroup.jhwagner.github.io/name"
	readyLabel     = "podgroup.jhwagner.github.io/ready"
	sizeAnnotation = "podgroup.jhwagner.github.io/size"
)

const (
	completeAfter = "sandbox.podsequence.example.com/complete-after"
	failAfter     = "sandbox.podsequence.example.com/fail-after"
	// later keeps a pod from running until the test says so.
	later = "example.com/later"
	// patience is how long something that must happen may take on a loaded machine.
	patience = 3 * time.Minute
)

// story is one test: a namespace, and words to tell what happens in it.
type story struct {
	*testing.T
	ctx       context.Context
	namespace string
	witness   *witness
}

func newStory(t *testing.T) *story {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "story-"}}
	require.NoError(t, api.Create(ctx, ns))
	t.Cleanup(func() { assert.NoError(t, api.Delete(context.Background(), ns)) })
	s := &story{T: t, ctx: ctx, namespace: ns.Name}
	s.witness = s.watch()
	// Pods are refused without it, and a busy controller-manager takes its time.
	s.await("the account that pods need", func() bool { return api.Get(ctx, s.key("default"), &corev1.ServiceAccount{}) == nil })
	return s
}

// ownCluster starts a cluster that takes the place of the shared one until the test ends.
func ownCluster(t *testing.T, o controlplane.Options) *controlplane.Cluster {
	t.Helper()
	own, err := controlplane.Start(t.Context(), o)
	require.NoError(t, err)
	shared := api
	t.Cleanup(func() {
		api = shared
		assert.NoError(t, own.Stop(context.Background()))
	})
	api, err = client.NewWithWatch(own.Config(), client.Options{Scheme: scheme})
	require.NoError(t, err)
	return own
}

// expect tells the witness how many pods a group has.
func (s *story) expect(group string, size int) { s.witness.expect(group, size) }

func (s *story) create(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		require.NoError(s, api.Create(s.ctx, object), "create %T %s", object, object.GetName())
	}
}

func (s *story) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

func (s *story) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.namespace, Name: name}
}

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
	pod.Namespace, pod.Name = s.namespace, name
	return pod
}

func (s *story) get(name string) *corev1.Pod {
	s.Helper()
	pod := &corev1.Pod{}
	require.NoError(s, api.Get(s.ctx, s.key(name), pod))
	return pod
}

// group are the pods of a group by name, those that are terminating too.
func (s *story) group(name string, more ...client.ListOption) []corev1.Pod {
	s.Helper()
	var list corev1.PodList
	options := append([]client.ListOption{client.InNamespace(s.namespace), client.MatchingLabels{nameLabel: name}}, more...)
	require.NoError(s, api.List(s.ctx, &list, options...))
	return list.Items
}

// letGo has held pods run.
func (s *story) letGo(names ...string) {
	s.Helper()
	for _, name := range names {
		s.patch(name, `{"spec":{"schedulingGates":null}}`)
	}
}

func (s *story) patch(name, patch string) {
	s.Helper()
	pod := &corev1.Pod{ObjectMeta: s.meta(name)}
	require.NoError(s, api.Patch(s.ctx, pod, client.RawPatch(types.MergePatchType, []byte(patch))))
}

func (s *story) await(what string, happened func() bool) {
	s.Helper()
	require.Eventually(s, happened, patience, 20*time.Millisecond, "waited for %s", what)
}

func (s *story) awaitPhase(phase corev1.PodPhase, names ...string) {
	s.Helper()
	for _, name := range names {
		s.await(fmt.Sprintf("%s to be %s", name, phase), func() bool { return s.get(name).Status.Phase == phase })
	}
}

// awaitRunning waits until so many pods of a group run.
func (s *story) awaitRunning(group string, n int) {
	s.Helper()
	s.await(fmt.Sprintf("%d pods of %s to run", n, group), func() bool {
		pods := s.group(group)
		running := slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
		return len(running) == n
	})
}

// awaitLabels waits until a group has that many pods and all are labelled.
func (s *story) awaitLabels(group string, n int) {
	s.Helper()
	s.await(fmt.Sprintf("%d pods of %s to be labelled", n, group), func() bool {
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
		s.create(pod)
		s.await("the fence to be labelled", func() bool {
			require.NoError(s, api.Get(s.ctx, client.ObjectKeyFromObject(pod), pod))
			return labelled(pod)
		})
		require.NoError(s, api.Delete(s.ctx, pod))
	}
}

// events are the notes of a reason in the namespace.
func (s *story) events(reason string) []string {
	s.Helper()
	var list eventsv1.EventList
	require.NoError(s, api.List(s.ctx, &list, client.InNamespace(s.namespace)))
	var notes []string
	for i := range list.Items {
		if list.Items[i].Reason == reason {
			notes = append(notes, list.Items[i].Note)
		}
	}
	slices.Sort(notes)
	return notes
}

// awaitEvent waits for an event of a reason that says what is expected.
func (s *story) awaitEvent(reason, pattern string) {
	s.Helper()
	s.await(fmt.Sprintf("an event %s like %q", reason, pattern), func() bool {
		return slices.ContainsFunc(s.events(reason), regexp.MustCompile(pattern).MatchString)
	})
}

// withoutController does something while the controller is down.
func (s *story) withoutController(do func()) {
	s.Helper()
	require.NoError(s, cluster.Kill(s.ctx, controlplane.PodSequenceController))
	do()
	require.NoError(s, cluster.StartComponent(s.ctx, controlplane.PodSequenceController))
}
