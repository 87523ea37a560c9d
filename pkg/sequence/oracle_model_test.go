package sequence

import (
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

const (
	oracleNamespace = "shop"
	oracleScheduler = "podsequence-scheduler"
)

// oracle answers what the engine answers, in the dumbest way: it keeps whole objects, as the engine was told of them,
// and works everything out anew after every event. It shares nothing with the engine but the API types.
type oracle struct {
	now     time.Time
	objects map[string]map[string]metav1.Object // by kind and name
	// memories holds, for each sequence by UID, the little that cannot be seen in objects.
	memories map[types.UID]*memory
	// refused are the sequences that had no consent when last looked at, and allowed says of others when they got it.
	refused sets.Set[types.UID]
	allowed map[types.UID]time.Time
	// recorded are the passes that are on record, by the UID of the sequence and by definition.
	recorded map[types.UID]map[string]oraclePass
	// definitions tells what a hash in a recorded status stands for.
	definitions map[string]string

	// nodesListed reports that somebody has said which nodes there are.
	nodesListed bool

	// uninstalled reports that the kind PodSequence is not installed.
	uninstalled bool
	// shouldRun keeps Kubernetes' answers: they take most of the time otherwise.
	shouldRun map[pairing]bool

	// Worked out anew by settle. The lists are by name.
	pods  []*corev1.Pod
	nodes []*corev1.Node
	byUID map[types.UID]metav1.Object
	// before are all pods and workloads as they were before the event.
	before   map[types.UID]metav1.Object
	ownerOf  map[*corev1.Pod]podOwner
	newestOf map[types.UID]*appsv1.ReplicaSet // by Deployment
	views    map[string]*view

	// version is that of the event; 0 if it has none.
	version int
	// wasSuperseded are the Jobs that a newer one of their CronJob superseded when last looked at, and unfinished is, by CronJob, the newest
	// of its Jobs that went before it was complete.
	wasSuperseded sets.Set[types.UID]
	unfinished    map[types.UID]metav1.Object
	// readyAt is since when each pod is done, whatever its kubelet says, or since when it was last seen not to be.
	readyAt map[types.UID]time.Time
	// steadyAt is since when each pod is ready without a break, and never in the future.
	steadyAt map[types.UID]time.Time
	// readyNow and readyBefore are the same as of when last looked at, and the time before.
	readyNow, readyBefore   map[types.UID]time.Time
	steadyNow, steadyBefore map[types.UID]time.Time
	// reached is what few groups ask for.
	reached                  oracleReached
	lookedAt, lookedAtBefore time.Time
	// nowhereNow and nowhereBefore are the pods on nodes that do not exist, as of when last looked at, and the time before.
	nowhereNow, nowhereBefore sets.Set[types.UID]
	// lifted are the pods of which a gate was seen to go that sequences lifted.
	lifted sets.Set[types.UID]
	// said is what was said of nodes, now, and as of when last looked at, and the time before.
	said, saidNow, saidBefore map[string]saidOfNode
	// selected are the pods that some sequence has.
	selected sets.Set[types.UID]

	// starts are the pods that started before their sequences, by the UID of the sequence. bound are the pods that had a node after the
	// event before.
	starts map[types.UID]*startCount
	// objectsNow is what statuses say of objects, and objectsBefore what they said before the event.
	objectsNow, objectsBefore oracleObjects
	bound                     sets.Set[types.UID]
}

// memory is what the oracle remembers of a sequence.
type memory struct {
	scope v1alpha1.Scope
	// passes are the groups passed permanently in a dry run, which nobody records, and when they were, by definition.
	passes map[string]time.Time
	// awaits holds the definitions of the groups that each group waits for, when last looked at.
	awaits map[string]string
	// satisfied is for each group, on each node, whether and since when it is satisfied.
	satisfied map[place]satisfaction
	// nodes are those that were known when last looked at.
	nodes map[string]types.UID
	// once are the groups that were satisfied at some time since they were released.
	once sets.Set[place]
	// completed are the groups, by definition, that were complete when they were passed, and reopened those of them that were opened again.
	completed, reopened sets.Set[string]
	// failuresOver is, by definition, when the newest Job of a group was created that has completed.
	failuresOver map[string]time.Time
	// lost is when each group was lost, by Continuous, that was among once.
	lost map[place]time.Time
	// watched is since when each group is looked at, and edited when an edit made it what it is.
	watched, edited map[place]time.Time

	// reached are the groups that could start when last looked at.
	reached sets.Set[place]
	// suspended reports whether it was when last looked at, and released what had been released when it became so. begun
	// reports whether group 0 was ever released.
	suspended, begun bool
	// witnessed reports that it became so between two looks, and looked that there was one.
	witnessed, looked bool
	released          sets.Set[place]
	// resumed is when a suspension was lifted.
	resumed time.Time

	// failures are members that failed and are gone.
	failures map[types.UID]oracleFailure
	// ended are those that are over and that status still lists.
	ended sets.Set[types.UID]
	// came is the version of the event with which the sequence came.
	came int
}

// oraclePass is the record of a pass.
type oraclePass struct {
	at       time.Time
	timedOut bool
}

// place is a group, by its definition and those of the groups before it, and the node, which is empty for the whole cluster.
type place struct{ node, definition string }

// view is a sequence with all that is worked out about it.
type view struct {
	*v1alpha1.PodSequence
	// cluster is the same as a ClusterPodSequence; nil for a PodSequence.
	cluster *v1alpha1.ClusterPodSequence
	oracle  *oracle
	// definitions holds, for each group, what defines it and those before it.
	definitions []string
	// groupOf is the group of each pod by its key, and placedIn that of each workload.
	groupOf  map[string]int
	placedIn map[types.UID]int
	// courses are how far the sequence is: on each node, or, under the empty name, in the cluster.
	courses map[string]*course
	memory  *memory
	// allowed is when the target namespace came to allow it; zero if it always did.
	allowed time.Time
}

func newOracle(definitions map[string]string) *oracle {
	return &oracle{
		objects: map[string]map[string]metav1.Object{}, memories: map[types.UID]*memory{}, definitions: definitions,
		recorded: map[types.UID]map[string]oraclePass{}, refused: sets.New[types.UID](), allowed: map[types.UID]time.Time{},
		wasSuperseded: sets.New[types.UID](), unfinished: map[types.UID]metav1.Object{}, readyAt: map[types.UID]time.Time{},
		steadyAt: map[types.UID]time.Time{}, said: map[string]saidOfNode{},
		lifted: sets.New[types.UID](), starts: map[types.UID]*startCount{}, shouldRun: map[pairing]bool{}, byUID: map[types.UID]metav1.Object{},
	}
}

// apply, remove and replace tell the oracle of objects, as the engine is told.
func (o *oracle) apply(kind string, object metav1.Object) {
	if o.objects[kind] == nil {
		o.objects[kind] = map[string]metav1.Object{}
	}
	if o.isNews(kind, object) {
		if p, ok := object.(*corev1.Pod); ok {
			o.seePod(p)
		}
		if node, ok := object.(*corev1.Node); ok {
			o.seeConditions(node)
		}
		o.objects[kind][oracleKey(object)] = object
	}
}

// seePod notes since when a pod is done: not since before it was created or bound.
func (o *oracle) seePod(p *corev1.Pod) {
	old, _ := o.objects["Pod"][oracleKey(p)].(*corev1.Pod)
	if old != nil && old.UID == p.UID && old.Spec.NodeName == "" && len(old.Spec.SchedulingGates) > len(p.Spec.SchedulingGates) && o.liftable(old) && !o.held(old) {
		o.lifted.Insert(p.UID)
	}
	ready, at := said(p, v1alpha1.RequireReady)
	defer o.seeSteady(p, old, o.readyAt[p.UID])
	if delete(o.readyAt, p.UID); ready {
		o.readyAt[p.UID] = ofAPI(p, at)
	}
}

// isNews reports whether the object is newer than what was told of it.
func (o *oracle) isNews(kind string, object metav1.Object) bool {
	old := o.objects[kind][oracleKey(object)]
	return old == nil || oracleVersion(old) < oracleVersion(object)
}

func oracleVersion(object metav1.Object) int {
	version, err := strconv.Atoi(object.GetResourceVersion())
	if err != nil {
		panic(err)
	}
	return version
}

func (o *oracle) remove(kind string, object metav1.Object) {
	if old := o.objects[kind][oracleKey(object)]; old != nil && old.GetUID() == object.GetUID() {
		delete(o.objects[kind], oracleKey(object))
	}
}

func (o *oracle) replace(kind string, objects []metav1.Object) {
	for _, object := range objects {
		if p, ok := object.(*corev1.Pod); ok && o.isNews(kind, p) {
			o.seePod(p)
		}
		if node, ok := object.(*corev1.Node); ok && o.isNews(kind, node) {
			o.seeConditions(node)
		}
	}
	o.nodesListed = o.nodesListed || kind == "Node"
	o.objects[kind] = map[string]metav1.Object{}
	for _, object := range objects {
		o.objects[kind][oracleKey(object)] = object
	}
}

// all are the objects of a kind, sorted by name.
func all[T metav1.Object](o *oracle, kind string) []T {
	var list []T
	for _, name := range slices.Sorted(maps.Keys(o.objects[kind])) {
		list = append(list, o.objects[kind][name].(T))
	}
	return list
}

func (o *oracle) node(name string) *corev1.Node {
	node, _ := o.objects["Node"][name].(*corev1.Node)
	return node
}

// ofAPI is a time that a kubelet wrote, but not before the pod was created and bound.
func ofAPI(p *corev1.Pod, at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			at = later(at, c.LastTransitionTime.Time)
		}
	}
	return later(at, p.CreationTimestamp.Time)
}

