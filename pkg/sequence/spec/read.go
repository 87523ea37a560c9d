package spec

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Stored is a PodSequence as it is stored, as far as it can be read.
type Stored struct {
	*v1alpha1.PodSequence
	// Unreadable are the parts of the spec that cannot be read; none of all but very few.
	Unreadable []Unreadable
}

// Unreadable is a part of a stored spec that is not what its field takes, because it was stored when the definition of
// the kind allowed more.
type Unreadable struct {
	// Group is the index of the first group that cannot count as ready for it: the group that it is in, or the first if
	// it is in none.
	Group int
	// Message names the field and says what is wrong with it.
	Message string
}

// Read makes a PodSequence of what is stored. It never fails: what can be read is kept, so that the pods known to come
// later are held, and what cannot be read is told of.
func Read(stored map[string]any) Stored {
	ps := &v1alpha1.PodSequence{}
	if convert(stored, ps) == nil {
		return Stored{PodSequence: ps}
	}

	ps = &v1alpha1.PodSequence{}
	// Metadata is checked by the API server whatever the definition says, so this cannot fail.
	_ = convert(map[string]any{"metadata": stored["metadata"]}, ps)
	status := v1alpha1.PodSequence{}
	if convert(map[string]any{"status": stored["status"]}, &status) == nil {
		ps.Status = status.Status // else it is worked out anew
	}
	r := reader{Stored: Stored{PodSequence: ps}}
	r.readSpec(stored["spec"])
	return r.Stored
}

func convert(from map[string]any, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(from, into)
}

type reader struct{ Stored }

func (r *reader) unreadable(group int, format string, args ...any) {
	r.Unreadable = append(r.Unreadable, Unreadable{Group: group, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) readSpec(stored any) {
	spec, ok := stored.(map[string]any)
	if !ok {
		r.unreadable(0, "spec: is no object")
		return
	}
	readable := map[string]any{}
	for _, field := range slices.Sorted(maps.Keys(spec)) {
		switch err := convert(map[string]any{field: spec[field]}, &v1alpha1.PodSequenceSpec{}); {
		case field == "podGroups":
			r.readGroups(spec[field])
		case err == nil:
			readable[field] = spec[field]
		default:
			r.unreadable(0, "spec.%s: %v", field, err)
			// In place of a name that cannot be read stands one that is none: not the default, which somebody else uses.
			if field == "namespace" || field == "schedulingGateName" {
				readable[field] = fmt.Sprint(spec[field])
			}
		}
	}
	groups := r.Spec.PodGroups
	if err := convert(readable, &r.Spec); err != nil {
		r.unreadable(0, "spec: %v", err) // each field by itself can be read
	}
	r.Spec.PodGroups = groups
}

func (r *reader) readGroups(stored any) {
	groups, ok := stored.([]any)
	if !ok {
		r.unreadable(0, "spec.podGroups: is no list")
		return
	}
	r.Spec.PodGroups = make([]v1alpha1.PodGroup, len(groups))
	for i := range groups {
		group, ok := groups[i].(map[string]any)
		if !ok {
			r.unreadable(i, "spec.podGroups[%d]: is no object", i)
			continue
		}
		if err := convert(group, &r.Spec.PodGroups[i]); err != nil {
			name, _ := group["name"].(string)
			r.Spec.PodGroups[i] = v1alpha1.PodGroup{Name: name}
			r.unreadable(i, "spec.podGroups[%d]: %v", i, err)
		}
	}
}
