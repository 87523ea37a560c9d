package holds

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Workload is an object whose pod template says how its pods are scheduled. A pod without an owner has the kind pod.
type Workload struct {
	// Kind is in lower case, as kubectl knows it.
	Kind, Namespace, Name string
}

// String returns KIND/NAME.
func (w Workload) String() string { return w.Kind + "/" + w.Name }

// Patch returns the strategic merge patch of the workload that removes a hold from its template. It is nil for a kind whose template
// cannot be changed.
func (w Workload) Patch(h Hold) map[string]any {
	patch := inSpec(map[string]any{"template": h.Patch()})
	switch w.Kind {
	case "deployment", "statefulset", "daemonset", "replicaset", "replicationcontroller":
		return patch
	case "cronjob":
		return inSpec(map[string]any{"jobTemplate": patch})
	}
	return nil
}

// TemplateCommand returns the command that makes the cluster's own scheduler schedule the pods that the workload creates from now
// on. It is empty for a kind that is not known.
func (w Workload) TemplateCommand(h Hold) string {
	if w.Kind == "job" {
		return w.replaceJob(h)
	}
	patch := w.Patch(h)
	if patch == nil {
		return ""
	}
	return fmt.Sprintf("kubectl patch %s -n %s %s -p %s", w.Kind, w.Namespace, w.Name, Quoted(patch))
}

// replaceJob creates a Job anew: its template cannot be changed. What the API server added to the Job for its pods, it adds
// again.
func (w Workload) replaceJob(h Hold) string {
	template := h.Patch()
	labels := map[string]any{"controller-uid": nil, "batch.kubernetes.io/controller-uid": nil}
	if metadata, ok := template["metadata"].(map[string]any); ok {
		for label := range metadata["labels"].(map[string]any) {
			labels[label] = nil
		}
	}
	template["metadata"] = map[string]any{"labels": labels}
	return replaceCommand("job", w.Namespace, w.Name, inSpec(map[string]any{"selector": nil, "template": template}))
}

func replaceCommand(kind, namespace, name string, patch map[string]any) string {
	return fmt.Sprintf("kubectl get %s -n %s %s -o yaml | kubectl patch --local -f - -o yaml -p %s | kubectl replace --force -f -",
		kind, namespace, name, Quoted(patch))
}

// PodCommand returns the command that makes the cluster's own scheduler schedule the pods, which are all of one owner and held
// alike. The gates of a pod can be removed. Its scheduler cannot be changed: another pod takes its place.
func (w Workload) PodCommand(h Hold, pods []string) string {
	deletion := w.DeleteCommand(pods)
	switch {
	case h.Scheduler == "":
		return fmt.Sprintf("kubectl patch pod -n %s %s -p %s", w.Namespace, strings.Join(pods, " "), Quoted(h.Patch()))
	case w.Kind == "pod":
		return replaceCommand("pod", w.Namespace, w.Name, h.Patch())
	case w.Kind == "deployment", w.Kind == "job":
		return w.TemplateCommand(h)
	case w.TemplateCommand(h) == "":
		return fmt.Sprintf("# take %s out of the pod template of %s, if it is there, then:\n  %s", h, w, deletion)
	}
	// Not all of these replace pods that have never run by themselves.
	return w.TemplateCommand(h) + " && " + deletion
}

// DeleteCommand returns the command that deletes the pods, for their owner to create others from its template.
func (w Workload) DeleteCommand(pods []string) string {
	return fmt.Sprintf("kubectl delete pod --ignore-not-found -n %s %s", w.Namespace, strings.Join(pods, " "))
}

// inSpec puts fields under spec.
func inSpec(fields map[string]any) map[string]any { return map[string]any{"spec": fields} }

// Quoted returns a patch as an argument for the shell. No string in it may have a single quote.
func Quoted(patch map[string]any) string {
	text, err := json.Marshal(patch)
	if err != nil {
		panic(err) // of maps of strings
	}
	return "'" + string(text) + "'"
}
