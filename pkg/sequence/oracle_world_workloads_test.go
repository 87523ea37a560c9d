package sequence

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/controller/daemon"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
	"k8s.io/utils/ptr"
)

// stepWorkloads creates, changes or deletes a workload as its owner, or does some of its controller's work.
func (w *randomWorld) stepWorkloads(*comparison) []event {
	kind, name := "Deployment", pick(w, "web", "api")
	switch w.IntN(10) {
	case 0, 1:
		kind, name = "StatefulSet", pick(w, "db", "db", "cache")
	case 2, 3:
		kind, name = "DaemonSet", pick(w, "agent", "log")
	case 4:
		kind, name = "Job", pick(w, "load", "load-2")
	case 5:
		kind, name = "Job", "cron-"+strconv.Itoa(w.IntN(3))
	case 6:
		kind, name = pick(w, "ReplicaSet", "ReplicationController"), "solo"
	}
	if w.nodeScope > 8 && !w.oneIn(3) {
		kind, name = "DaemonSet", pick(w, "agent", "log", "net")
	}
	namespace := w.anyNamespace()
	key := oracleName(namespace, name)
	if w.objects[kind][key] == nil {
		object := w.newWorkload(kind, namespace, name)
		w.changeHookOf(object)
		w.put(kind, object)
		return nil
	}
	object := w.objects[kind][key].(runtime.Object).DeepCopyObject().(metav1.Object)
	if object.GetDeletionTimestamp() != nil {
		w.stepDeletion(kind, object)
		return nil
	}
	choice := w.IntN(24)
	if w.truthful && choice < 2 && isUnfinishedOfCron(object) {
		choice = 23 // that there was a newer Job, no object tells a new engine
	}
	switch choice {
	case 0:
		if w.oneIn(3) { // in the background
			w.drop(kind, object)
			return nil
		}
		now := metav1.NewTime(w.clock.Truncate(time.Second))
		object.SetDeletionTimestamp(&now)
		if object.GetGeneration() > 0 && w.oneIn(2) {
			object.SetGeneration(object.GetGeneration() + 1) // as the API server does
		}
	case 1: // gone and made again, with only the second event seen
		object = w.newWorkload(kind, namespace, name)
	case 2, 3:
		w.resize(object)
	case 4:
		w.changeTemplate(object)
	case 5:
		w.changeStrategy(object)
	default:
		for range 1 + w.IntN(6) {
			w.control(kind, w.objects[kind][key].(runtime.Object).DeepCopyObject().(metav1.Object))
		}
		return nil
	}
	w.changeHookOf(object)
	w.put(kind, object)
	return nil
}

// isUnfinishedOfCron reports whether the object is a Job of a CronJob that is not complete.
func isUnfinishedOfCron(object metav1.Object) bool {
	complete, _ := jobCompletedAt(object)
	return cronJobOf(object) != "" && !complete
}

// stepDeletion goes on with a workload that is being deleted: its controller sees it, what it owns goes first or is orphaned, and at last
// it is gone.
func (w *randomWorld) stepDeletion(kind string, object metav1.Object) {
	if w.oneIn(3) && w.observe(kind, object) {
		return
	}
	orphan := w.oneIn(3)
	for _, set := range sorted[*appsv1.ReplicaSet](w, "ReplicaSet") {
		if !metav1.IsControlledBy(set, object) {
			continue
		}
		set = set.DeepCopy()
		switch {
		case orphan:
			set.OwnerReferences = nil
			w.put("ReplicaSet", set)
			return
		case set.DeletionTimestamp == nil:
			now := metav1.NewTime(w.clock.Truncate(time.Second))
			set.DeletionTimestamp = &now
			w.put("ReplicaSet", set)
			return
		}
	}
	for _, p := range sorted[*corev1.Pod](w, "Pod") {
		if !w.isOf(p, object) || w.oneIn(4) {
			continue
		}
		p = p.DeepCopy()
		switch {
		case orphan:
			p.OwnerReferences = nil
			w.put("Pod", p)
		case p.DeletionTimestamp == nil:
			now := metav1.NewTime(w.clock.Truncate(time.Second))
			p.DeletionTimestamp = &now
			w.put("Pod", p)
		default:
			w.drop("Pod", p)
		}
		if !w.oneIn(4) {
			return
		}
	}
	if !(w.truthful && isUnfinishedOfCron(object)) {
		w.drop(kind, object)
	}
}

