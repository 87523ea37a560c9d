package lint

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/podtemplate"
)

// SequentialJob checks a SequentialJob with its defaults, that the API server would accept. What it would refuse of the Jobs of its steps is
// an error, too: podsequence-controller would find it only when it is created.
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
		for _, err := range checkStep(&job.Spec, i) {
			add(Error, "Step", "%s", strings.TrimPrefix(err.Error(), "<nil>: "))
		}
	}
	return findings
}

// checkStep returns what the API server would refuse of the pod template of a step's Job.
func checkStep(spec *v1alpha1.SequentialJobSpec, step int) field.ErrorList {
	template := spec.Template.DeepCopy()
	template.Spec.Containers = []corev1.Container{*spec.Containers[step].DeepCopy()}
	if template.Spec.RestartPolicy == "" {
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	errs := podtemplate.Validate(template, field.NewPath("spec", "template"))
	written := strings.NewReplacer("spec.template.spec.containers[0]", fmt.Sprintf("spec.containers[%d]", step),
		"spec.template.labels", "spec.template.metadata.labels", "spec.template.annotations", "spec.template.metadata.annotations")
	for _, err := range errs {
		err.Field = written.Replace(err.Field)
	}
	return errs
}
