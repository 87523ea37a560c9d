package writes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/prove/site"
)

// ourKinds are those whose whole status belongs to the state.
var ourKinds = []schema.GroupVersionKind{
	v1alpha1.GroupVersion.WithKind("PodSequence"), v1alpha1.GroupVersion.WithKind("ClusterPodSequence"),
	batchapi.GroupVersion.WithKind("SequentialJob"), appsapi.GroupVersion.WithKind("DeploymentCoordination"),
}

// scene is where a story is played.
type scene struct {
	ctx       context.Context
	api       client.Client
	namespace string
}

const (
	// lookEvery is how often the state is looked at.
	lookEvery = 300 * time.Millisecond
	// phaseTimeout is how long a phase may take.
	phaseTimeout = 5 * time.Minute
	// settled is how long a state must not change to be the end of a story.
	settled = 4 * time.Second
	// endTimeout is how long it may take after the last phase until the state is as it must be.
	endTimeout = time.Minute
)

// playOn plays all phases of a story. What must be down meanwhile is up again afterwards.
func (s *scene) playOn(on *site.Site, story string) error {
	instance := down[story]
	if instance == "" {
		return s.play(story)
	}
	if err := on.KillProcess(s.ctx, instance); err != nil {
		return err
	}
	return errors.Join(s.play(story), on.StartProcess(s.ctx, instance))
}

// play plays all phases of a story.
func (s *scene) play(story string) error {
	for i, p := range stories[story] {
		if err := s.persist(p.do); err != nil {
			return fmt.Errorf("play phase %d: %w", i, err)
		}
		var state []string
		err := s.look(phaseTimeout, func(now []string) bool {
			state = now
			return p.over(now)
		})
		if err != nil {
			return fmt.Errorf("wait for the end of phase %d: %w; it is %q", i, err, state)
		}
	}
	return nil
}

// look looks at the state until it is as it must be.
func (s *scene) look(patience time.Duration, done func([]string) bool) error {
	return wait.PollUntilContextTimeout(s.ctx, lookEvery, patience, true, func(context.Context) (bool, error) {
		state, err := s.state()
		return err == nil && done(state), nil
	})
}

// end returns the state when it has not changed for a while, or is the one that is wanted.
func (s *scene) end(want []string) (state []string) {
	var since time.Time
	_ = s.look(endTimeout, func(now []string) bool { // what it is then is the end
		if !slices.Equal(now, state) {
			state, since = now, time.Now()
		}
		return slices.Equal(now, want) || want == nil && time.Since(since) > settled
	})
	return state
}

