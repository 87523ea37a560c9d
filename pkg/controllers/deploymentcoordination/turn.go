package deploymentcoordination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/internal/deployments"
	"example.com/podsequence/internal/printable"
	"example.com/podsequence/pkg/controllers/deploymentcoordination/handback"
	"example.com/podsequence/pkg/sequence"
)

const (
	// turnRequests is how many requests to the API server a turn makes before it leaves the rest to the next.
	turnRequests = 20
	// turnPairs is how many pairs of a coordination and a Deployment that it matches a turn looks at before it does.
	turnPairs = 500
	// turnPause is how long a namespace waits for its next turn, and largePause how long after a change, if everything takes
	// more than one turn: so it does not keep a processor busy, however often something happens there.
	turnPause  = 20 * time.Millisecond
	largePause = 200 * time.Millisecond
	// handOver is how long what a coordination paused stays paused after it was deleted. Who replaces it, by deleting and creating
	// it, or under another name, does not mean that all Deployments roll out together.
	handOver = 10 * time.Second
	// mostGoing is how long a deletion may take, such as one in the foreground or with a finalizer of somebody else, to be waited for.
	mostGoing = time.Minute
)

var (
	// errLags ends a turn: the cache does not have yet what the one before wrote.
	errLags = errors.New("the cache lags behind our own writes")
	// errMore says that a turn was over before all was done about a coordination.
	errMore = errors.New("the rest is left to the next turn")
	// errOutdated says that the API server has other coordinations than the cache.
	errOutdated = errors.New("the cache lacks what the API server has")
	// errUnreleased says that a Deployment of a coordination that is being deleted could not be unpaused yet.
	errUnreleased = errors.New("some Deployments are not unpaused yet")
)

// turn is one reconcile of a namespace.
type turn struct {
	*reconciler
	*namespace
	name        string // of the namespace
	around      surroundings
	plan        *plan
	replicaSets map[types.UID][]*appsv1.ReplicaSet // by the UID of their Deployment
	// unreleased are the coordinations that have a Deployment which was to be unpaused and still is paused.
	unreleased sets.Set[string]
	// records are what is on record of Deployments by now.
	records records
	// holds are what would hold the pods of Deployments, by their place, computed as needed.
	holds map[int]sequence.Hold
	// rolling are the places of Deployments that roll out unpaused. It is computed when first needed.
	rolling []int
	// confirmed says that the API server has had the coordinations in this turn as we do.
	confirmed bool
	requests  int
	pairs     int
}

func (t *turn) coordination(i int) *v1.DeploymentCoordination { return &t.around.coordinations[i] }

// spent reports whether the turn is over: no other coordination is looked at.
func (t *turn) spent() bool { return t.out() || t.pairs >= turnPairs }

// out reports whether the turn has made all its requests. What has been compared is then acted upon in the next turn; that
// it has many Deployments keeps no coordination from acting, for then it never would.
func (t *turn) out() bool { return t.requests >= turnRequests }

// order is which coordinations to look at, beginning after the one that was looked at last.
func (t *turn) order() []int {
	var before, after []int
	for i := range t.around.coordinations {
		switch c := t.coordination(i); {
		case !t.todo.Has(c.UID):
		case c.Name <= t.last:
			before = append(before, i)
		default:
			after = append(after, i)
		}
	}
	return append(after, before...)
}

