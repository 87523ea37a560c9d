package removal

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/tools/holds"
)

// mostPodsACommand keeps commands short enough to be pasted.
const mostPodsACommand = 50

// podGroup is pods of one owner that are held alike. A bare pod is a group of its own.
type podGroup struct {
	owner holds.Workload
	hold  holds.Hold
}

// reportPods lists the pods that stay Pending with these schedulers gone, with the commands after which they are scheduled, and
// the workloads whose next pods would stay Pending. It does not list again what was listed before.
func (r *Remover) reportPods(ctx context.Context, gone []string) error {
	groups, err := r.heldPods(ctx, gone)
	if err != nil {
		return err
	}
	templates, err := r.templateHolds(ctx, gone)
	if err != nil {
		return err
	}
	var rows [][]string
	var commands []string
	told := map[holds.Workload]bool{}
	for _, group := range sortedGroups(groups) {
		pods := groups[group]
		slices.Sort(pods)
		for _, pod := range pods {
			rows = append(rows, []string{group.owner.Namespace, pod, ownerText(group.owner), group.hold.String()})
		}
		for chunk := range slices.Chunk(pods, mostPodsACommand) {
			command := podCommand(group, templates, chunk)
			if !slices.Contains(commands, command) {
				commands = append(commands, command)
			}
		}
		if group.hold.Scheduler != "" {
			told[group.owner] = true
		}
	}
	if len(rows) > 0 {
		r.say("\n%s Pending, because nobody schedules them any more:\n", plural(len(rows), "pod stays", "pods stay"))
		table(r.Out, []string{"NAMESPACE", "POD", "OWNER", "HELD BY"}, rows)
		r.say("\nThese commands hand them to the cluster's own scheduler:\n")
		r.sayAll(commands)
	}
	return r.reportTemplates(ctx, gone, told)
}

// podCommand returns the command that makes the cluster's own scheduler schedule pods of the group. If other pods take their
// place, what the template says holds those: a pod may have more, which a policy added when it was created, or less, if its gate
// was lifted.
func podCommand(group podGroup, templates map[holds.Workload]holds.Hold, pods []string) string {
	h := group.hold
	inTemplate, isKnown := templates[group.owner]
	if h.Scheduler == "" || !isKnown {
		return group.owner.PodCommand(h, pods)
	}
	deletedPodsFail := group.owner.Kind == "job"
	if inTemplate == (holds.Hold{}) && !deletedPodsFail {
		return group.owner.DeleteCommand(pods) // to patch the template would change nothing, and replace no pod
	}
	h.Gates = inTemplate.Gates
	return group.owner.PodCommand(h, pods)
}

// templateHolds are the holds in the templates of all workloads of the kinds that are known.
func (r *Remover) templateHolds(ctx context.Context, gone []string) (map[holds.Workload]holds.Hold, error) {
	found := map[holds.Workload]holds.Hold{}
	err := r.eachTemplate(ctx, func(w holds.Workload, _ *metav1.OwnerReference, spec *corev1.PodSpec) {
		found[w] = r.finder(gone).InSpec(spec)
	})
	return found, err
}

// heldPods are the names of the pods that stay Pending.
func (r *Remover) heldPods(ctx context.Context, gone []string) (map[podGroup][]string, error) {
	groups := map[podGroup][]string{}
	err := r.each(ctx, &corev1.PodList{}, func(object client.Object) error {
		pod := object.(*corev1.Pod)
		h := r.finder(gone).InSpec(&pod.Spec)
		if h == (holds.Hold{}) || pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodPending {
			return nil
		}
		owner, err := r.ownerOf(ctx, pod)
		if err != nil {
			return err
		}
		group := podGroup{owner, h}
		groups[group] = append(groups[group], pod.Name)
		return nil
	}, client.MatchingFields{"spec.nodeName": ""})
	return groups, err
}

// ownerOf is the workload whose template the pod was created from.
func (r *Remover) ownerOf(ctx context.Context, pod *corev1.Pod) (holds.Workload, error) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return holds.Workload{Kind: "pod", Namespace: pod.Namespace, Name: pod.Name}, nil
	}
	direct := holds.Workload{Kind: strings.ToLower(owner.Kind), Namespace: pod.Namespace, Name: owner.Name}
	if owner.Kind != "ReplicaSet" {
		return direct, nil
	}
	set := metadataOf(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: owner.Name}, set); err != nil {
		return direct, client.IgnoreNotFound(err)
	}
	if over := metav1.GetControllerOfNoCopy(set); over != nil {
		return holds.Workload{Kind: strings.ToLower(over.Kind), Namespace: pod.Namespace, Name: over.Name}, nil
	}
	return direct, nil
}

