package deploymentcoordination

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/internal/printable"
	"example.com/podsequence/internal/statusbudget"
	"example.com/podsequence/pkg/sequence"
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

// enqueue asks for a namespace, whose changes are noted first. Whom an object concerns is worked out there: it may concern
// one that does not match it any more. Unless it does always, a change does not matter in a namespace without
// coordinations.
func (r *reconciler) enqueue(q queue, namespace string, always bool) {
	if interest, wait := r.namespaces.note(namespace, always); interest {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace}}, wait)
	}
}

// mayWrite asks for the namespace of a coordination whose status may be written now.
func (r *reconciler) mayWrite(q queue, coordination types.NamespacedName) {
	if r.namespaces.mayWrite(coordination) {
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: coordination.Namespace}})
	}
}

// inNamespace is for a change of what holds pods.
func (r *reconciler) inNamespace(q queue, namespace string) { r.enqueue(q, namespace, false) }

// handler asks for the namespace of an object that matters, as it is or was.
func (r *reconciler) handler(matters matters) handler.EventHandler {
	look := func(q queue, objects ...client.Object) {
		for _, object := range objects {
			if always, otherwise := matters(object); always || otherwise {
				r.enqueue(q, object.GetNamespace(), always)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e ctrlevent.CreateEvent, q queue) { look(q, e.Object) },
		UpdateFunc: func(_ context.Context, e ctrlevent.UpdateEvent, q queue) { look(q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e ctrlevent.DeleteEvent, q queue) {
			if c, ok := e.Object.(*v1.DeploymentCoordination); ok {
				r.turns.Forget(client.ObjectKeyFromObject(c))
			}
			look(q, e.Object)
		},
	}
}

// tell sends the events of a status that has been written.
func (r *reconciler) tell(in Input, before v1.DeploymentCoordinationStatus, decision Decision) {
	if !in.Now.IsZero() { // else nothing was decided: it counts no more, or cannot be read
		observeTurn(&before, &decision.Status, in.Now)
	}
	for _, e := range eventsFor(before, decision) {
		var related *appsv1.Deployment
		for i := range in.Members {
			if in.Members[i].name() == e.deployment {
				related = in.Members[i].Deployment
			}
		}
		r.send(in.Coordination, related, e)
	}
}

func (r *reconciler) tellUnpaused(c *v1.DeploymentCoordination, d *appsv1.Deployment) {
	r.send(c, d, event{corev1.EventTypeNormal, v1.EventDeploymentUnpaused, actionUnpause, "",
		fmt.Sprintf("%s/%s is unpaused", d.Namespace, d.Name)})
}

// tellReverted tells of what the policy prevents where there is one.
func (r *reconciler) tellReverted(c *v1.DeploymentCoordination, d *appsv1.Deployment) {
	r.send(c, d, event{corev1.EventTypeWarning, v1.ReasonPauseReverted, actionPause, "", fmt.Sprintf(
		"somebody else unpaused %s/%s before its turn, and it is paused again: configure GitOps tools to ignore spec.paused", d.Namespace, d.Name)})
}

// tellReleased is on the Deployment: there may be no coordination any more.
func (r *reconciler) tellReleased(d *appsv1.Deployment) {
	r.recorder.Eventf(d, nil, corev1.EventTypeNormal, v1.EventDeploymentUnpaused, actionUnpause,
		"unpaused, because no DeploymentCoordination matches it any more")
}

// tellUnreleased is on the Deployment for the same reason.
func (r *reconciler) tellUnreleased(d *appsv1.Deployment, err error) {
	r.recorder.Eventf(d, nil, corev1.EventTypeWarning, v1.ReasonUnpauseFailed, actionUnpause,
		"no DeploymentCoordination matches it any more, but it could not be unpaused; the API server answered: %s", shorten(err.Error()))
}

func (r *reconciler) send(c *v1.DeploymentCoordination, d *appsv1.Deployment, e event) {
	note := printable.Note(e.note)
	if d == nil { // a nil pointer would not be a nil object
		r.recorder.Eventf(c, nil, e.kind, e.reason, e.action, "%s", note)
		return
	}
	r.recorder.Eventf(c, d, e.kind, e.reason, e.action, "%s", note)
}

func (r *reconciler) surroundings(ctx context.Context, namespace string) (surroundings, error) {
	var coordinations v1.DeploymentCoordinationList
	if err := r.cached.List(ctx, &coordinations, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return surroundings{}, fmt.Errorf("list DeploymentCoordinations: %w", err)
	}
	var deployments appsv1.DeploymentList
	if err := r.cached.List(ctx, &deployments, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return surroundings{}, fmt.Errorf("list Deployments: %w", err)
	}
	s := surroundings{coordinations: coordinations.Items}
	slices.SortFunc(s.coordinations, func(a, b v1.DeploymentCoordination) int { return cmp.Compare(a.Name, b.Name) })
	s.deployments = slices.DeleteFunc(deployments.Items, func(d appsv1.Deployment) bool { return d.DeletionTimestamp != nil })
	slices.SortFunc(s.deployments, func(a, b appsv1.Deployment) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

// replicaSets are those of the namespace, by the UID of their Deployment.
func (r *reconciler) replicaSets(ctx context.Context, namespace string) (map[types.UID][]*appsv1.ReplicaSet, error) {
	var list appsv1.ReplicaSetList
	if err := r.cached.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ReplicaSets: %w", err)
	}
	byOwner := map[types.UID][]*appsv1.ReplicaSet{}
	for i := range list.Items {
		if owner := metav1.GetControllerOfNoCopy(&list.Items[i]); owner != nil {
			byOwner[owner.UID] = append(byOwner[owner.UID], &list.Items[i])
		}
	}
	return byOwner, nil
}

// wouldHold is what would hold the pods of the Deployment's present template; nothing as long as that is not known.
func (r *reconciler) wouldHold(d *appsv1.Deployment) sequence.Hold {
	if r.holder == nil {
		return sequence.Hold{}
	}
	template := &d.Spec.Template
	hold, _ := r.holder.WouldHold(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Labels: template.Labels, Annotations: template.Annotations},
		Spec:       template.Spec,
	})
	return hold
}