// settle works everything out.
func (o *oracle) settle() {
	o.nodes = all[*corev1.Node](o, "Node")
	o.before = o.byUID
	o.readyBefore = o.readyNow
	maps.DeleteFunc(o.readyAt, func(uid types.UID, _ time.Time) bool { // of pods that are gone
		return !slices.ContainsFunc(all[*corev1.Pod](o, "Pod"), func(p *corev1.Pod) bool { return p.UID == uid })
	})
	o.readyNow = maps.Clone(o.readyAt)
	o.steadyBefore, o.steadyNow = o.steadyNow, maps.Clone(o.steadyAt)
	o.lookedAtBefore, o.lookedAt = o.lookedAt, o.now
	for _, p := range o.pods {
		o.before[p.UID] = p
	}
	o.pods = all[*corev1.Pod](o, "Pod")
	maps.DeleteFunc(o.said, func(name string, _ saidOfNode) bool { return o.node(name) == nil })
	o.saidBefore, o.saidNow = o.saidNow, maps.Clone(o.said)
	o.noteNowhere()
	o.settleReached()
	o.countFromNode(o.readyNow)
	o.countFromNode(o.steadyNow)
	o.byUID = map[types.UID]metav1.Object{}
	for _, kind := range workloadKinds {
		for _, w := range o.objects[kind] {
			o.byUID[w.GetUID()] = w
		}
	}
	o.newestOf = map[types.UID]*appsv1.ReplicaSet{}
	for _, d := range all[*appsv1.Deployment](o, "Deployment") {
		o.newestOf[d.UID] = o.newest(d)
	}
	o.noteUnfinished()
	o.ownerOf = map[*corev1.Pod]podOwner{}
	for _, p := range o.pods {
		o.ownerOf[p] = o.findOwner(p)
	}
	o.seeObjects()
	o.pruneRecords()
	o.views = map[string]*view{}
	present := sets.New[types.UID]()
	o.selected = o.membersOfAny()
	for _, ps := range o.consented() {
		o.views[ps.Name] = o.look(o.overridden(ps), nil)
		present.Insert(ps.UID)
	}
	for _, cluster := range all[*v1alpha1.ClusterPodSequence](o, "ClusterPodSequence") {
		o.views[cluster.Name] = o.look(o.overridden(inCommon(cluster)), cluster)
		present.Insert(cluster.UID)
	}
	for _, j := range all[*batchv1.Job](o, "Job") {
		if o.superseded(j) {
			o.wasSuperseded.Insert(j.UID)
		}
	}
	maps.DeleteFunc(o.memories, func(uid types.UID, _ *memory) bool { return !present.Has(uid) })
	o.judgeStarts()
}