// release unpauses what coordinations paused and none matches any more: one may have been deleted, even without its
// finalizer, or it or the Deployment may have other labels now. What another one matches is for that to unpause in its
// turn.
func (t *turn) release(ctx context.Context) {
	t.unreleased = sets.New[string]()
	outdated := false
	for i := range t.around.deployments {
		d := &t.around.deployments[i]
		name, now := marked(d), t.clock.Now()
		wait := t.mayBeHandedOver(name)
		switch {
		case wait && name != "" && len(t.plan.matching[i]) == 0:
			t.again[d.UID] = t.ended[name].Add(handOver)
			continue // the finalizer does not wait: as long as it is there, nobody can create one of the same name
		case name == "" || len(t.plan.matching[i]) > 0:
			delete(t.again, d.UID)
			delete(t.failures, d.UID)
			continue
		case t.out():
			t.again[d.UID] = now
		case !now.Before(t.again[d.UID]):
			delete(t.again, d.UID)
			if outdated {
				break // the event leads back here
			}
			released, err := t.releaseOne(ctx, d)
			if released {
				continue
			}
			outdated = errors.Is(err, errOutdated)
		}
		t.unreleased.Insert(name)
	}
}

// mayBeHandedOver reports whether another coordination may yet come for what this one paused.
func (t *turn) mayBeHandedOver(name string) bool {
	ended, ok := t.ended[name]
	return ok && t.clock.Now().Before(ended.Add(handOver))
}

// releaseOne unpauses a Deployment that no coordination matches, unless the API server has one that the cache lacks: the
// policy may have paused the Deployment for that one.
func (t *turn) releaseOne(ctx context.Context, d *appsv1.Deployment) (released bool, err error) {
	if err = t.compare(ctx); err == nil {
		_, err = t.setPaused(ctx, d, false, pausing{})
	}
	switch {
	case err == nil:
		delete(t.failures, d.UID)
		t.tellReleased(d)
		return true, nil
	case errors.Is(err, errOutdated), hasChanged(err):
	default:
		klog.FromContext(ctx).Error(err, "Could not unpause a Deployment that no DeploymentCoordination matches, will retry")
		if t.failures[d.UID] == 0 {
			t.tellUnreleased(d, err)
		}
		t.scheduleRetry(d.UID, t.clock.Now())
	}
	return false, err
}

// setFinalizer puts our finalizer on a coordination, or takes it off one that is being deleted and has released all.
func (t *turn) setFinalizer(ctx context.Context, i int) error {
	before := t.coordination(i)
	if controllerutil.ContainsFinalizer(before, v1.Finalizer) == (before.DeletionTimestamp == nil) {
		return nil
	}
	after := before.DeepCopy() // the other belongs to the cache
	if after.DeletionTimestamp == nil {
		controllerutil.AddFinalizer(after, v1.Finalizer)
	} else {
		controllerutil.RemoveFinalizer(after, v1.Finalizer)
	}
	t.requests++
	if err := t.writer.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("set finalizer: %w", err)
	}
	t.written.note(after)
	t.around.coordinations[i] = *after
	return nil
}

// degrade reports why a coordination does nothing. Deployments are not touched.
func (t *turn) degrade(ctx context.Context, i int, reason, message string) error {
	c := t.coordination(i)
	t.pairs++
	message = printable.Line(message)
	if known := meta.FindStatusCondition(c.Status.Conditions, v1.ConditionDegraded); known != nil && known.Reason == reason &&
		known.Message == message && known.ObservedGeneration == c.Generation && len(c.Status.DeploymentStates) == 0 &&
		meta.IsStatusConditionTrue(c.Status.Conditions, v1.ConditionStalled) {
		return nil
	}
	status := v1.DeploymentCoordinationStatus{
		ObservedGeneration: c.Generation, Conditions: slices.Clone(c.Status.Conditions),
	}
	if reason == v1.ReasonInvalidSelector { // what it was doing is to go on when the selector can be read
		status.ActiveDeployment, status.ActiveSince = c.Status.ActiveDeployment, c.Status.ActiveSince
		status.Deployments, status.DeploymentStates = c.Status.Deployments, c.Status.DeploymentStates
		status.UnlistedDeployments = c.Status.UnlistedDeployments
		for _, kind := range []string{v1.ConditionReady, v1.ConditionProgressing} {
			meta.SetStatusCondition(&status.Conditions, metav1.Condition{
				Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message,
				ObservedGeneration: c.Generation, LastTransitionTime: *seconds(t.clock.Now()),
			})
		}
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1.ConditionReady)
		meta.RemoveStatusCondition(&status.Conditions, v1.ConditionProgressing)
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason, Message: message,
		ObservedGeneration: c.Generation, LastTransitionTime: *seconds(t.clock.Now()),
	})
	setStalled(&status.Conditions, v1.ConditionDegraded)
	if equality.Semantic.DeepEqual(&c.Status, &status) {
		return nil
	}
	klog.FromContext(ctx).V(4).Info("The DeploymentCoordination does nothing", "reason", reason, "message", message)
	before := c.Status
	if written, err := t.writeStatus(ctx, i, status, 1, false); err != nil || !written {
		return err
	}
	t.tell(Input{Coordination: t.coordination(i)}, before, Decision{Status: status})
	return nil
}

