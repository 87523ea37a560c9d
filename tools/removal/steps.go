package removal

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/tools/holds"
)

// reportSteps says what becomes of SequentialJobs that nobody continues.
func (r *Remover) reportSteps(ctx context.Context) error {
	rows, err := r.unfinishedSteps(ctx)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		r.say("\n%s not finished. The running step continues; no other step starts until PodSequence is deployed again:\n",
			plural(len(rows), "SequentialJob has", "SequentialJobs have"))
		table(r.Out, stepsHeader, rows)
	}
	commands, err := r.resumeCommands(ctx)
	if err != nil {
		return err
	}
	if len(commands) > 0 {
		r.say("\nJobs of SequentialJobs with spec.suspend stay suspended, as their owners asked. These commands resume them:\n")
		r.sayAll(commands)
	}
	return nil
}

// reportStepsThatEnd says which SequentialJobs are deleted before they have finished.
func (r *Remover) reportStepsThatEnd(ctx context.Context) error {
	rows, err := r.unfinishedSteps(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	r.say("\n%s not finished. Their Jobs are deleted with them, also running pods:\n",
		plural(len(rows), "SequentialJob has", "SequentialJobs have"))
	table(r.Out, stepsHeader, rows)
	r.say("")
	return nil
}

var stepsHeader = []string{"NAMESPACE", "SEQUENTIALJOB", "STATUS", "STEP"}

// unfinishedSteps returns a row for each SequentialJob that has not finished. It reads objects without their Go type: some may be
// stored that the type cannot hold.
func (r *Remover) unfinishedSteps(ctx context.Context) ([][]string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(batchapi.GroupVersion.WithKind(batchapi.SequentialJobKind.Kind + "List"))
	var rows [][]string
	err := r.each(ctx, list, func(object client.Object) error {
		status, _, _ := unstructured.NestedMap(object.(*unstructured.Unstructured).Object, "status")
		if status["completionTime"] != nil || object.GetDeletionTimestamp() != nil {
			return nil
		}
		text := func(field string) string {
			if status[field] == nil {
				return "-"
			}
			return fmt.Sprint(status[field])
		}
		rows = append(rows, []string{object.GetNamespace(), object.GetName(), text("phase"), text("step")})
		return nil
	})
	return rows, err
}

// resumeCommands are those for the Jobs that we suspended.
func (r *Remover) resumeCommands(ctx context.Context) ([]string, error) {
	var commands []string
	err := r.each(ctx, &batchv1.JobList{}, func(object client.Object) error {
		job := object.(*batchv1.Job)
		_, ours := job.Annotations[batchapi.AnnotationSuspended]
		if !ours || !ptr.Deref(job.Spec.Suspend, false) || job.DeletionTimestamp != nil || metav1.GetControllerOfNoCopy(job) == nil {
			return nil
		}
		patch := map[string]any{
			"spec":     map[string]any{"suspend": false},
			"metadata": map[string]any{"annotations": map[string]any{batchapi.AnnotationSuspended: nil}},
		}
		commands = append(commands, fmt.Sprintf("kubectl patch job -n %s %s -p %s", job.Namespace, job.Name, holds.Quoted(patch)))
		return nil
	}, client.HasLabels{batchapi.LabelName})
	return commands, err
}