// look looks at a sequence. cluster is the same as a ClusterPodSequence; nil for a PodSequence.
func (o *oracle) look(ps *v1alpha1.PodSequence, cluster *v1alpha1.ClusterPodSequence) *view {
	v := &view{
		PodSequence: ps, cluster: cluster, oracle: o, groupOf: map[string]int{}, placedIn: map[types.UID]int{}, courses: map[string]*course{},
		memory: o.memories[ps.UID], allowed: o.allowed[ps.UID],
	}
	v.definitions = definitionsOf(v)
	if v.memory == nil || v.memory.scope != ps.Spec.Scope {
		v.memory = &memory{
			scope:  ps.Spec.Scope,
			awaits: map[string]string{}, satisfied: map[place]satisfaction{}, once: sets.New[place](), watched: map[place]time.Time{}, edited: map[place]time.Time{},
			reached: sets.New[place](), released: sets.New[place](), completed: sets.New[string](), reopened: sets.New[string](), failuresOver: map[string]time.Time{}, lost: map[place]time.Time{},
			failures: map[types.UID]oracleFailure{}, ended: sets.New[types.UID](), came: o.version,
		}
		if o.memories[ps.UID] == nil {
			v.memory.resumed = o.resumedUnseen(ps)
		}
		o.memories[ps.UID] = v.memory
	}
	for _, p := range o.pods {
		if i := groupOf(v, p); i >= 0 {
			v.groupOf[oracleKey(p)] = i
		}
	}
	for _, w := range o.byUID {
		if i := placedIn(v, w); i >= 0 {
			v.placedIn[w.GetUID()] = i
		}
	}

	o.noteComplete(v)
	o.noteFailures(v)
	o.recallCompleted(v)
	if ps.Spec.Scope == v1alpha1.ScopeNode {
		for _, node := range o.nodes {
			v.courses[node.Name] = &course{node: node.Name}
		}
		for _, p := range o.pods {
			if _, member := v.groupOf[oracleKey(p)]; member && p.Spec.NodeName != "" {
				v.courses[p.Spec.NodeName] = &course{node: p.Spec.NodeName}
			}
		}
	} else {
		v.courses[""] = &course{}
	}
	for _, c := range v.courses {
		if c.node == "" {
			c.groups = o.counts(v)
			continue
		}
		for i := range ps.Spec.PodGroups {
			c.groups = append(c.groups, o.addConditions(ps.Spec.PodGroups[i], c.node, o.addObjects(v, i, o.countOnNode(v, i, c.node))))
		}
	}
	completed := v.memory.completed.Clone()
	o.remember(v)
	again := o.reviewFailures(v)
	for i := range ps.Spec.PodGroups { // status may say of a group that it was complete
		c := v.courses[""]
		again = again || c != nil && !c.groups[i].satisfied && v.memory.completed.Has(v.definitions[i]) && !completed.Has(v.definitions[i])
	}
	if again {
		v.courses[""] = &course{groups: o.counts(v)}
		o.remember(v)
	}
	return v
}

