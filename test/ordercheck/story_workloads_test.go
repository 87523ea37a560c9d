package ordercheck

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// write creates or changes an object that is neither a pod nor a PodSequence. Its UID is its name, unless it has another, and one with
// the finalizer "gone" is deleted.
func write[O metav1.Object](factsOf func(O) facts, object O) step {
	return func(s *story) {
		object.SetNamespace(s.namespace)
		if object.GetUID() == "" {
			object.SetUID(types.UID(object.GetName()))
		}
		if created := object.GetCreationTimestamp(); created.IsZero() {
			object.SetCreationTimestamp(s.whole())
		}
		s.changed(factsOf(object), slices.Contains(object.GetFinalizers(), "gone"))
	}
}

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Generation: 1} }

func tierTemplate(tier string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"tier": tier}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: "v1"}}},
	}
}

// deployment is one of a tier, of the first image, that its controller has observed.
func deployment(name, tier string, replicas int32, edits ...func(*appsv1.Deployment)) step {
	d := &appsv1.Deployment{ObjectMeta: meta(name)}
	d.Spec.Replicas, d.Spec.Template, d.Status.ObservedGeneration = &replicas, tierTemplate(tier), 1
	for _, edit := range edits {
		edit(d)
	}
	return write(factsOfDeployment, d)
}

func unobserved(d *appsv1.Deployment) { d.Generation = 2 }

func imageOfDeployment(image string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Generation, d.Status.ObservedGeneration = 3, 3
		d.Spec.Template.Spec.Containers[0].Image = image
	}
}

// replicaSet is one of a Deployment.
func replicaSet(name, deployment, tier, image string, replicas int32) step {
	r := &appsv1.ReplicaSet{ObjectMeta: meta(name)}
	r.OwnerReferences = []metav1.OwnerReference{controlledBy("apps/v1", "Deployment", deployment)}
	r.Spec.Replicas, r.Spec.Template, r.Status.ObservedGeneration = &replicas, tierTemplate(tier), 1
	r.Spec.Template.Spec.Containers[0].Image = image
	return write(factsOfReplicaSet, r)
}

func ownReplicaSet(name, tier string, replicas int32) step {
	r := &appsv1.ReplicaSet{ObjectMeta: meta(name)}
	r.Spec.Replicas, r.Spec.Template, r.Status.ObservedGeneration = &replicas, tierTemplate(tier), 1
	return write(factsOfReplicaSet, r)
}

func replicationController(name, tier string, replicas int32) step {
	template := tierTemplate(tier)
	r := &corev1.ReplicationController{ObjectMeta: meta(name)}
	r.Spec.Replicas, r.Spec.Template, r.Status.ObservedGeneration = &replicas, &template, 1
	return write(factsOfReplicationController, r)
}

func statefulSet(name, tier string, replicas int32, edits ...func(*appsv1.StatefulSet)) step {
	set := &appsv1.StatefulSet{ObjectMeta: meta(name)}
	set.Spec.Replicas, set.Spec.Template, set.Status.ObservedGeneration = &replicas, tierTemplate(tier), 1
	for _, edit := range edits {
		edit(set)
	}
	return write(factsOfStatefulSet, set)
}

func updatingTo(revision string) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Status.UpdateRevision = revision }
}

func onDelete(s *appsv1.StatefulSet) {
	s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
}

func startingAt(ordinal int32) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: ordinal} }
}

func goingOut(s *appsv1.StatefulSet) { s.DeletionTimestamp = &metav1.Time{Time: storyBegin} }

func setIsGone(s *appsv1.StatefulSet) { s.Finalizers = []string{"gone"} }

func daemonSet(name, tier string, desired int32, edits ...func(*appsv1.DaemonSet)) step {
	d := &appsv1.DaemonSet{ObjectMeta: meta(name)}
	d.Spec.Template = tierTemplate(tier)
	d.Status = appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: desired, NumberReady: desired}
	for _, edit := range edits {
		edit(d)
	}
	return write(factsOfDaemonSet, d)
}

func templateGeneration(generation string) func(*appsv1.DaemonSet) {
	return func(d *appsv1.DaemonSet) {
		d.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: generation}
	}
}

func readyOn(nodes int32) func(*appsv1.DaemonSet) {
	return func(d *appsv1.DaemonSet) { d.Status.NumberReady = nodes }
}

func onlyOn(key, value string) func(*appsv1.DaemonSet) {
	return func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.NodeSelector = map[string]string{key: value} }
}

func leaving(d *appsv1.DaemonSet) { d.DeletionTimestamp = &metav1.Time{Time: storyBegin} }

func job(name, tier string, completions, parallelism int32, edits ...func(*batchv1.Job)) step {
	j := &batchv1.Job{ObjectMeta: meta(name)}
	j.Spec.Completions, j.Spec.Parallelism, j.Spec.Template = &completions, &parallelism, tierTemplate(tier)
	for _, edit := range edits {
		edit(j)
	}
	return write(factsOfJob, j)
}

func completeJob(j *batchv1.Job) {
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
}

