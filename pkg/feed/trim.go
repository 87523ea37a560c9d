package feed

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// overrides are the annotations of sequences that the engine looks at.
var overrides = []string{
	v1alpha1.SuspendAnnotation, v1alpha1.SkipAnnotation, v1alpha1.OverrideReasonAnnotation, v1alpha1.OverrideUntilAnnotation,
}

// trimSequence drops of a stored PodSequence what the engine does not look at and what may be as large as the rest of it: who
// wrote which field, and annotations such as the copy that kubectl apply leaves. When status was written is kept, and who wrote the
// annotations that override the spec.
func trimSequence(stored *unstructured.Unstructured) {
	metadata, ok := stored.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	trimAnnotations(metadata)
	entries, _ := metadata["managedFields"].([]any)
	var kept []any
	for _, entry := range entries {
		fields, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		written := overridesIn(fields["fieldsV1"])
		delete(fields, "fieldsV1")
		switch {
		case fields["subresource"] == "status":
			kept = append(kept, fields)
		case len(written) > 0:
			fields["fieldsV1"] = map[string]any{"f:metadata": map[string]any{"f:annotations": written}}
			kept = append(kept, fields)
		}
	}
	delete(metadata, "managedFields")
	if kept != nil {
		metadata["managedFields"] = kept
	}
}

func trimAnnotations(metadata map[string]any) {
	annotations, _ := metadata["annotations"].(map[string]any)
	maps.DeleteFunc(annotations, func(name string, _ any) bool { return !slices.Contains(overrides, name) })
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}

// overridesIn returns which annotations that override the spec are among the fields that somebody wrote.
func overridesIn(fieldsV1 any) map[string]any {
	fields, _ := fieldsV1.(map[string]any)
	field, _, _ := unstructured.NestedFieldNoCopy(fields, "f:metadata", "f:annotations")
	annotations, _ := field.(map[string]any)
	written := map[string]any{}
	for _, name := range overrides {
		if _, has := annotations["f:"+name]; has {
			written["f:"+name] = map[string]any{}
		}
	}
	return written
}
