package release

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/holds"
)

// How long, and how often, the API server is asked whether its policies hold new pods.
const (
	admissionPatience = 5 * time.Second
	admissionInterval = 250 * time.Millisecond
)

// optInLabel is on namespaces whose new pods an admission policy gives to podsequence-scheduler.
const (
	optInLabel = "podsequence.example.com/scheduling"
	optIn      = "enabled"
)

// checkPermissions returns an error that names every permission that the plan needs and the user does not have, before anything is
// changed.
func (r *Releaser) checkPermissions(ctx context.Context, w holds.Workload, hold holds.Hold, plan PodPlan) error {
	k := kinds[w.Kind]
	var needed []authorizationv1.ResourceAttributes
	if (hold != holds.Hold{}) {
		needed = append(needed, authorizationv1.ResourceAttributes{Verb: "patch", Group: k.Group, Resource: k.resource, Name: w.Name})
	}
	if plan.has(Lift) {
		needed = append(needed, authorizationv1.ResourceAttributes{Verb: "patch", Resource: "pods"})
	}
	if plan.has(Delete) {
		needed = append(needed, authorizationv1.ResourceAttributes{Verb: "delete", Resource: "pods"})
	}
	var missing []string
	for i := range needed {
		needed[i].Namespace = w.Namespace
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &needed[i]}}
		if err := r.client.Create(ctx, review); err != nil {
			return fmt.Errorf("ask what the user may do: %w", err)
		}
		if !review.Status.Allowed {
			missing = append(missing, needed[i].Verb+" "+needed[i].Resource)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("you may not %s in namespace %s, so nothing was changed: ask for the role edit there",
			strings.Join(missing, " and "), w.Namespace)
	}
	return nil
}

// whoami returns the name of the user.
func (r *Releaser) whoami(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := r.client.Create(ctx, review); err != nil || review.Status.UserInfo.Username == "" {
		return "somebody"
	}
	return review.Status.UserInfo.Username
}

// checkAdmission returns an error if an admission policy would hold the new pods of the workload again. It asks the API server by
// the dry run of such a pod. If the API server refuses that pod for another reason, the label of the namespace decides.
func (r *Releaser) checkAdmission(
	ctx context.Context, world World, w holds.Workload, hold holds.Hold, kept bool, plan PodPlan, o Options,
) error {
	if (hold == holds.Hold{}) && !plan.has(Delete) {
		return nil // no pod is created
	}
	namespace := &corev1.Namespace{}
	err := r.client.Get(ctx, client.ObjectKey{Name: w.Namespace}, namespace)
	optsIn := err == nil && namespace.Labels[optInLabel] == optIn
	if o.DryRun != DryRunClient {
		var again holds.Hold
		// The API server may not know yet that the label of the namespace was removed just now. No request is cut off when time is up.
		patience := min(o.Patience, admissionPatience)
		err := wait.PollUntilContextTimeout(ctx, admissionInterval, patience, true, func(context.Context) (bool, error) {
			var err error
			again, err = r.tryPod(ctx, world, w, hold)
			return optsIn || kept || again == (holds.Hold{}), err
		})
		switch {
		case errors.Is(err, errTemplate):
			return err
		case err == nil && again == (holds.Hold{}):
			return nil
		case err == nil && !optsIn, wait.Interrupted(err) && ctx.Err() == nil:
			return heldAgain(w, again, kept)
		}
	}
	if !optsIn {
		return nil
	}
	return fmt.Errorf("namespace %s opts in, so an admission policy would give the new pods of %s to podsequence-scheduler again. "+
		"Nothing was changed. Remove the label first, then run this command again:\n  kubectl label namespace %s %s-",
		w.Namespace, w, w.Namespace, optInLabel)
}

func heldAgain(w holds.Workload, again holds.Hold, kept bool) error {
	if kept {
		return fmt.Errorf("new pods of %s would get %s again, because of the label %s, which cannot be removed: the selector of %s needs "+
			"it. Nothing was changed. Create %s again without the label in its selector", w, again, v1alpha1.SequenceLabel, w, w)
	}
	return fmt.Errorf("new pods of %s would get %s again: an admission policy or a webhook adds it. Nothing was changed. "+
		"Find it, and remove it first: kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations", w, again)
}

// errTemplate says that the API server refuses the change of the template.
var errTemplate = errors.New("the API server refuses the change")

// tryPod returns what would hold a new pod of the workload.
func (r *Releaser) tryPod(ctx context.Context, world World, w holds.Workload, hold holds.Hold) (holds.Hold, error) {
	workload := world.Workload
	if (hold != holds.Hold{}) {
		var err error
		if workload, err = r.patchTemplate(ctx, world, w, hold, true); err != nil {
			return holds.Hold{}, fmt.Errorf("%w: %w", errTemplate, err)
		}
	}
	_, template := holds.TemplateOf(workload)
	if template == nil {
		return holds.Hold{}, nil
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: w.Name + "-", Namespace: w.Namespace, Labels: template.Labels, Annotations: template.Annotations,
		},
		Spec: *template.Spec.DeepCopy(),
	}
	if set, isSet := workload.(*appsv1.StatefulSet); isSet {
		for _, claim := range set.Spec.VolumeClaimTemplates {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim.Name}) // an emptyDir in place of the claim
		}
	}
	if err := r.client.Create(ctx, pod, client.DryRunAll); err != nil {
		return holds.Hold{}, fmt.Errorf("try a pod: %w", err)
	}
	return r.planner.InSpec(&pod.Spec), nil
}