// persist does something until it works.
func (s *scene) persist(do func(*scene) error) error {
	var last error
	err := wait.PollUntilContextTimeout(s.ctx, lookEvery, phaseTimeout, true, func(context.Context) (bool, error) {
		last = do(s)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}

// leave begins to remove all of the story. What is left does not concern the next one.
func (s *scene) leave() error {
	none := client.GracePeriodSeconds(0)
	return errors.Join(
		client.IgnoreNotFound(s.api.Delete(s.ctx, &v1alpha1.ClusterPodSequence{ObjectMeta: metav1.ObjectMeta{Name: s.clusterSequence()}})),
		s.api.Delete(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}),
		s.api.DeleteAllOf(s.ctx, &corev1.Pod{}, client.InNamespace(s.namespace), none),
	)
}

// create creates objects that are not there yet.
func (s *scene) create(objects ...client.Object) error {
	for _, object := range objects {
		if err := client.IgnoreAlreadyExists(s.api.Create(s.ctx, object)); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

// createPods creates pods that are ready as soon as they are placed.
func (s *scene) createPods(scheduler string, edit func(i int, pod *corev1.Pod)) error {
	for i := range many {
		pod := &corev1.Pod{ObjectMeta: s.meta(podName(i)), Spec: podSpec(scheduler)}
		pod.Annotations = map[string]string{cluster.ReadyAfter: "0s"}
		edit(i, pod)
		if err := s.create(pod); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) clusterSequence() string { return s.namespace + "-across" }

// patchAll patches all objects of the kind of a list.
func (s *scene) patchAll(list client.ObjectList, items func() []client.Object, patch string) error {
	if err := s.api.List(s.ctx, list, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	for _, object := range items() {
		if err := s.api.Patch(s.ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) patchSequentialJobs(patch string) error {
	var list batchapi.SequentialJobList
	return s.patchAll(&list, func() (objects []client.Object) {
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
		return objects
	}, patch)
}

func (s *scene) coordination(app string) *appsapi.DeploymentCoordination {
	c := &appsapi.DeploymentCoordination{ObjectMeta: s.meta(app)}
	c.Spec.LabelSelector = &appsapi.LabelSelector{MatchLabels: map[string]appsapi.LabelValue{"app": appsapi.LabelValue(app)}}
	return c
}

// state returns all there is in the namespace, a line each, in order, without what no two runs have alike: times, names that
// were made up, and numbers of versions.
func (s *scene) state() ([]string, error) {
	var lines []string
	for _, list := range []func() ([]string, error){s.pods, s.jobs, s.deployments, s.ours} {
		more, err := list()
		if err != nil {
			return nil, err
		}
		lines = append(lines, more...)
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], s.namespace, "NAMESPACE")
	}
	slices.Sort(lines)
	return lines, nil
}

func (s *scene) pods() (lines []string, err error) {
	var list corev1.PodList
	if err := s.api.List(s.ctx, &list, client.InNamespace(s.namespace)); err != nil {
		return nil, err
	}
	for i := range list.Items {
		p := &list.Items[i]
		l := line{"Pod", ownedName(p)}
		l.add(p.DeletionTimestamp != nil, "terminating")
		l.add(p.Spec.NodeName != "", "bound")
		l.add(cluster.IsReady(p), "ready")
		for _, gate := range p.Spec.SchedulingGates {
			l.add(true, "gate=%s", gate.Name)
		}
		l.add(p.Labels["podgroup.jhwagner.github.io/ready"] == "true", "inGroup")
		l.add(true, "phase=%s", p.Status.Phase)
		lines = append(lines, strings.Join(l, " "))
	}
	return lines, nil
}

func (s *scene) jobs() (lines []string, err error) {
	var list batchv1.JobList
	if err := s.api.List(s.ctx, &list, client.InNamespace(s.namespace)); err != nil {
		return nil, err
	}
	for i := range list.Items {
		j := &list.Items[i]
		l := line{"Job", j.Name, ownedName(j)}
		l.add(j.DeletionTimestamp != nil, "terminating")
		l.add(j.Spec.Suspend != nil && *j.Spec.Suspend, "suspended")
		l.add(j.Status.Active > 0, "active")
		l.add(true, "succeeded=%d failed=%d", j.Status.Succeeded, j.Status.Failed)
		for _, c := range j.Status.Conditions {
			l.add(c.Status == corev1.ConditionTrue, "%s", c.Type)
		}
		lines = append(lines, strings.Join(l, " "))
	}
	return lines, nil
}

func (s *scene) deployments() (lines []string, err error) {
	var list appsv1.DeploymentList
	if err := s.api.List(s.ctx, &list, client.InNamespace(s.namespace)); err != nil {
		return nil, err
	}
	for i := range list.Items {
		d := &list.Items[i]
		l := line{"Deployment", d.Name}
		l.add(d.Spec.Paused, "paused")
		for _, key := range []string{appsapi.PausedByAnnotation, appsapi.PauseReasonAnnotation} {
			value, set := d.Annotations[key]
			l.add(set, "%s=%s", key, value)
		}
		want, status := *d.Spec.Replicas, d.Status
		l.add(status.ObservedGeneration == d.Generation && status.Replicas == want && status.UpdatedReplicas == want && status.ReadyReplicas == want, "complete")
		l.add(true, "image=%s", d.Spec.Template.Spec.Containers[0].Image)
		lines = append(lines, strings.Join(l, " "))
	}
	return lines, nil
}

// ours are the objects of our kinds with their status. What is not namespaced belongs here if its name says so.
func (s *scene) ours() (lines []string, err error) {
	for _, kind := range ourKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := s.api.List(s.ctx, list); err != nil {
			return nil, err
		}
		for i := range list.Items {
			o := &list.Items[i]
			if o.GetNamespace() != s.namespace && o.GetName() != s.clusterSequence() {
				continue
			}
			status, _, _ := unstructured.NestedMap(o.Object, "status")
			observed, _, _ := unstructured.NestedInt64(status, "observedGeneration")
			l := line{kind.Kind, o.GetName()}
			l.add(o.GetDeletionTimestamp() != nil, "terminating")
			l.add(len(o.GetFinalizers()) > 0, "finalizers=%s", o.GetFinalizers())
			l.add(observed == o.GetGeneration(), "observed")
			delete(status, "observedGeneration")
			content, err := json.Marshal(stable(status))
			if err != nil {
				return nil, fmt.Errorf("encode status of %s %s: %w", kind.Kind, o.GetName(), err)
			}
			lines = append(lines, strings.Join(append(l, string(content)), " "))
		}
	}
	return lines, nil
}
