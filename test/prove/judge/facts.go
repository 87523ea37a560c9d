// Package judge says what a user may expect of a world once nothing fails any more: which pods must have a node, and what
// status must say. It knows nothing of the engine. It reads the objects of the API and goes by rules as a user would write
// them down, in the simplest words: where a rule would be long, it asks for nothing. So what it asks for is right, but it does
// not ask for everything. Whether a pod was bound too early is for the referee to say.
package judge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// facts are the objects of one world.
type facts struct {
	namespaces map[string]*corev1.Namespace
	nodes      []corev1.Node
	pods       []corev1.Pod
	workloads  []workload
	sequences  []sequence
	// services are the namespace/name of all Services that are not being deleted.
	services map[string]bool
	// versions are those of all objects, by kind and name.
	versions map[string]string
}

// workload is anything that makes pods.
type workload struct {
	meta     metav1.Object
	kind     string
	template *corev1.PodTemplateSpec
	// settled says that all its pods are as they should be, by its own status.
	settled  bool
	complete bool // of a Job
}

// sequence is a PodSequence or a ClusterPodSequence.
type sequence struct {
	kind   string
	meta   metav1.ObjectMeta
	spec   v1alpha1.ClusterPodSequenceSpec // each group of a PodSequence has its one namespace
	target string                          // namespace of the members of a PodSequence
	status v1alpha1.PodSequenceStatus
}

func (s *sequence) String() string {
	return strings.TrimSpace(s.kind + " " + strings.TrimPrefix(s.meta.Namespace+"/"+s.meta.Name, "/"))
}

// gather reads all objects of the world whose namespaces and nodes have the label.
func gather(ctx context.Context, api client.Client, label, value string) (*facts, error) {
	f := &facts{namespaces: map[string]*corev1.Namespace{}, versions: map[string]string{}}
	var namespaces corev1.NamespaceList
	var nodes corev1.NodeList
	for _, list := range []client.ObjectList{&namespaces, &nodes} {
		if err := api.List(ctx, list, client.MatchingLabels{label: value}); err != nil {
			return nil, fmt.Errorf("list %T: %w", list, err)
		}
	}
	f.nodes = nodes.Items
	for i := range namespaces.Items {
		f.namespaces[namespaces.Items[i].Name] = &namespaces.Items[i]
	}
	if err := f.gatherSequences(ctx, api, value+"-"); err != nil {
		return nil, err
	}
	if err := f.gatherPods(ctx, api); err != nil {
		return nil, err
	}
	if err := f.gatherServices(ctx, api); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *facts) gatherPods(ctx context.Context, api client.Client) error {
	var pods corev1.PodList
	var deployments appsv1.DeploymentList
	var replicaSets appsv1.ReplicaSetList
	var statefulSets appsv1.StatefulSetList
	var daemonSets appsv1.DaemonSetList
	var controllers corev1.ReplicationControllerList
	var jobs batchv1.JobList
	for _, list := range []client.ObjectList{&deployments, &replicaSets, &statefulSets, &daemonSets, &controllers, &jobs, &pods} {
		if err := api.List(ctx, list); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
	}
	for i := range deployments.Items {
		f.addDeployment(&deployments.Items[i])
	}
	for i := range replicaSets.Items {
		f.addReplicaSet(&replicaSets.Items[i])
	}
	for i := range statefulSets.Items {
		f.addStatefulSet(&statefulSets.Items[i])
	}
	for i := range daemonSets.Items {
		f.addDaemonSet(&daemonSets.Items[i])
	}
	for i := range controllers.Items {
		f.addReplicationController(&controllers.Items[i])
	}
	for i := range jobs.Items {
		f.addJob(&jobs.Items[i])
	}
	for _, pod := range pods.Items {
		if f.knows(&pod) {
			f.pods = append(f.pods, pod)
		}
	}
	return nil
}

