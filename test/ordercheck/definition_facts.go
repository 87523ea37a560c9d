package ordercheck

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// definitionFacts say whether a kind is installed. They never change once recorded.
type definitionFacts struct {
	stamp     time.Time
	name      string
	defines   schema.GroupKind // empty if the definition does not say
	installed bool
}

func readDefinition(object *unstructured.Unstructured) facts {
	f := &definitionFacts{stamp: newestStamp(object), name: object.GetName()}
	f.defines.Group, _, _ = unstructured.NestedString(object.Object, "spec", "group")
	f.defines.Kind, _, _ = unstructured.NestedString(object.Object, "spec", "names", "kind")
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions") // none while it is new
	f.installed = object.GetDeletionTimestamp() == nil && slices.ContainsFunc(conditions, func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["type"] == "Established" && fields["status"] == "True"
	})
	return f
}

func (f *definitionFacts) says(other facts) bool {
	o, ok := other.(*definitionFacts)
	return ok && f.installed == o.installed
}

func (f *definitionFacts) as(e event) event {
	e.definition = f
	return e
}

func (f *definitionFacts) stamped() time.Time { return f.stamp }