// confirm reports whether the decision may be applied as far as other coordinations matter to it: who is active elsewhere
// must not be read from a cache that lags, for the lock on our own status does not cover it. It asks before a Deployment
// gets its turn, and once after a start.
func (t *turn) confirm(ctx context.Context, i int, decision Decision) (bool, error) {
	if len(t.plan.groups[i]) == 1 || (t.compared && !decision.activates(t.coordination(i))) {
		return true, nil
	}
	err := t.compare(ctx)
	if errors.Is(err, errOutdated) {
		return false, nil
	}
	return err == nil, err
}

// compare asks the API server, once in a turn, whether it has the coordinations of the namespace as we do, and fails with
// errOutdated if it does not: the event that brings what it has leads back here.
func (t *turn) compare(ctx context.Context) error {
	if t.confirmed {
		return nil
	}
	live := &metav1.PartialObjectMetadataList{}
	live.SetGroupVersionKind(v1.GroupVersion.WithKind("DeploymentCoordinationList"))
	t.requests++
	err := t.live.List(ctx, live, client.InNamespace(t.name))
	if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) { // their definition may be gone
		return fmt.Errorf("list versions of DeploymentCoordinations: %w", err)
	}
	cached := map[types.UID]string{}
	for j := range t.around.coordinations {
		cached[t.coordination(j).UID] = t.coordination(j).ResourceVersion
		if !t.plan.subjects[j].counts {
			cached[t.coordination(j).UID] = "" // whatever it is now, it does not matter
		}
	}
	for j := range live.Items {
		version, known := cached[live.Items[j].UID]
		if !known || (version != "" && version != live.Items[j].ResourceVersion) {
			return errOutdated
		}
	}
	t.confirmed, t.compared = true, true
	return nil
}

// apply decides and does what was decided, in the one order in which it may be cut short anywhere: pause, record, unpause.
// Every write is on condition that the object is still the version that was decided from. What the API server refuses
// belongs to what is decided from: nobody gets the turn while a Deployment could not be paused, and status tells of it.
func (t *turn) apply(ctx context.Context, i int, in Input) (again time.Time, err error) {
	before := in.Coordination.Status
	var decision Decision
	for anew := true; anew; {
		decision = Decide(in)
		if known, err := t.confirm(ctx, i, decision); err != nil || !known {
			return time.Time{}, err
		}
		if anew, err = t.setAllPaused(ctx, in, &decision, decision.Pause, true); err != nil {
			return time.Time{}, err
		}
	}
	if recorded, err := t.record(ctx, i, in, decision); err != nil || !recorded {
		return decision.retry(in), err
	}
	if settled, err := t.handedOver(ctx, before, &decision); err != nil || !settled {
		return time.Time{}, err
	}
	anew, err := t.setAllPaused(ctx, in, &decision, append(decision.Unpause, decision.Unmark...), false)
	if err != nil {
		return time.Time{}, err
	}
	if anew {
		decision = Decide(in)
		if _, err = t.record(ctx, i, in, decision); err != nil {
			return time.Time{}, err
		}
	}
	return decision.retry(in), nil
}

