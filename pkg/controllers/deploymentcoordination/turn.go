package deploymentcoordination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
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
	"example.com/podsequence/internal/printable"
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
	// holds are what would hold the pods of Deployments, by their place, as far as somebody asked.
	holds map[int]sequence.Hold
	// rolling are the places of Deployments that roll out unpaused. It is nil until somebody asks.
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

// activates reports whether the decision makes a Deployment roll out that did not before.
func (d *Decision) activates(c *v1.DeploymentCoordination) bool {
	active := d.Status.ActiveDeployment
	return active != "" && (active != c.Status.ActiveDeployment || slices.Contains(d.Unpause, namespacedName(active)))
}