func sortedGroups(groups map[podGroup][]string) []podGroup {
	var sorted []podGroup
	for group := range groups {
		sorted = append(sorted, group)
	}
	slices.SortFunc(sorted, func(a, b podGroup) int {
		return cmp.Or(strings.Compare(a.owner.Namespace, b.owner.Namespace), strings.Compare(a.owner.String(), b.owner.String()),
			strings.Compare(a.hold.String(), b.hold.String()))
	})
	return sorted
}

func ownerText(owner holds.Workload) string {
	if owner.Kind == "pod" {
		return "-"
	}
	return owner.String()
}

// reportTemplates lists the workloads whose next pods would stay Pending.
func (r *Remover) reportTemplates(ctx context.Context, gone []string, told map[holds.Workload]bool) error {
	var rows [][]string
	var commands, ofJobs, ofOwners []string
	err := r.eachTemplate(ctx, func(w holds.Workload, owner *metav1.OwnerReference, spec *corev1.PodSpec) {
		h := r.finder(gone).InSpec(spec)
		isCopy := w.Kind == "replicaset" && owner != nil && owner.Kind == "Deployment"
		if isCopy || h == (holds.Hold{}) || told[w] {
			return
		}
		rows = append(rows, []string{w.Namespace, w.String(), h.String()})
		switch {
		case w.Kind == "job":
			ofJobs = append(ofJobs, w.TemplateCommand(h))
		case owner != nil: // it would undo a change
			ofOwners = append(ofOwners, fmt.Sprintf("%s/%s in namespace %s, for %s", strings.ToLower(owner.Kind), owner.Name, w.Namespace, w))
		default:
			commands = append(commands, w.TemplateCommand(h))
		}
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	r.say("\nPods that %s from now on stay Pending:\n", plural(len(rows), "workload creates", "workloads create"))
	table(r.Out, []string{"NAMESPACE", "WORKLOAD", "TEMPLATE HAS"}, rows)
	r.sayBelow("These commands change the templates. Workloads that roll out changes replace their running pods:", commands)
	r.sayBelow("These commands create Jobs again, because a Job's template cannot be changed. Running pods end, and a Job repeats what it has completed:", ofJobs)
	r.sayBelow("These own such workloads: change the pod template there.", ofOwners)
	return nil
}

// eachTemplate visits the pod templates of workloads, with their controllers, nil for none. Of Jobs it visits those that have yet to create
// pods.
func (r *Remover) eachTemplate(ctx context.Context, visit func(w holds.Workload, owner *metav1.OwnerReference, spec *corev1.PodSpec)) error {
	lists := []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.DaemonSetList{}, &appsv1.ReplicaSetList{},
		&corev1.ReplicationControllerList{}, &batchv1.CronJobList{}, &batchv1.JobList{},
	}
	for _, list := range lists {
		err := r.each(ctx, list, func(object client.Object) error {
			kind, spec := templateOf(object)
			owner := metav1.GetControllerOfNoCopy(object)
			if spec != nil && object.GetDeletionTimestamp() == nil {
				visit(holds.Workload{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}, owner, spec)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// templateOf returns the kind of a workload as kubectl knows it, and the spec of the pods that it will create.
func templateOf(object client.Object) (string, *corev1.PodSpec) {
	if job, isJob := object.(*batchv1.Job); isJob && !holds.JobCreatesPods(job) {
		return "", nil
	}
	kind, template := holds.TemplateOf(object)
	if template == nil {
		return "", nil
	}
	return kind, &template.Spec
}

// finder finds what holds pods with these schedulers gone. The label of a template holds nothing then.
func (r *Remover) finder(gone []string) holds.Finder {
	return holds.Finder{SchedulerNames: gone, GatePrefixes: r.GatePrefixes}
}

// unscheduledNames are the schedulers that are gone: none, if podsequence-scheduler is still deployed.
func (r *Remover) unscheduledNames(ctx context.Context) ([]string, error) {
	deployed := false
	err := r.eachMetadata(ctx, appsv1.SchemeGroupVersion.WithKind(deploymentKind), func(*metav1.PartialObjectMetadata) error {
		deployed = true
		return nil
	}, client.MatchingLabels{"app.kubernetes.io/name": "podsequence", "app.kubernetes.io/component": "scheduler"})
	if err != nil || !deployed {
		return r.SchedulerNames, err
	}
	r.say("podsequence-scheduler is still deployed, and schedules its pods.")
	return nil, nil
}

// sayBelow prints lines below a heading, if there are any.
func (r *Remover) sayBelow(heading string, lines []string) {
	if len(lines) > 0 {
		r.say("\n%s\n", heading)
		r.sayAll(lines)
	}
}

func (r *Remover) sayAll(commands []string) {
	for _, command := range commands {
		r.say("  %s", command)
	}
}

func plural(count int, one, many string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, many)
}

func table(out io.Writer, header []string, rows [][]string) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		fmt.Fprintln(w, "  "+strings.Join(row, "\t"))
	}
	_ = w.Flush() // what is wrong with out shows in the next line
}
