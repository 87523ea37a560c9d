// Package holds knows what keeps pods from being scheduled without PodSequence, in pods and in the templates of workloads, and the
// patches and commands that remove it.
package holds

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Finder knows which schedulers and gates belong to PodSequence.
type Finder struct {
	// SchedulerNames are the profiles of podsequence-scheduler.
	SchedulerNames []string
	// GatePrefixes are the prefixes of the gates that PodSequence lifts.
	GatePrefixes []string
}

// Hold is what keeps pods from being scheduled without PodSequence. It is comparable; the zero value holds nothing.
type Hold struct {
	// Scheduler is the profile of podsequence-scheduler that the spec names; empty if it names another scheduler.
	Scheduler string
	// Gates are the gates of PodSequence, joined by commas.
	Gates string
	// Sequence is the value of the label podsequence.example.com/sequence of a template; empty if there is none.
	Sequence string
}

// InSpec returns what the spec of a pod has.
func (f Finder) InSpec(spec *corev1.PodSpec) Hold {
	h := Hold{}
	if slices.Contains(f.SchedulerNames, spec.SchedulerName) {
		h.Scheduler = spec.SchedulerName
	}
	var gates []string
	for _, gate := range spec.SchedulingGates {
		if slices.ContainsFunc(f.GatePrefixes, func(prefix string) bool { return strings.HasPrefix(gate.Name, prefix) }) {
			gates = append(gates, gate.Name)
		}
	}
	h.Gates = strings.Join(gates, ",")
	return h
}

// InTemplate returns what the template of a workload has, including the label.
func (f Finder) InTemplate(template *corev1.PodTemplateSpec) Hold {
	h := f.InSpec(&template.Spec)
	h.Sequence = template.Labels[v1alpha1.SequenceLabel]
	return h
}

// String lists what the hold consists of.
func (h Hold) String() string {
	var parts []string
	if h.Scheduler != "" {
		parts = append(parts, "schedulerName "+h.Scheduler)
	}
	if h.Gates != "" {
		parts = append(parts, "gate "+strings.Join(h.GateNames(), ", "))
	}
	if h.Sequence != "" {
		parts = append(parts, "label "+v1alpha1.SequenceLabel)
	}
	return strings.Join(parts, "; ")
}

// GateNames returns the gates of PodSequence.
func (h Hold) GateNames() []string {
	if h.Gates == "" {
		return nil
	}
	return strings.Split(h.Gates, ",")
}

// Patch returns the strategic merge patch of a pod or a pod template that removes the hold.
func (h Hold) Patch() map[string]any {
	patch := map[string]any{}
	spec := map[string]any{}
	if h.Scheduler != "" {
		spec["schedulerName"] = corev1.DefaultSchedulerName
	}
	var gates []any
	for _, gate := range h.GateNames() {
		gates = append(gates, map[string]any{"$patch": "delete", "name": gate})
	}
	if len(gates) > 0 {
		spec["schedulingGates"] = gates
	}
	if len(spec) > 0 {
		patch["spec"] = spec
	}
	if h.Sequence != "" {
		patch["metadata"] = map[string]any{"labels": map[string]any{v1alpha1.SequenceLabel: nil}}
	}
	return patch
}

// TemplateOf returns the kind of a workload as kubectl knows it, and its pod template; nil for an object that is no workload.
func TemplateOf(object client.Object) (kind string, template *corev1.PodTemplateSpec) {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return "deployment", &o.Spec.Template
	case *appsv1.StatefulSet:
		return "statefulset", &o.Spec.Template
	case *appsv1.DaemonSet:
		return "daemonset", &o.Spec.Template
	case *appsv1.ReplicaSet:
		return "replicaset", &o.Spec.Template
	case *corev1.ReplicationController:
		return "replicationcontroller", o.Spec.Template
	case *batchv1.CronJob:
		return "cronjob", &o.Spec.JobTemplate.Spec.Template
	case *batchv1.Job:
		return "job", &o.Spec.Template
	}
	return "", nil
}