// gatherServices reads the Services of the world: groups may wait for them.
func (f *facts) gatherServices(ctx context.Context, api client.Client) error {
	var services corev1.ServiceList
	if err := api.List(ctx, &services); err != nil {
		return fmt.Errorf("list %T: %w", &services, err)
	}
	f.services = map[string]bool{}
	for i := range services.Items {
		if s := &services.Items[i]; f.knows(s) && s.DeletionTimestamp == nil {
			f.services[s.Namespace+"/"+s.Name] = true
		}
	}
	return nil
}

// gatherSequences reads the PodSequences of the world, and the ClusterPodSequences whose names begin with the prefix.
func (f *facts) gatherSequences(ctx context.Context, api client.Client, prefix string) error {
	var sequences v1alpha1.PodSequenceList
	var clusterSequences v1alpha1.ClusterPodSequenceList
	for _, list := range []client.ObjectList{&sequences, &clusterSequences} {
		if err := api.List(ctx, list); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
	}
	for _, ps := range sequences.Items {
		if !f.knows(&ps) {
			continue
		}
		s := sequence{kind: "PodSequence", meta: ps.ObjectMeta, status: ps.Status, target: ps.Spec.Namespace}
		if s.target == "" {
			s.target = ps.Namespace
		}
		s.spec = v1alpha1.ClusterPodSequenceSpec{
			Scope: ps.Spec.Scope, EnforcementMode: ps.Spec.EnforcementMode, SchedulingGateName: ps.Spec.SchedulingGateName,
			Suspend: ps.Spec.Suspend, DryRun: ps.Spec.DryRun,
		}
		for _, group := range ps.Spec.PodGroups {
			s.spec.PodGroups = append(s.spec.PodGroups, v1alpha1.ClusterPodGroup{PodGroup: group, Namespaces: []string{s.target}})
		}
		f.sequences = append(f.sequences, s)
	}
	for _, cps := range clusterSequences.Items {
		if strings.HasPrefix(cps.Name, prefix) {
			f.note(&cps)
			f.sequences = append(f.sequences, sequence{kind: "ClusterPodSequence", meta: cps.ObjectMeta, spec: cps.Spec, status: cps.Status})
		}
	}
	return nil
}

// knows reports whether an object is in a namespace of the world, and notes its version if it is.
func (f *facts) knows(object metav1.Object) bool {
	if f.namespaces[object.GetNamespace()] == nil {
		return false
	}
	f.note(object)
	return true
}

func (f *facts) note(object metav1.Object) {
	kind := fmt.Sprintf("%T", object)
	kind = kind[strings.LastIndex(kind, ".")+1:]
	f.versions[kind+" "+strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")] = object.GetResourceVersion()
}

// add takes a workload of the world. One that is being deleted is settled only when it is gone.
func (f *facts) add(kind string, object metav1.Object, template *corev1.PodTemplateSpec, settled, complete bool) {
	if !f.knows(object) {
		return
	}
	if object.GetDeletionTimestamp() != nil {
		settled = false // it satisfies nobody
	}
	f.workloads = append(f.workloads, workload{meta: object, kind: kind, template: template, settled: settled, complete: complete})
}

func (f *facts) addDeployment(d *appsv1.Deployment) {
	want, status := replicas(d.Spec.Replicas), d.Status
	settled := status.ObservedGeneration == d.Generation && status.Replicas == want && status.UpdatedReplicas == want && status.ReadyReplicas == want
	f.add("Deployment", d, &d.Spec.Template, settled, false)
}

func (f *facts) addReplicaSet(r *appsv1.ReplicaSet) {
	want, status := replicas(r.Spec.Replicas), r.Status
	settled := status.ObservedGeneration == r.Generation && status.Replicas == want && status.ReadyReplicas == want
	f.add("ReplicaSet", r, &r.Spec.Template, settled, false)
}

func (f *facts) addReplicationController(r *corev1.ReplicationController) {
	want, status := replicas(r.Spec.Replicas), r.Status
	settled := status.ObservedGeneration == r.Generation && status.Replicas == want && status.ReadyReplicas == want
	f.add("ReplicationController", r, r.Spec.Template, settled, false)
}

func (f *facts) addStatefulSet(s *appsv1.StatefulSet) {
	want, status := replicas(s.Spec.Replicas), s.Status
	settled := status.ObservedGeneration == s.Generation && status.Replicas == want && status.ReadyReplicas == want &&
		status.CurrentRevision == status.UpdateRevision
	f.add("StatefulSet", s, &s.Spec.Template, settled, false)
}

// addDaemonSet adds a DaemonSet. One that wants no pod, because no node is ready for it or none exists that it selects, satisfies nobody. No
// taint of a world lasts that would keep it from all nodes that it selects.
func (f *facts) addDaemonSet(d *appsv1.DaemonSet) {
	want, status := d.Status.DesiredNumberScheduled, d.Status
	settled := want > 0 && status.ObservedGeneration == d.Generation && status.NumberReady == want && status.UpdatedNumberScheduled == want &&
		status.CurrentNumberScheduled == want
	f.add("DaemonSet", d, &d.Spec.Template, settled, false)
}

func (f *facts) addJob(j *batchv1.Job) {
	complete := slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
	})
	f.add("Job", j, &j.Spec.Template, complete, complete)
}

