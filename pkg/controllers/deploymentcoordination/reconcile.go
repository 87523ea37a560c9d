package deploymentcoordination

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/internal/statusbudget"
)

// reconciler does for the coordinations of one namespace what Decide says. Those that overlap must know of each other's
// decisions: so never more than one reconcile works on a namespace, and it takes one coordination after another.
type reconciler struct {
	cached   client.Reader
	live     client.Reader
	writer   client.Client
	recorder events.EventRecorder
	clock    clock.PassiveClock
	holder   Holder // nil if there are no PodSequences
	// limit is how many coordinations of a namespace count.
	limit int
	// turns say when a status may be written.
	turns      statusbudget.Turns
	namespaces *namespaces
}

// Reconcile takes a turn with a namespace: the request has no name. What a turn does is bounded; if there is more to do,
// the namespace comes again after all others that wait.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	n := r.namespaces.enter(request.Namespace)
	more, err := r.turn(ctx, request.Namespace, n)
	if errors.Is(err, errLags) {
		return reconcile.Result{}, nil // the event that brings what we wrote leads back here
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	switch next := n.next(); {
	case more:
		return reconcile.Result{RequeueAfter: turnPause}, nil
	case !next.IsZero():
		return reconcile.Result{RequeueAfter: max(next.Sub(r.clock.Now()), time.Nanosecond)}, nil // zero would mean never
	}
	return reconcile.Result{}, nil
}

// turn looks at coordinations of the namespace until it has done enough for one turn. It reports whether some are left.
func (r *reconciler) turn(ctx context.Context, name string, n *namespace) (more bool, err error) {
	around, err := r.surroundings(ctx, name)
	if err != nil {
		return false, err
	}
	n.keep(around)
	if !around.concern() {
		r.namespaces.leave(name)
		countNamespace(name, nil, nil)
		return false, nil
	}
	if n.lags(around) {
		return false, errLags
	}
	n.noteEnded(around, r.clock.Now())
	n.collectDue(around, r.clock.Now())
	n.plan = planFor(n.plan, around, r.limit)
	r.namespaces.measure(n)
	t := &turn{reconciler: r, namespace: n, name: name, around: around, plan: n.plan}
	if t.replicaSets, err = r.replicaSets(ctx, name); err != nil {
		return false, err
	}
	t.readRecords()
	defer func() { countNamespace(name, t.around.coordinations, t.remembered) }()
	t.release(ctx)
	for _, i := range t.order() {
		if t.spent() {
			return true, nil
		}
		t.look(ctx, i)
	}
	return n.todo.Len() > 0, nil
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
		t.confirmed = false // nobody knows whether the write was done
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
