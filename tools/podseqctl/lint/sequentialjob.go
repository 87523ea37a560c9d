package lint

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// SequentialJob checks a SequentialJob with its defaults, that the API server would accept. What the API server would refuse of the Jobs of
// its steps, podsequence-controller asks it before it creates the first.
func SequentialJob(source string, object *unstructured.Unstructured) (findings Findings) {
	job := &v1alpha1.SequentialJob{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, job); err != nil {
		findings.add(source, Name(object), Error, "Unreadable", "%v", err)
		return findings
	}
	add := func(severity Severity, rule, format string, args ...any) {
		findings.add(source, Name(object), severity, rule, format, args...)
	}
	if slices.Contains(job.Finalizers, v1alpha1.FormerFinalizer) {
		add(Warning, "FormerFinalizer", "metadata.finalizers has %s, which the original operator of this API removed on deletion; "+
			"podsequence-controller removes it, and without that program nobody could delete the object: remove it here", v1alpha1.FormerFinalizer)
	}
	if job.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && job.Spec.BackoffLimit != nil && *job.Spec.BackoffLimit == 0 {
		add(Note, "RunsTwice", "with template.spec.restartPolicy OnFailure, Kubernetes restarts a container that fails once, although backoffLimit is 0; "+
			"remove restartPolicy if a step must not run twice")
	}
	for i := range job.Spec.Containers {
		step := &job.Spec.Containers[i]
		if len(step.Command) == 0 && len(step.Args) > 0 {
			severity, unused := Note, ""
			if len(step.Args) > 1 {
				severity, unused = Warning, ", which runs the first one only"
			}
			add(severity, "ShellArgs", "spec.containers[%d] has args and no command, so they are given to sh -c%s; "+
				"if they are for a program, set command", i, unused)
		}
	}
	return findings
}
