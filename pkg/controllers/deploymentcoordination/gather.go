package deploymentcoordination

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
)

// surroundings is what there is in a coordination's namespace. Its objects belong to the cache: read only.
type surroundings struct {
	coordinations []v1.DeploymentCoordination
	deployments   []appsv1.Deployment // sorted by name, without those that are being deleted
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
	alive := slices.DeleteFunc(deployments.Items, func(d appsv1.Deployment) bool { return d.DeletionTimestamp != nil })
	slices.SortFunc(alive, func(a, b appsv1.Deployment) int { return cmp.Compare(a.Name, b.Name) })
	return surroundings{coordinations.Items, alive}, nil
}

// gather collects what the decision is made from. The claim's coordination is the newest that we know.
func (r *reconciler) gather(ctx context.Context, own claim, around surroundings) (Input, error) {
	in := Input{Coordination: own.coordination, Now: r.clock.Now()}
	all := claims(around.coordinations)
	others := overlapping(own.coordination.Name, around.deployments, all)
	if len(others) > 0 {
		// Who is active elsewhere must not be read from a cache that lags: the lock on our own status does not cover it.
		var live v1.DeploymentCoordinationList
		if err := r.live.List(ctx, &live, client.InNamespace(own.coordination.Namespace)); err != nil {
			return Input{}, fmt.Errorf("list overlapping DeploymentCoordinations: %w", err)
		}
		all = claims(live.Items)
		in.Overlapping, in.Busy = sets.List(others), busy(all, others)
	}
	byOwner, err := r.replicaSets(ctx, own.coordination.Namespace)
	if err != nil {
		return Input{}, err
	}
	for i := range around.deployments {
		d := &around.deployments[i]
		if !own.matches(d) {
			continue
		}
		in.Members = append(in.Members, Member{
			Deployment: d, ReplicaSets: byOwner[d.UID], Hold: r.wouldHold(d),
			Elsewhere: handlerOf(d, all) != own.coordination.Name,
		})
	}
	in.ReadySince, err = r.readySince(ctx, in)
	return in, err
}

// busy is the active Deployment of one of the coordinations.
func busy(all []claim, of sets.Set[string]) string {
	for _, c := range all {
		if active := c.coordination.Status.ActiveDeployment; of.Has(c.coordination.Name) && active != "" {
			return active
		}
	}
	return ""
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

// readySince asks for the pods of the active Deployment once it has rolled out, if it matters since when they have been
// ready. That is one request at the end of a rollout and one at the end of the wait, where a watch would keep all pods of
// the cluster.
func (r *reconciler) readySince(ctx context.Context, in Input) (*time.Time, error) {
	if in.Coordination.Spec.MinReadySeconds == 0 {
		return nil, nil
	}
	for i := range in.Members {
		m := &in.Members[i]
		if m.name() != in.Coordination.Status.ActiveDeployment || !m.complete() {
			continue
		}
		current := deploymentutil.FindNewReplicaSet(m.Deployment, m.ReplicaSets)
		if current == nil {
			return nil, nil
		}
		selector, err := metav1.LabelSelectorAsSelector(current.Spec.Selector)
		if err != nil {
			return nil, fmt.Errorf("read selector of ReplicaSet %s: %w", current.Name, err)
		}
		var pods corev1.PodList
		if err := r.live.List(ctx, &pods, client.InNamespace(current.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return nil, fmt.Errorf("list pods of %s: %w", m.name(), err)
		}
		return readySince(pods.Items, in.Now), nil
	}
	return nil, nil
}