// record writes the status of a decision if it says something new, and tells of it. It reports whether status says so: if it may not
// be written yet, what has been seen is remembered until its turn leads back here, and which Deployment is active does not change.
func (t *turn) record(ctx context.Context, i int, in Input, decision Decision) (recorded bool, err error) {
	before, status := t.coordination(i).Status, decision.Status
	if !sameStatus(&before, &status) {
		acts := before.ActiveDeployment != status.ActiveDeployment || len(decision.Unpause)+len(decision.Unmark) > 0
		written, err := t.writeStatus(ctx, i, status, len(eventsFor(before, decision)), acts)
		if err != nil {
			return false, err
		}
		if !written {
			t.remember(status.DeploymentStates)
			t.remember(decision.Unlisted)
			return false, nil
		}
		t.tell(in, before, decision)
	} else {
		t.turns.Forget(client.ObjectKeyFromObject(t.coordination(i)))
	}
	t.recorded(status.DeploymentStates)
	t.remember(decision.Unlisted)
	t.renew(in.Members)
	return true, nil
}

// setAllPaused pauses or unpauses Deployments. It goes on after one that the API server refuses, which is no reason to
// leave the others alone. It reports whether to decide anew, because something is refused that was not, or is not any more.
func (t *turn) setAllPaused(
	ctx context.Context, in Input, decision *Decision, keys []types.NamespacedName, paused bool,
) (anew bool, err error) {
	for _, key := range keys {
		if t.out() {
			return anew, errMore
		}
		m := &in.Members[slices.IndexFunc(in.Members, func(m Member) bool { return m.key() == key })]
		by := pausing{in.Coordination.Name, pauseReason(decision.state(m.name()))}
		switch written, err := t.setPaused(ctx, m.Deployment, paused, by); {
		case err == nil:
			switch {
			case !paused && m.pause() == pausedByUs:
				t.tellUnpaused(in.Coordination, m.Deployment)
			case paused && m.pause() == unpaused && m.Record != nil && m.Record.Paused && m.Record.TemplateHash == m.templateHash():
				t.tellReverted(in.Coordination, m.Deployment)
			}
			anew = anew || m.Refused != nil
			m.Deployment, m.Refused = written, nil
			delete(t.refusals, m.Deployment.UID)
		case hasChanged(err), !answered(err):
			return anew, err
		default:
			t.noteRefusal(ctx, m, paused, err)
			anew = true
		}
	}
	return anew, nil
}

// handedOver reports whether the Deployment that was active before still is as it was when the turn was taken from it. As
// long as it was active it could be changed without being paused; what came in time for that, but too late for the
// decision, is dealt with before the next may start. Its event leads to that.
func (t *turn) handedOver(ctx context.Context, before v1.DeploymentCoordinationStatus, decision *Decision) (bool, error) {
	if before.ActiveDeployment == "" || before.ActiveDeployment == decision.Status.ActiveDeployment {
		return true, nil
	}
	state, key := decision.state(before.ActiveDeployment), namespacedName(before.ActiveDeployment)
	if state == nil {
		return true, nil
	}
	var found appsv1.DeploymentList
	t.requests++
	if err := t.live.List(ctx, &found, client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name}); err != nil {
		return false, fmt.Errorf("look at %s: %w", key, err)
	}
	for i := range found.Items {
		m := Member{Deployment: &found.Items[i]}
		if m.pause() == unpaused && m.templateHash() != state.TemplateHash {
			return false, nil
		}
	}
	return true, nil
}