func (w *randomWorld) newWorkload(kind, namespace, name string) metav1.Object {
	var object metav1.Object
	switch kind {
	case "Deployment":
		object = &appsv1.Deployment{}
	case "ReplicaSet":
		rs := &appsv1.ReplicaSet{}
		if w.oneIn(3) { // of another kind of deployment
			rs.OwnerReferences = []metav1.OwnerReference{controllerRef("rollouts.example.com/v1", "Deployment", "r", "uid-of-rollout")}
		}
		object = rs
	case "StatefulSet":
		s := &appsv1.StatefulSet{}
		if w.oneIn(4) {
			s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 1}
		}
		object = s
	case "DaemonSet":
		object = &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{appsv1.DeprecatedTemplateGeneration: "1"}}}
	case "Job":
		j := &batchv1.Job{}
		if strings.HasPrefix(name, "cron-") {
			uid := "uid-of-cron-" + namespace
			if w.oneIn(4) {
				uid += "-again" // it was deleted, and created again
			}
			j.OwnerReferences = []metav1.OwnerReference{controllerRef("batch/v1", "CronJob", "cron", uid)}
		}
		object = j
	case "ReplicationController":
		object = &corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{Template: &corev1.PodTemplateSpec{}}}
	}
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetGeneration(1)
	template := templateOf(object)
	template.Labels, template.Spec = w.randomLabels(), w.randomPodSpec()
	if kind == "DaemonSet" && template.Spec.Affinity != nil {
		template.Spec.Affinity = nil // each of its pods gets one
	}
	w.resize(object)
	object.SetGeneration(1)
	return object
}

// resize changes how many pods there are to be.
func (w *randomWorld) resize(object metav1.Object) {
	size := pick[*int32](w, nil, ptr.To[int32](0), ptr.To[int32](1), ptr.To[int32](2), ptr.To[int32](2), ptr.To[int32](3))
	object.SetGeneration(object.GetGeneration() + 1)
	switch object := object.(type) {
	case *appsv1.Deployment:
		object.Spec.Replicas = size
	case *appsv1.ReplicaSet:
		object.Spec.Replicas = size
	case *appsv1.StatefulSet:
		object.Spec.Replicas = size
	case *corev1.ReplicationController:
		object.Spec.Replicas = size
	case *batchv1.Job:
		object.Spec.Parallelism = size
		object.Spec.Completions = pick[*int32](w, nil, ptr.To[int32](1), ptr.To[int32](3))
	case *appsv1.DaemonSet:
		object.Status.DesiredNumberScheduled = int32(w.IntN(3))
	}
}

func (w *randomWorld) changeTemplate(object metav1.Object) {
	object.SetGeneration(object.GetGeneration() + 1)
	template := templateOf(object)
	template.Annotations = map[string]string{"revision": pick(w, "1", "2")}
	if w.oneIn(3) {
		template.Labels = w.randomLabels()
	}
	if ds, ok := object.(*appsv1.DaemonSet); ok && ds.Annotations != nil {
		ds.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: strconv.FormatInt(ds.Generation, 10)}
	}
}

func (w *randomWorld) changeStrategy(object metav1.Object) {
	object.SetGeneration(object.GetGeneration() + 1)
	switch object := object.(type) {
	case *appsv1.StatefulSet:
		object.Spec.UpdateStrategy = pick(w, appsv1.StatefulSetUpdateStrategy{},
			appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			appsv1.StatefulSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](1)}},
			appsv1.StatefulSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](0)}})
	case *appsv1.DaemonSet:
		object.Spec.UpdateStrategy.Type = pick(w, appsv1.OnDeleteDaemonSetStrategyType, appsv1.RollingUpdateDaemonSetStrategyType)
		if w.oneIn(4) {
			object.Annotations = nil
		}
	}
}

