package deploymentcoordination

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/pkg/controllers/deploymentcoordination/handback"
)

// fieldOwner is who our writes say they come from.
const fieldOwner = handback.FieldOwner

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

// pausing is who pauses a Deployment, and why.
type pausing struct{ coordination, reason string }

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

// statesPerWrite is how many states of Deployments more cost the API server as much as another small status. Measured with
// Kubernetes 1.37.1: the write of a status without states takes it 3.5 ms of processor time, one of 64 states 19 ms.
const statesPerWrite = 14

// writeCost is how many small statuses the write of this one is equal to; 1 is the least.
func writeCost(status *v1.DeploymentCoordinationStatus) int {
	return 1 + len(status.DeploymentStates)/statesPerWrite
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

// sameStatus reports whether there is nothing worth writing: that the generation of a Deployment has changed is not.
func sameStatus(before, after *v1.DeploymentCoordinationStatus) bool {
	if len(before.DeploymentStates) != len(after.DeploymentStates) {
		return false
	}
	after = after.DeepCopy()
	for i := range after.DeploymentStates {
		after.DeploymentStates[i].Generation = before.DeploymentStates[i].Generation
	}
	return equality.Semantic.DeepEqual(before, after)
}

// namespacedName takes a name in status apart.
func namespacedName(name string) types.NamespacedName {
	namespace, object, _ := strings.Cut(name, "/")
	return types.NamespacedName{Namespace: namespace, Name: object}
}