// setPaused pauses a Deployment and puts our mark on it, or unpauses it and takes the mark off. It returns what it is then.
func (t *turn) setPaused(ctx context.Context, d *appsv1.Deployment, paused bool, by pausing) (*appsv1.Deployment, error) {
	after := d.DeepCopy()
	after.Spec.Paused = paused
	if paused {
		if after.Annotations == nil {
			after.Annotations = map[string]string{}
		}
		after.Annotations[v1.PausedByAnnotation], after.Annotations[v1.PauseReasonAnnotation] = by.coordination, by.reason
	} else {
		handback.SetUnpaused(after)
	}
	t.requests++
	err := t.writer.Patch(ctx, after, client.MergeFromWithOptions(d, client.MergeFromWithOptimisticLock{}), fieldOwner)
	if err == nil && !paused && after.Spec.Paused { // the policy does not know that this is the controller
		t.requests += 2
		after, err = handback.Unpause(ctx, t.writer, after)
	}
	if err != nil {
		countWriteError("deployments", err)
		return nil, fmt.Errorf("set paused of Deployment %s/%s to %t: %w", d.Namespace, d.Name, paused, err)
	}
	t.written.note(after)
	return after, nil
}

// writeStatus replaces the whole status. Decisions that follow in this turn know of it. It reports false if that has to wait
// for other writes: its turn leads back here. It pays for the events that follow. If acts, a Deployment waits for it, and it waits for nothing.
func (t *turn) writeStatus(
	ctx context.Context, i int, status v1.DeploymentCoordinationStatus, events int, acts bool,
) (written bool, err error) {
	key := client.ObjectKeyFromObject(t.coordination(i))
	if acts {
		t.turns.Forget(key)
	} else if !t.turns.Turn(key, writeCost(&status)+events) {
		return false, nil
	}
	after := t.coordination(i).DeepCopy()
	after.Status = status
	t.requests++
	if err := t.writer.Status().Update(ctx, after, fieldOwner); err != nil {
		countWriteError("status", err)
		return false, fmt.Errorf("update status: %w", err)
	}
	t.written.note(after)
	t.around.coordinations[i] = *after
	return true, nil
}

// gather collects what the decision on a coordination is made from.
func (t *turn) gather(ctx context.Context, i int) (Input, error) {
	in := Input{Coordination: t.coordination(i), Now: t.clock.Now()}
	for _, j := range t.plan.groups[i] {
		if j == i {
			continue
		}
		other := t.coordination(j)
		in.Overlapping = append(in.Overlapping, other.Name)
		if in.Busy == "" {
			in.Busy = other.Status.ActiveDeployment
		}
	}
	in.Rolling = t.rollsElsewhere(i)
	for _, place := range t.plan.members[i] {
		d := &t.around.deployments[place]
		m := Member{Deployment: d, ReplicaSets: t.replicaSets[d.UID], Elsewhere: t.handler(place) != i, Record: t.records[d.UID]}
		m.known, m.Refused = t.template(&m), t.refusals[d.UID]
		if !m.rolledOut(m.Record) {
			m.Hold = t.hold(place)
		}
		in.Members = append(in.Members, m)
	}
	t.pairs += 1 + len(in.Members)
	since, err := t.readySince(ctx, in)
	in.ReadySince = since
	return in, err
}

// handler is the coordination that pauses and unpauses the Deployment: of those that match it the one for which it is
// active, and else the first by name. One of them must match.
func (t *turn) handler(place int) int {
	d := &t.around.deployments[place]
	name := types.NamespacedName{Namespace: d.Namespace, Name: d.Name}.String()
	for _, i := range t.plan.matching[place] {
		if t.coordination(i).Status.ActiveDeployment == name {
			return i
		}
	}
	return t.plan.matching[place][0]
}

// hold is what would hold new pods of the Deployment. It is worked out once in a turn, however many coordinations match the Deployment.
func (t *turn) hold(place int) sequence.Hold {
	hold, ok := t.holds[place]
	if !ok {
		hold = t.wouldHold(&t.around.deployments[place])
		if t.holds == nil {
			t.holds = map[int]sequence.Hold{}
		}
		t.holds[place] = hold
	}
	return hold
}