func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// owner is the workload that made a pod. found is false for a pod that some other object made, or that is gone.
func (f *facts) owner(pod *corev1.Pod) (ownerless bool, found *workload) {
	reference := metav1.GetControllerOf(pod)
	if reference == nil {
		return true, nil
	}
	for i := range f.workloads {
		if f.workloads[i].meta.GetUID() == reference.UID {
			return false, &f.workloads[i]
		}
	}
	return false, nil
}

// named is the PodSequence that a pod names, and whether there is one.
func (f *facts) named(pod *corev1.Pod) (name string, exists bool) {
	name = pod.Labels[v1alpha1.SequenceLabel]
	exists = slices.ContainsFunc(f.sequences, func(s sequence) bool {
		return s.kind == "PodSequence" && s.meta.Namespace == pod.Namespace && s.meta.Name == name
	})
	return name, exists
}

// requires reports whether pods of our scheduler need a sequence in a namespace.
func (f *facts) requires(namespace string) bool {
	n := f.namespaces[namespace]
	return n != nil && n.Annotations[v1alpha1.RequireSequenceAnnotation] == v1alpha1.RequireSequence
}

// inForce reports whether the namespace of the members allows the sequence.
func (f *facts) inForce(s *sequence) bool {
	if s.target == s.meta.Namespace {
		return true
	}
	namespace := f.namespaces[s.target]
	if namespace == nil {
		return false
	}
	for allowed := range strings.SplitSeq(namespace.Annotations[v1alpha1.AllowSequencesFromAnnotation], ",") {
		if allowed = strings.TrimSpace(allowed); allowed == "*" || allowed == s.meta.Namespace {
			return true
		}
	}
	return false
}

// livesIn reports whether members of a group live in a namespace.
func (f *facts) livesIn(g *v1alpha1.ClusterPodGroup, name string) bool {
	if g.NamespaceSelector == nil {
		return slices.Contains(g.Namespaces, name)
	}
	namespace := f.namespaces[name]
	return namespace != nil && name != "kube-system" && name != "podsequence-system" && selects(g.NamespaceSelector, namespace.Labels)
}

// groupOf is the group that a pod belongs to, -1 for none.
func (f *facts) groupOf(s *sequence, pod *corev1.Pod) int {
	return slices.IndexFunc(s.spec.PodGroups, func(g v1alpha1.ClusterPodGroup) bool {
		return f.livesIn(&g, pod.Namespace) && (slices.Contains(g.Pods, pod.Name) || selects(g.PodSelector, pod.Labels))
	})
}

func (f *facts) group(s *sequence, index int) group {
	return group{&s.spec.PodGroups[index], f, s, index}
}