// control does one thing that the workload's controller would do.
func (w *randomWorld) control(kind string, object metav1.Object) {
	if w.observe(kind, object) || (w.objects[kind][oracleKey(object)] == nil) {
		return
	}
	parent, extra := object, map[string]string{}
	var names []string // of the pods there are to be; those without a name of their own are counted
	count, _ := wanted(object, "Ready")
	switch object := object.(type) {
	case *appsv1.Deployment:
		rs := w.newestReplicaSet(object)
		if rs == nil {
			return
		}
		parent, extra = rs, map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: rs.Name}
	case *appsv1.StatefulSet:
		extra[appsv1.ControllerRevisionHashLabelKey] = object.Status.UpdateRevision
		for n := range count {
			if object.Spec.Ordinals != nil {
				n += int(object.Spec.Ordinals.Start)
			}
			names = append(names, object.Name+"-"+strconv.Itoa(n))
		}
	case *appsv1.DaemonSet:
		extra["pod-template-generation"] = object.Annotations[appsv1.DeprecatedTemplateGeneration]
		extra["controller-revision-hash"] = "hash-" + object.Spec.Template.Annotations["revision"]
		for _, node := range w.dueNodes(object) {
			names = append(names, object.Name+"-"+node)
		}
	case *batchv1.Job:
		if ok, _ := jobCompletedAt(object); ok || len(object.Status.Conditions) > 0 {
			return
		}
	}
	if names == nil {
		for n := range count {
			names = append(names, parent.GetName()+"-"+strconv.Itoa(n))
		}
	}
	if w.makePod(parent, names, extra) {
		return
	}
	keep := map[string]bool{}
	for _, name := range names {
		keep[name] = true
	}
	for _, p := range sorted[*corev1.Pod](w, "Pod") { // delete one that is too many or too old
		if w.isOf(p, object) && (!keep[p.Name] || !maps.Equal(p.Labels, w.podLabels(parent, extra))) && !(kind == "DaemonSet" && w.oneIn(2)) {
			w.drop("Pod", p)
			return
		}
	}
	if j, ok := object.(*batchv1.Job); ok && w.oneIn(5) {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", LastTransitionTime: metav1.NewTime(w.clock.Truncate(time.Second))}}
		w.put(kind, j)
		return
	}
	if j, ok := object.(*batchv1.Job); ok && w.oneIn(2) {
		last := w.apiTime()
		for _, p := range sorted[*corev1.Pod](w, "Pod") {
			succeeded, at := said(p, "Complete")
			if w.isOf(p, j) && !succeeded {
				return
			}
			if w.isOf(p, j) && at.After(last.Time) {
				last = metav1.NewTime(at)
			}
		}
		j.Status.CompletionTime = &last
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		w.put(kind, j)
	}
}

// observe makes the controller report that it has seen the newest generation, and reports whether that was news.
func (w *randomWorld) observe(kind string, object metav1.Object) bool {
	status := func(observed *int64) bool {
		if *observed >= object.GetGeneration() {
			return false
		}
		*observed = object.GetGeneration()
		return true
	}
	news := false
	switch object := object.(type) {
	case *appsv1.Deployment:
		news = status(&object.Status.ObservedGeneration)
	case *appsv1.ReplicaSet:
		news = status(&object.Status.ObservedGeneration)
	case *corev1.ReplicationController:
		news = status(&object.Status.ObservedGeneration)
	case *appsv1.StatefulSet:
		news = status(&object.Status.ObservedGeneration)
		object.Status.UpdateRevision = object.Name + "-" + object.Spec.Template.Annotations["revision"]
		if w.oneIn(8) {
			object.Status.UpdateRevision = ""
		}
	case *appsv1.DaemonSet:
		news = status(&object.Status.ObservedGeneration)
		due := w.dueNodes(object)
		desired, updated, ready := int32(len(due)), w.updatedPods(object), w.readyNodes(object, due)
		news = news || desired != object.Status.DesiredNumberScheduled || updated != object.Status.UpdatedNumberScheduled ||
			ready != object.Status.NumberReady
		object.Status.DesiredNumberScheduled, object.Status.UpdatedNumberScheduled, object.Status.NumberReady = desired, updated, ready
	}
	if news {
		w.put(kind, object)
	}
	return news
}

// updatedPods counts the pods of a DaemonSet that its controller takes for up to date.
func (w *randomWorld) updatedPods(ds *appsv1.DaemonSet) int32 {
	generation, err := daemonutil.GetTemplateGeneration(ds)
	if err != nil {
		return 0
	}
	updated := int32(0)
	for _, p := range sorted[*corev1.Pod](w, "Pod") {
		if metav1.IsControlledBy(p, ds) && daemonutil.IsPodUpdated(p, "hash-"+ds.Spec.Template.Annotations["revision"], generation) {
			updated++
		}
	}
	return updated
}