// readySince is since when the pods of the active Deployment's rollout have been ready, once that matters. It asks for the
// pods when the rollout is complete, when the cached ReplicaSet says that something about them has changed, and when the
// wait is over by what is known, or could be: so that a pod which was unready for a moment is noticed, and other events
// cost nothing. A watch would keep all pods of the cluster.
func (t *turn) readySince(ctx context.Context, in Input) (*time.Time, error) {
	if in.Coordination.Spec.MinReadySeconds == 0 {
		return nil, nil
	}
	for i := range in.Members {
		m := &in.Members[i]
		record := m.Record
		if m.name() != in.Coordination.Status.ActiveDeployment || !m.rolledOut(record) || m.template().current == nil {
			continue
		}
		known, ok := t.readiness[m.Deployment.UID]
		wanted, version := m.wantedReady(record), m.template().current.ResourceVersion
		if ok && known.replicaSet == version && known.wanted == wanted && !known.over(record, in) {
			return known.since, nil
		}
		pods, err := t.pods(ctx, m)
		if err != nil {
			return nil, err
		}
		since := readySince(pods, wanted, in.Now)
		t.readiness[m.Deployment.UID] = knownReadiness{version, wanted, in.Now, since}
		return since, nil
	}
	return nil, nil
}

// pods are those of the Deployment's present template.
func (t *turn) pods(ctx context.Context, m *Member) ([]corev1.Pod, error) {
	current := m.template().current
	selector, err := metav1.LabelSelectorAsSelector(current.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("read selector of ReplicaSet %s: %w", current.Name, err)
	}
	var pods corev1.PodList
	t.requests++
	if err := t.live.List(ctx, &pods, client.InNamespace(current.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("list pods of %s: %w", m.name(), err)
	}
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, current) }), nil
}

// look does what is to be done about one coordination, and puts down when to come back to it. When what was decided from
// turns out to be old - a write conflicts - it leaves it at that: the event that brings the newer object leads back here.
func (t *turn) look(ctx context.Context, i int) {
	c := t.coordination(i)
	uid, log := c.UID, klog.FromContext(ctx).WithValues("deploymentCoordination", klog.KObj(c))
	t.last = c.Name
	delete(t.again, uid)
	again, err := t.settle(klog.NewContext(ctx, log), i)
	switch {
	case errors.Is(err, errMore):
		return // it is still to be done
	case errors.Is(err, errUnreleased):
		t.scheduleRetry(uid, t.clock.Now())
	case hasChanged(err):
		log.V(4).Info("Objects changed in the meantime, will decide again", "err", err)
	case err != nil:
		log.Error(err, "Could not apply the decision, will retry")
		t.scheduleRetry(uid, t.clock.Now())
	default:
		delete(t.failures, uid)
		if !again.IsZero() {
			t.again[uid] = again
		}
	}
	if err != nil {
		t.confirmed = false // it is unknown whether the write was done
	}
	t.todo.Delete(uid)
}

// settle takes a coordination as far as it can go now.
func (t *turn) settle(ctx context.Context, i int) (again time.Time, err error) {
	c := t.coordination(i)
	if c.DeletionTimestamp != nil {
		if t.unreleased.Has(c.Name) {
			return time.Time{}, errUnreleased
		}
		return time.Time{}, t.setFinalizer(ctx, i)
	}
	if !t.plan.subjects[i].counts {
		return time.Time{}, t.degrade(ctx, i, v1.ReasonTooManyCoordinations, fmt.Sprintf(
			"only the %d oldest DeploymentCoordinations of a namespace count, and this one is newer: delete some, "+
				"or ask the administrator to raise --max-deployment-coordinations of podsequence-controller", t.limit))
	}
	if err := t.setFinalizer(ctx, i); err != nil {
		return time.Time{}, err
	}
	if problem := t.plan.problems[i]; problem != nil {
		return time.Time{}, t.degrade(ctx, i, v1.ReasonInvalidSelector, problem.Error())
	}
	in, err := t.gather(ctx, i)
	if err != nil {
		return time.Time{}, err
	}
	return t.apply(ctx, i, in)
}

