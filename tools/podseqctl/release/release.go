package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/stale"
	"example.com/podsequence/tools/holds"
)

// EventReleaseRequested is the reason of the event on a released workload.
const EventReleaseRequested = "ReleaseRequested"

// fieldManager names this tool in metadata.managedFields and in events.
const fieldManager = "kubectl-podseq"

// DryRun says how much of a release happens, as the flag --dry-run of kubectl does.
type DryRun string

// The values of the flag.
const (
	DryRunNone   DryRun = "none"
	DryRunServer DryRun = "server" // the API server checks everything and stores nothing
	DryRunClient DryRun = "client" // only reads
)

// Options say how to release.
type Options struct {
	// Reason is why, for the event.
	Reason string
	DryRun DryRun
	// Now is the time of the event.
	Now time.Time
	// Patience is how long to wait until the controller of the workload notices the changed template.
	Patience time.Duration
}

// Done is one change that was made, or, in a dry run, that would be made.
type Done struct {
	Action, Object, Detail string
}

// Result says what came of a release.
type Result struct {
	Done []Done
	// StayHeld says which pods stay held, and what to do about them.
	StayHeld []string
	// Notes say what else follows.
	Notes []string
	// NoEvent says why no event was written; nil if one was.
	NoEvent error
}

// Releaser releases workloads.
type Releaser struct {
	client  client.Client
	planner Planner
}

// New returns a Releaser. The client's scheme must know the kinds of Kubernetes.
func New(c client.Client, finder holds.Finder) *Releaser {
	return &Releaser{client: c, planner: Planner{finder}}
}

// Release releases one workload. The result is what was done, even if there is an error.
func (r *Releaser) Release(ctx context.Context, w holds.Workload, o Options) (*Result, error) {
	result := &Result{}
	world, err := r.read(ctx, w)
	if err != nil {
		return result, err
	}
	if err := r.refuse(ctx, world, w); err != nil {
		return result, err
	}
	hold, kept := r.planner.Template(world.Workload)
	plan := r.planner.Pods(world, hold != holds.Hold{})
	if (hold == holds.Hold{}) && len(plan.Steps) == 0 {
		result.StayHeld, result.Notes = plan.StayHeld, plan.Notes
		result.noteTemplate(world, w, hold, kept)
		return result, nil
	}
	if err := r.checkPermissions(ctx, w, hold, plan); err != nil {
		return result, err
	}
	if err := r.checkAdmission(ctx, world, w, hold, kept, plan, o); err != nil {
		return result, err
	}
	if (hold != holds.Hold{}) {
		if world, err = r.changeTemplate(ctx, world, w, hold, result, o); err != nil {
			return result, err
		}
		plan = r.planner.Pods(world, true) // an admission policy may have changed the workload as well
	}
	r.record(ctx, world, w, result, o)
	if plan, err = r.afterController(ctx, world, w, hold, plan, o); err != nil {
		return result, err
	}
	for _, step := range plan.Steps {
		if err := r.apply(ctx, w, step, result, o); err != nil {
			return result, err
		}
	}
	result.StayHeld, result.Notes = append(result.StayHeld, plan.StayHeld...), append(result.Notes, plan.Notes...)
	result.noteTemplate(world, w, hold, kept)
	return result, nil
}

// changeTemplate patches the workload. The patch names the UID: an object that was made again meanwhile is another one.
func (r *Releaser) changeTemplate(
	ctx context.Context, world World, w holds.Workload, hold holds.Hold, result *Result, o Options,
) (World, error) {
	result.Done = append(result.Done, Done{"patched", w.String(), "removed from the template: " + hold.String()})
	if o.DryRun == DryRunClient {
		return world, nil
	}
	patched, err := r.patchTemplate(ctx, world, w, hold, o.DryRun == DryRunServer)
	if err != nil {
		result.Done = nil
		return world, err
	}
	world.Workload = patched
	return world, nil
}

func (r *Releaser) patchTemplate(ctx context.Context, world World, w holds.Workload, hold holds.Hold, dryRun bool) (client.Object, error) {
	patched := world.Workload.DeepCopyObject().(client.Object)
	if err := r.client.Patch(ctx, patched, patchOf(world.Workload, w.Patch(hold)), patchOptions(dryRun)...); err != nil {
		return nil, fmt.Errorf("change the template of %s: %w", w, err)
	}
	return patched, nil
}

