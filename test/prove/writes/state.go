package writes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// ourKinds are those whose whole status belongs to the state.
var ourKinds = []schema.GroupVersionKind{
	v1alpha1.GroupVersion.WithKind("PodSequence"), v1alpha1.GroupVersion.WithKind("ClusterPodSequence"),
	batchapi.GroupVersion.WithKind("SequentialJob"), appsapi.GroupVersion.WithKind("DeploymentCoordination"),
}

// volatile are the fields of a status that no two runs have alike. So are times.
var volatile = []string{"uid", "observedUID", "discardedJob", "usedSeconds", "generation", "message", "hash", "templateHash"}

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

func ownedName(object metav1.Object) string {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return "of " + owner.Kind + " " + owner.Name
	}
	return object.GetName()
}

// line is a kind, a name, and what is true.
type line []string

func (l *line) add(is bool, format string, args ...any) {
	if is {
		*l = append(*l, fmt.Sprintf(format, args...))
	}
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

// stable is a value of a status without what no two runs have alike.
func stable(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, field := range v {
			if text, isText := field.(string); slices.Contains(volatile, key) || key == "observedGeneration" || isText && isTime(text) {
				continue
			}
			if passes, isMap := field.(map[string]any); key == "passes" && isMap {
				field = slices.Collect(maps.Values(passes)) // by hashes, which name the namespace
			}
			kept[key] = stable(field)
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i := range v {
			kept[i] = stable(v[i])
		}
		return kept
	}
	return value
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}