// readRecords collects what is on record of the Deployments that a coordination matches. It is in the status of the one in
// whose hands the Deployment is. When it has just come there, it still is in the status of the one before, which may be written first: so
// it is remembered until the new one has it.
func (t *turn) readRecords() {
	places := make(map[types.UID]int, len(t.around.deployments))
	for place := range t.around.deployments {
		if uid := t.around.deployments[place].UID; len(t.plan.matching[place]) > 0 {
			places[uid] = place
		} else {
			delete(t.remembered, uid)
		}
	}
	t.records = make(records, len(places))
	passing := map[types.UID]bool{} // from one coordination to another
	for i := range t.around.coordinations {
		states := t.coordination(i).Status.DeploymentStates
		for s := range states {
			place, matched := places[states[s].UID]
			if _, known := t.records[states[s].UID]; matched && (!known || t.handler(place) == i) {
				t.records[states[s].UID] = &states[s]
				passing[states[s].UID] = t.handler(place) != i
			}
		}
	}
	for uid, isPassing := range passing {
		if _, remembered := t.remembered[uid]; isPassing && !remembered {
			t.remembered[uid] = t.records[uid].DeepCopy()
		}
	}
	for uid, state := range t.remembered {
		t.records[uid] = state
	}
}

// remember keeps states that are not on record in the API.
func (t *turn) remember(states []v1.DeploymentState) {
	t.remembered.add(states)
	t.records.add(states)
}

// recorded notes that states are on record in the API.
func (t *turn) recorded(states []v1.DeploymentState) {
	for i := range states {
		delete(t.remembered, states[i].UID)
	}
	t.records.add(states)
}

// renew gives the members what is on record of them by now.
func (t *turn) renew(members []Member) {
	for i := range members {
		members[i].Record = t.records[members[i].Deployment.UID]
	}
}

// noteRefusal notes that a Deployment could not be paused or unpaused. It is tried again, each time after twice as long.
func (t *turn) noteRefusal(ctx context.Context, m *Member, pause bool, err error) {
	r := &refusal{pause: pause, message: shorten(err.Error())}
	if before := t.refusals[m.Deployment.UID]; before != nil && before.pause == pause {
		r.times = before.times
	}
	wait := backOff(r.times)
	r.until = t.clock.Now().Add(wait)
	r.times++
	t.refusals[m.Deployment.UID], m.Refused = r, r
	klog.FromContext(ctx).Error(err, "The API server refused a write, will retry", "deployment", m.key(), "after", wait)
}

// rollsElsewhere names a Deployment that rolls out unpaused and is in the hands of another coordination that overlaps with
// this one, as namespace/name. It is empty if there is none. Nothing may start beside it, active or not: somebody may have
// unpaused it, it may not have been paused yet, or it cannot be.
func (t *turn) rollsElsewhere(i int) string {
	if len(t.plan.groups[i]) == 1 {
		return ""
	}
	if t.rolling == nil {
		t.rolling = t.findRolling()
	}
	for _, place := range t.rolling {
		if handler := t.handler(place); handler != i && t.plan.groups[handler][0] == t.plan.groups[i][0] {
			m := Member{Deployment: &t.around.deployments[place]}
			return m.name()
		}
	}
	return ""
}

// findRolling returns the places of the Deployments that roll out unpaused, as the turn found them.
func (t *turn) findRolling() []int {
	rolling := []int{}
	for place := range t.around.deployments {
		d := &t.around.deployments[place]
		if d.Spec.Paused || len(t.plan.matching[place]) == 0 || deployments.IsComplete(d) {
			continue
		}
		m := Member{Deployment: d, ReplicaSets: t.replicaSets[d.UID]}
		m.known = t.template(&m)
		if !m.rolledOut(t.records[d.UID]) {
			rolling = append(rolling, place)
		}
	}
	return rolling
}