func patchOf(object client.Object, patch map[string]any) client.Patch {
	metadata, _ := patch["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["uid"] = object.GetUID()
	patch["metadata"] = metadata
	text, err := json.Marshal(patch)
	if err != nil {
		panic(err) // of maps of strings
	}
	return client.RawPatch(types.StrategicMergePatchType, text)
}

func patchOptions(dryRun bool) []client.PatchOption {
	options := []client.PatchOption{client.FieldOwner(fieldManager)}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	return options
}

// afterController waits until the controller of the workload has noticed the changed template, if pods are to be deleted: it would
// create them from the old template again. The pods are read again, because it may have created or replaced some in the meantime.
func (r *Releaser) afterController(
	ctx context.Context, world World, w holds.Workload, hold holds.Hold, plan PodPlan, o Options,
) (PodPlan, error) {
	if (hold == holds.Hold{}) || !plan.has(Delete) || o.DryRun != DryRunNone {
		return plan, nil
	}
	generation := world.Workload.GetGeneration()
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, o.Patience, true, func(context.Context) (bool, error) {
		var err error
		world, err = r.read(ctx, w)
		return err == nil && world.Workload.GetGeneration() >= generation && isNoticed(world.Workload), err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return plan, fmt.Errorf("the template of %s is changed, but its controller has not noticed it within %s: does kube-controller-manager "+
			"run? No pod was deleted; run this command again", w, o.Patience)
	}
	if err != nil {
		return plan, err
	}
	fresh := r.planner.Pods(world, true)
	return PodPlan{Steps: fresh.Steps, StayHeld: fresh.StayHeld, Notes: plan.Notes}, nil
}

// apply changes one pod.
func (r *Releaser) apply(ctx context.Context, w holds.Workload, step PodStep, result *Result, o Options) error {
	name := "pod/" + step.Pod.Name
	done := Done{"patched", name, "removed " + step.Hold.String()}
	if step.Action == Delete {
		done = Done{"deleted", name, w.Kind + " creates it again"}
	}
	if o.DryRun != DryRunClient {
		change := r.lift
		if step.Action == Delete {
			change = r.delete
		}
		changed, err := change(ctx, step, o.DryRun == DryRunServer)
		if err != nil {
			return fmt.Errorf("release %s: %w", name, err)
		}
		if !changed {
			return nil // it is gone, or has a node
		}
	}
	result.Done = append(result.Done, done)
	return nil
}

func (r *Releaser) lift(ctx context.Context, step PodStep, dryRun bool) (changed bool, err error) {
	err = r.client.Patch(ctx, step.Pod.DeepCopy(), patchOf(step.Pod, step.Hold.Patch()), patchOptions(dryRun)...)
	if apierrors.IsNotFound(err) || stale.IsConflict(err) { // another pod has its name
		return false, nil
	}
	return err == nil, err
}

// delete deletes a pod exactly as it was read. If somebody wrote to it in the meantime, it may have a node: it is read again.
func (r *Releaser) delete(ctx context.Context, step PodStep, dryRun bool) (changed bool, err error) {
	pod := step.Pod
	for range 10 {
		options := []client.DeleteOption{client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}}
		if dryRun {
			options = append(options, client.DryRunAll)
		}
		err = r.client.Delete(ctx, pod.DeepCopy(), options...)
		if !apierrors.IsConflict(err) {
			break
		}
		fresh := &corev1.Pod{}
		if err = r.client.Get(ctx, client.ObjectKeyFromObject(pod), fresh); err != nil {
			break
		}
		if fresh.UID != pod.UID || len(r.planner.held([]*corev1.Pod{fresh})) == 0 {
			return false, nil
		}
		pod = fresh
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// record writes the event that says who released the workload, and why.
func (r *Releaser) record(ctx context.Context, world World, w holds.Workload, result *Result, o Options) {
	if o.DryRun != DryRunNone {
		return
	}
	k := kinds[w.Kind]
	note := fmt.Sprintf("%s released %s %s/%s from PodSequence: %s", r.whoami(ctx), k.Kind, w.Namespace, w.Name, o.Reason)
	const most = 1024 // that the API takes
	if len(note) > most {
		note = strings.ToValidUTF8(note[:most-len("...")], "") + "..."
	}
	result.NoEvent = r.client.Create(ctx, &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{GenerateName: w.Name + "-", Namespace: w.Namespace},
		EventTime:           metav1.NewMicroTime(o.Now),
		ReportingController: fieldManager,
		ReportingInstance:   fieldManager,
		Action:              EventReleaseRequested,
		Reason:              EventReleaseRequested,
		Type:                corev1.EventTypeNormal,
		Note:                note,
		Regarding: corev1.ObjectReference{
			APIVersion: k.GroupVersion().String(), Kind: k.Kind, Namespace: w.Namespace, Name: w.Name,
			UID: world.Workload.GetUID(), ResourceVersion: world.Workload.GetResourceVersion(),
		},
	}, client.FieldOwner(fieldManager))
	if result.NoEvent == nil {
		result.Done = append(result.Done, Done{"recorded", "event", EventReleaseRequested + " on " + w.String()})
	}
}

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

// read reads the workload, and what it owns.
func (r *Releaser) read(ctx context.Context, w holds.Workload) (World, error) {
	world := World{Workload: kinds[w.Kind].empty()}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name}, world.Workload); err != nil {
		return world, readError(err, w.String(), w)
	}
	if w.Kind == "pod" {
		return world, nil
	}
	owners := sets.New(world.Workload.GetUID())
	switch w.Kind {
	case "deployment":
		list := &appsv1.ReplicaSetList{}
		if err := r.client.List(ctx, list, client.InNamespace(w.Namespace)); err != nil {
			return world, readError(err, "its ReplicaSets", w)
		}
		world.ReplicaSets = ownedBy(list.Items, owners)
		for _, set := range world.ReplicaSets {
			owners.Insert(set.UID)
		}
	case "cronjob":
		list := &batchv1.JobList{}
		if err := r.client.List(ctx, list, client.InNamespace(w.Namespace)); err != nil {
			return world, readError(err, "its Jobs", w)
		}
		world.Jobs = ownedBy(list.Items, owners)
		for _, job := range world.Jobs {
			owners.Insert(job.UID)
		}
	}
	list := &corev1.PodList{}
	if err := r.client.List(ctx, list, client.InNamespace(w.Namespace)); err != nil {
		return world, readError(err, "its pods", w)
	}
	world.Pods = ownedBy(list.Items, owners)
	return world, nil
}