func ofCronJob(created time.Duration) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.CreationTimestamp = metav1.NewTime(storyBegin.Add(created))
		j.OwnerReferences = []metav1.OwnerReference{controlledBy("batch/v1", "CronJob", "nightly")}
	}
}

func controlledBy(apiVersion, kind, uid string) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: uid, UID: types.UID(uid), Controller: &yes}
}

// of gives a pod a controller.
func of(uid string) podEdit {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{controlledBy("apps/v1", "ReplicaSet", uid)}
	}
}

// up creates ready pods of a tier and of an owner.
func up(tier, owner string, names ...string) step {
	return func(s *story) {
		for _, name := range names {
			create(name, labelled("tier", tier), of(owner), isNow(corev1.ConditionTrue))(s)
		}
	}
}

// several is one step made of others.
func several(steps ...step) step {
	return func(s *story) {
		for _, step := range steps {
			step(s)
		}
	}
}

// tier is a group by the label that the workloads' pods carry.
func tier(name string, fixes ...func(*v1alpha1.PodGroup)) sequenceFix {
	g := v1alpha1.PodGroup{PodSelector: &v1alpha1.LabelSelector{
		MatchLabels: map[string]v1alpha1.LabelValue{"tier": v1alpha1.LabelValue(name)},
	}}
	for _, fix := range fixes {
		fix(&g)
	}
	return group(g)
}

func completed(g *v1alpha1.PodGroup) { g.RequiredStatus = v1alpha1.RequireComplete }

func enoughOf(number string) func(*v1alpha1.PodGroup) {
	return func(g *v1alpha1.PodGroup) {
		parsed := intstr.Parse(number)
		if strings.HasSuffix(number, "%") {
			parsed = intstr.FromString(number)
		}
		g.MinAvailable = &parsed
	}
}

func waiting(d v1alpha1.Duration) func(*v1alpha1.PodGroup) {
	return func(g *v1alpha1.PodGroup) { g.WaitDuration = d }
}

func namedAndWaiting(d v1alpha1.Duration, pods ...string) v1alpha1.PodGroup {
	return v1alpha1.PodGroup{Pods: pods, WaitDuration: d}
}

func timingOut(after v1alpha1.Duration, then v1alpha1.TimeoutPolicy) func(*v1alpha1.PodGroup) {
	return func(g *v1alpha1.PodGroup) { g.Timeout, g.OnTimeout = after, then }
}

func on(key string, value v1alpha1.LabelValue) func(*v1alpha1.PodGroup) {
	return func(g *v1alpha1.PodGroup) { g.NodeSelector = map[string]v1alpha1.LabelValue{key: value} }
}

func continuously(s *v1alpha1.PodSequence) { s.Spec.EnforcementMode = v1alpha1.Continuous }

func perNode(s *v1alpha1.PodSequence) { s.Spec.Scope = v1alpha1.ScopeNode }

func suspended(s *v1alpha1.PodSequence) { s.Spec.Suspend = true }

// node creates a node with labels, or relabels it.
func node(name string, keysAndValues ...string) step {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for i := 0; i < len(keysAndValues); i += 2 {
		n.Labels[keysAndValues[i]] = keysAndValues[i+1]
	}
	return nodeIs(n)
}

// noNode deletes a node.
func noNode(name string) step {
	return func(s *story) {
		delete(s.nodes, name)
		s.changed(factsOfNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}), true)
	}
}

// notReady is a node that is not, and tainted one that has these taints.
func notReady(name string) step { return tainted(name, corev1.TaintNodeNotReady) }

func tainted(name string, keys ...string) step {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, key := range keys {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	return nodeIs(n)
}

func nodeIs(n *corev1.Node) step {
	name := n.Name
	return func(s *story) {
		if _, exists := s.nodes[name]; !exists {
			s.nodes[name] = s.whole()
		}
		n.CreationTimestamp = s.nodes[name]
		n.UID = types.UID(n.CreationTimestamp.Format(time.TimeOnly))
		s.changed(factsOfNode(n), false)
	}
}

// on another node than the first.
func at(node string) podEdit { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

// schedulerStops and schedulerGoesOn are what a test does with signals.
func schedulerStops(s *story) { s.stopped = s.now }

func schedulerGoesOn(s *story) {
	s.stops = append(s.stops, Stop{From: s.stopped, To: s.now})
	s.stopped = time.Time{}
}

// lagging makes the API server serve, from now on, a state that is this much older.
func lagging(by time.Duration) step {
	return func(s *story) { s.lags = append(s.lags, Lag{From: s.now, To: s.now.Add(time.Hour), By: by}) }
}

func failedJob(j *batchv1.Job) {
	j.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(storyBegin)},
	}
}

func jobGoesOut(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: storyBegin} }

func jobIsGone(j *batchv1.Job) { j.Finalizers = []string{"gone"} }

func createdAtFirst(j *batchv1.Job) { j.CreationTimestamp = metav1.NewTime(storyBegin) }

func madeAgain(j *batchv1.Job) { j.UID = "again" }

func allUpdated(d *appsv1.DaemonSet) {
	d.Status.UpdatedNumberScheduled = d.Status.DesiredNumberScheduled
}