func requirementOf(g v1alpha1.PodGroup) v1alpha1.RequiredStatus {
	if g.RequiredStatus == "" {
		return v1alpha1.RequireReady
	}
	return g.RequiredStatus
}

// targetOf is the namespace that the sequence is about.
func targetOf(ps *v1alpha1.PodSequence) string {
	if ps.Spec.Namespace != "" {
		return ps.Spec.Namespace
	}
	return ps.Namespace
}

// makesSense reports whether the group says how its members are found, and in one way only.
func makesSense(g v1alpha1.PodGroup) bool { return (len(g.Pods) > 0) != (g.PodSelector != nil) }

func groupOf(v *view, p *corev1.Pod) int {
	if p.DeletionTimestamp != nil || isOurs(p.Namespace, p.Labels) {
		return -1
	}
	for i, g := range v.Spec.PodGroups {
		if !makesSense(g) || !v.in(i, p.Namespace) {
			continue
		}
		if slices.Contains(g.Pods, p.Name) || (g.PodSelector != nil && oracleSelects(g.PodSelector, p.Labels) && !v.oracle.isOnTheSide(p)) {
			return i
		}
	}
	return -1
}

func oracleSelects(selector *v1alpha1.LabelSelector, podLabels map[string]string) bool {
	for key, value := range selector.MatchLabels {
		if have, ok := podLabels[key]; !ok || have != string(value) {
			return false
		}
	}
	for _, e := range selector.MatchExpressions {
		have, ok := podLabels[e.Key]
		in := ok && slices.Contains(e.Values, v1alpha1.LabelValue(have))
		switch e.Operator {
		case v1alpha1.LabelSelectorOpIn:
			ok = in
		case v1alpha1.LabelSelectorOpNotIn:
			ok = !in
		case v1alpha1.LabelSelectorOpDoesNotExist:
			ok = !ok
		}
		if !ok {
			return false
		}
	}
	return true
}

// done reports whether the pod has reached what the group requires, and when it did as far as its kubelet can be believed.
func (o *oracle) done(p *corev1.Pod, g v1alpha1.PodGroup) (bool, time.Time) {
	if o.isNowhere(p) {
		return false, time.Time{}
	}
	if what := unusual(g); what != "" {
		return reachedAt(p, what, o.reached.now)
	}
	return doneAt(p, g, o.readyNow, o.steadyNow, o.now)
}

// doneBefore is done as of before the event.
func (o *oracle) doneBefore(p *corev1.Pod, g v1alpha1.PodGroup) (bool, time.Time) {
	if o.nowhereBefore.Has(p.UID) {
		return false, time.Time{}
	}
	if what := unusual(g); what != "" {
		return reachedAt(p, what, o.reached.before)
	}
	return doneAt(p, g, o.readyBefore, o.steadyBefore, o.lookedAtBefore)
}

// membersOfAny are the pods that some sequence has.
func (o *oracle) membersOfAny() sets.Set[types.UID] {
	members := sets.New[types.UID]()
	see := func(v *view) {
		for _, p := range o.pods {
			if groupOf(v, p) >= 0 {
				members.Insert(p.UID)
			}
		}
	}
	for _, ps := range o.consented() {
		see(&view{PodSequence: ps, oracle: o})
	}
	for _, cluster := range all[*v1alpha1.ClusterPodSequence](o, "ClusterPodSequence") {
		see(&view{PodSequence: inCommon(cluster), cluster: cluster, oracle: o})
	}
	return members
}
