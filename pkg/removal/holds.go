package removal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// hold is what keeps pods of a spec from being scheduled once we are gone.
type hold struct {
	// scheduler is the profile of podsequence-scheduler that the spec names; empty if it names another scheduler.
	scheduler string
	// gates are our gates, joined by commas: so that holds can be compared.
	gates string
}

// holdOf returns what keeps pods of the spec from being scheduled, with these schedulers gone.
func (r *Remover) holdOf(spec *corev1.PodSpec, gone []string) hold {
	h := hold{}
	if slices.Contains(gone, spec.SchedulerName) {
		h.scheduler = spec.SchedulerName
	}
	var gates []string
	for _, gate := range spec.SchedulingGates {
		if slices.ContainsFunc(r.GatePrefixes, func(prefix string) bool { return strings.HasPrefix(gate.Name, prefix) }) {
			gates = append(gates, gate.Name)
		}
	}
	h.gates = strings.Join(gates, ",")
	return h
}

func (h hold) String() string {
	var parts []string
	if h.scheduler != "" {
		parts = append(parts, "schedulerName "+h.scheduler)
	}
	if h.gates != "" {
		parts = append(parts, "gate "+strings.ReplaceAll(h.gates, ",", ", "))
	}
	return strings.Join(parts, "; ")
}

// patch is the strategic merge patch of a pod spec that takes the hold away.
func (h hold) patch() map[string]any {
	spec := map[string]any{}
	if h.scheduler != "" {
		spec["schedulerName"] = corev1.DefaultSchedulerName
	}
	if h.gates != "" {
		var gates []any
		for gate := range strings.SplitSeq(h.gates, ",") {
			gates = append(gates, map[string]any{"$patch": "delete", "name": gate})
		}
		spec["schedulingGates"] = gates
	}
	return spec
}

// inSpec puts fields under spec.
func inSpec(fields map[string]any) map[string]any { return map[string]any{"spec": fields} }

func inTemplate(spec map[string]any) map[string]any {
	return map[string]any{"template": inSpec(spec)}
}

// quoted is a patch as the shell takes it: the names in it have no quotes.
func quoted(patch map[string]any) string {
	text, err := json.Marshal(patch)
	if err != nil {
		panic(err) // of maps of strings
	}
	return "'" + string(text) + "'"
}

// workload is an object whose pod template says how its pods are scheduled. A pod without an owner has the kind pod.
type workload struct {
	kind, namespace, name string
}

func (w workload) String() string { return w.kind + "/" + w.name }

// templateCommand has pods that the workload creates from now on scheduled by the cluster's own scheduler. It is empty for a
// kind whose template cannot be patched.
func (w workload) templateCommand(h hold) string {
	patch := inSpec(inTemplate(h.patch()))
	switch w.kind {
	case "deployment", "statefulset", "daemonset", "replicaset", "replicationcontroller":
	case "cronjob":
		patch = inSpec(map[string]any{"jobTemplate": inSpec(inTemplate(h.patch()))})
	case "job":
		return w.replaceJob(h)
	default:
		return ""
	}
	return fmt.Sprintf("kubectl patch %s -n %s %s -p %s", w.kind, w.namespace, w.name, quoted(patch))
}

// replaceJob creates a Job anew: its template cannot be changed. What the API server added to the Job for its pods, it adds
// again.
func (w workload) replaceJob(h hold) string {
	template := inSpec(h.patch())
	labels := map[string]any{"controller-uid": nil, "batch.kubernetes.io/controller-uid": nil}
	template["metadata"] = map[string]any{"labels": labels}
	patch := inSpec(map[string]any{"selector": nil, "template": template})
	return replaceCommand("job", w.namespace, w.name, patch)
}

func replaceCommand(kind, namespace, name string, patch map[string]any) string {
	return fmt.Sprintf("kubectl get %s -n %s %s -o yaml | kubectl patch --local -f - -o yaml -p %s | kubectl replace --force -f -",
		kind, namespace, name, quoted(patch))
}

// podCommand has the pods, which are all of one owner and held alike, scheduled by the cluster's own scheduler. The gates of
// a pod can be removed. Its scheduler cannot be changed: another pod takes its place.
func (w workload) podCommand(h hold, pods []string) string {
	names := strings.Join(pods, " ")
	deletion := fmt.Sprintf("kubectl delete pod --ignore-not-found -n %s %s", w.namespace, names)
	switch {
	case h.scheduler == "":
		return fmt.Sprintf("kubectl patch pod -n %s %s -p %s", w.namespace, names, quoted(inSpec(h.patch())))
	case w.kind == "pod":
		return replaceCommand("pod", w.namespace, w.name, inSpec(h.patch()))
	case w.kind == "deployment", w.kind == "job":
		return w.templateCommand(h)
	case w.templateCommand(h) == "":
		return fmt.Sprintf("# take %s out of the pod template of %s, then:\n  %s", h, w, deletion)
	}
	// Not all of these replace pods that have never run by themselves.
	return w.templateCommand(h) + " && " + deletion
}
