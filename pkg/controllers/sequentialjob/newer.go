package sequentialjob

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// withUnknownFields returns the Job with the fields of the stored step and template that Go types leave out; nil if there are none.
func withUnknownFields(job *batchv1.Job, stored map[string]any, index int32) (*unstructured.Unstructured, error) {
	pod, _, _ := unstructured.NestedFieldNoCopy(stored, "spec", "template", "spec")
	steps, _, _ := unstructured.NestedFieldNoCopy(stored, "spec", "containers")
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err != nil {
		return nil, fmt.Errorf("encode Job: %w", err)
	}
	known, _, _ := unstructured.NestedFieldNoCopy(content, "spec", "template", "spec")
	added := addUnknown(known, pod)
	if steps, ok := steps.([]any); ok && int(index) < len(steps) {
		containers, _, _ := unstructured.NestedFieldNoCopy(content, "spec", "template", "spec", "containers")
		added = addUnknown(containers, steps[index:index+1]) || added
	}
	if !added {
		return nil, nil
	}
	whole := &unstructured.Unstructured{Object: content}
	whole.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	return whole, nil
}

// addUnknown adds to a value the fields that are only in what is stored, and reports whether there are any.
func addUnknown(known, stored any) (added bool) {
	switch known := known.(type) {
	case map[string]any:
		stored, _ := stored.(map[string]any)
		for name, value := range stored {
			if inner, ok := known[name]; ok {
				added = addUnknown(inner, value) || added
			} else if value != nil {
				known[name], added = runtime.DeepCopyJSONValue(value), true
			}
		}
	case []any:
		if stored, _ := stored.([]any); len(stored) == len(known) {
			for i := range known {
				added = addUnknown(known[i], stored[i]) || added
			}
		}
	}
	return added
}

// isUnknownField reports whether the API server does not know a field of the Job. The one that it will be may.
func isUnknownField(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "strict decoding error: ")
}