// refuse returns an error if something else has to be released.
func (r *Releaser) refuse(ctx context.Context, world World, w holds.Workload) error {
	if world.Workload.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s is being deleted", w)
	}
	owner := metav1.GetControllerOf(world.Workload)
	if owner == nil {
		return nil
	}
	switch w.Kind {
	case "replicaset":
	case "pod":
		held := r.planner.held([]*corev1.Pod{world.Workload.(*corev1.Pod)})
		if len(held) == 0 || held[0].isGated() {
			return nil
		}
		if owner.Kind == "ReplicaSet" {
			set := &appsv1.ReplicaSet{}
			if err := r.client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: owner.Name}, set); err == nil {
				if over := metav1.GetControllerOf(set); over != nil {
					owner = over
				}
			}
		}
	default:
		return nil
	}
	over := holds.Workload{Kind: strings.ToLower(owner.Kind), Namespace: w.Namespace, Name: owner.Name}
	if _, known := kinds[over.Kind]; !known {
		return fmt.Errorf("%s belongs to %s, of a kind that this command does not know: change the pod template there", w, over)
	}
	return fmt.Errorf("%s belongs to %s: release that instead: kubectl podseq release -n %s %s --reason REASON", w, over, w.Namespace, over)
}

// noteTemplate says what follows from the template, changed or not.
func (result *Result) noteTemplate(world World, w holds.Workload, hold holds.Hold, kept bool) {
	if kept {
		result.note("The selector of %s needs the label %s, so its pods keep it. The label holds only pods of podsequence-scheduler, and pods "+
			"with a gate of PodSequence.", w, v1alpha1.SequenceLabel)
	}
	if (hold == holds.Hold{}) {
		return
	}
	if owner := metav1.GetControllerOfNoCopy(world.Workload); owner != nil {
		result.note("%s belongs to %s/%s, which may change the template back: change it there too.", w, strings.ToLower(owner.Kind), owner.Name)
		return
	}
	result.note("Change the manifests of %s too: otherwise the next apply, upgrade or sync changes the template back.", w)
}

func (result *Result) note(format string, args ...any) {
	result.Notes = append(result.Notes, fmt.Sprintf(format, args...))
}
