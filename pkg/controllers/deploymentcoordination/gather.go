package deploymentcoordination

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/pkg/sequence"
)

// surroundings is what there is in a namespace. Its objects belong to the cache: read only.
type surroundings struct {
	coordinations []v1.DeploymentCoordination // sorted by name
	deployments   []appsv1.Deployment         // sorted by name, without those that are being deleted
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

// concern reports whether there is anything for us to do.
func (s surroundings) concern() bool {
	return len(s.coordinations) > 0 ||
		slices.ContainsFunc(s.deployments, func(d appsv1.Deployment) bool { return marked(&d) != "" })
}

// lags reports whether some object is not yet in the cache as we wrote it.
func (n *namespace) lags(around surroundings) bool {
	if len(n.written) == 0 {
		return false
	}
	for i := range around.coordinations {
		if n.written.lags(&around.coordinations[i]) {
			return true
		}
	}
	for i := range around.deployments {
		if n.written.lags(&around.deployments[i]) {
			return true
		}
	}
	return false
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

// hold is what would hold new pods of the Deployment. It is asked for once in a turn, whoever matches the Deployment.
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