// readyNodes counts the nodes on which a DaemonSet should have a pod and has a ready one.
func (w *randomWorld) readyNodes(ds *appsv1.DaemonSet, due []string) int32 {
	nodes := sets.New[string]()
	for _, p := range sorted[*corev1.Pod](w, "Pod") {
		if metav1.IsControlledBy(p, ds) && podutil.IsPodReady(p) && slices.Contains(due, p.Spec.NodeName) {
			nodes.Insert(p.Spec.NodeName)
		}
	}
	return int32(nodes.Len())
}

// dueNodes are the nodes that the DaemonSet should run on; two, where there are none in this world.
func (w *randomWorld) dueNodes(ds *appsv1.DaemonSet) []string {
	if w.theme.nodes == 0 {
		return []string{"node-0", "node-1"}
	}
	due := []string{}
	for _, node := range sorted[*corev1.Node](w, "Node") {
		if run, _ := daemon.NodeShouldRunDaemonPod(klog.Background(), node, ds); run {
			due = append(due, node.Name)
		}
	}
	return due
}

// newestReplicaSet is the Deployment's, or nil if it has only now been made, or is made later.
func (w *randomWorld) newestReplicaSet(d *appsv1.Deployment) *appsv1.ReplicaSet {
	var sets []*appsv1.ReplicaSet
	for _, rs := range sorted[*appsv1.ReplicaSet](w, "ReplicaSet") {
		if metav1.IsControlledBy(rs, d) {
			sets = append(sets, rs)
		}
	}
	if rs := deploymentutil.FindNewReplicaSet(d, sets); rs != nil {
		return rs
	}
	if len(sets) > 2 {
		w.drop("ReplicaSet", sets[0])
	}
	rs := &appsv1.ReplicaSet{}
	rs.Namespace, rs.Name = d.Namespace, d.Name+"-"+w.nextSerial()
	rs.OwnerReferences = []metav1.OwnerReference{controllerRef("apps/v1", "Deployment", d.Name, string(d.UID))}
	rs.Generation, rs.Spec.Replicas, rs.Spec.Template = 1, d.Spec.Replicas, *d.Spec.Template.DeepCopy()
	if rs.Spec.Template.Labels == nil {
		rs.Spec.Template.Labels = map[string]string{}
	}
	rs.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = rs.Name
	w.put("ReplicaSet", rs)
	return nil
}

// isOf reports whether the pod belongs to the workload.
func (w *randomWorld) isOf(p *corev1.Pod, object metav1.Object) bool {
	ref := metav1.GetControllerOf(p)
	if ref == nil {
		return false
	}
	if rs := w.objects["ReplicaSet"][oracleName(p.Namespace, ref.Name)]; rs != nil && rs.GetUID() == ref.UID && metav1.IsControlledBy(rs, object) {
		return true
	}
	return ref.UID == object.GetUID()
}

func (w *randomWorld) podLabels(parent metav1.Object, extra map[string]string) map[string]string {
	l := maps.Clone(templateOf(parent).Labels)
	if l == nil {
		l = map[string]string{}
	}
	maps.Copy(l, extra)
	return l
}

// makePod makes the first pod of these names that is not there, and reports whether there was one to make.
func (w *randomWorld) makePod(parent metav1.Object, names []string, extra map[string]string) bool {
	for _, name := range names {
		if w.objects["Pod"][oracleName(parent.GetNamespace(), name)] != nil {
			continue
		}
		kind, apiVersion := "ReplicationController", "v1"
		for _, known := range workloadKinds[:5] {
			if isKind(parent, known) {
				kind, apiVersion = known, "apps/v1"
			}
		}
		if kind == "Job" {
			apiVersion = "batch/v1"
		}
		p := &corev1.Pod{Spec: *templateOf(parent).Spec.DeepCopy()}
		p.Namespace, p.Name, p.Labels = parent.GetNamespace(), name, w.podLabels(parent, extra)
		p.OwnerReferences = []metav1.OwnerReference{controllerRef(apiVersion, kind, parent.GetName(), string(parent.GetUID()))}
		if kind == "DaemonSet" {
			p.Spec.Affinity = pinnedAffinity(name[len(parent.GetName())+1:])
		}
		w.addGate(p)
		w.put("Pod", p)
		return true
	}
	return false
}
