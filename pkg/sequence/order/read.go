package order

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Stored is a PodSequence or a ClusterPodSequence as it is stored, as far as it can be read.
type Stored struct {
	// PodSequence, for a ClusterPodSequence, holds what both kinds have in common; its metadata has no namespace then.
	*v1alpha1.PodSequence
	// Cluster is the ClusterPodSequence; nil for a PodSequence. Both have the same groups.
	Cluster *v1alpha1.ClusterPodSequence
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

// OfCluster returns a ClusterPodSequence as the engine takes it.
func OfCluster(cluster *v1alpha1.ClusterPodSequence, unreadable ...Unreadable) Stored {
	common := &v1alpha1.PodSequence{
		TypeMeta: cluster.TypeMeta, ObjectMeta: cluster.ObjectMeta, Status: cluster.Status,
		Spec: v1alpha1.PodSequenceSpec{
			Scope: cluster.Spec.Scope, SchedulingGateName: cluster.Spec.SchedulingGateName, EnforcementMode: cluster.Spec.EnforcementMode,
			Suspend: cluster.Spec.Suspend, DryRun: cluster.Spec.DryRun,
		},
	}
	for i := range cluster.Spec.PodGroups {
		common.Spec.PodGroups = append(common.Spec.PodGroups, cluster.Spec.PodGroups[i].PodGroup)
	}
	return Stored{PodSequence: common, Cluster: cluster, Unreadable: unreadable}
}

// Read makes a PodSequence of what is stored. It never fails: what can be read is kept, so that the pods known to come
// later are held, and what cannot be read is told of. A status that describes another object is left out.
func Read(stored map[string]any) Stored {
	ps := &v1alpha1.PodSequence{}
	if convert(stored, ps) == nil {
		ps.Status = statusOf(ps.UID, ps.Status)
		return Stored{PodSequence: ps}
	}
	r := reader{}
	ps = &v1alpha1.PodSequence{}
	ps.ObjectMeta, ps.Status = readCommon(stored)
	groups := readSpec(&r, stored["spec"], &ps.Spec, func(name string) v1alpha1.PodGroup { return v1alpha1.PodGroup{Name: name} })
	ps.Spec.PodGroups = groups
	return Stored{PodSequence: ps, Unreadable: r.unreadable}
}

// ReadCluster makes a ClusterPodSequence of what is stored, as Read does.
func ReadCluster(stored map[string]any) Stored {
	cluster := &v1alpha1.ClusterPodSequence{}
	if convert(stored, cluster) == nil {
		cluster.Status = statusOf(cluster.UID, cluster.Status)
		return OfCluster(cluster)
	}
	r := reader{}
	cluster = &v1alpha1.ClusterPodSequence{}
	cluster.ObjectMeta, cluster.Status = readCommon(stored)
	groups := readSpec(&r, stored["spec"], &cluster.Spec, func(name string) v1alpha1.ClusterPodGroup {
		return v1alpha1.ClusterPodGroup{PodGroup: v1alpha1.PodGroup{Name: name}}
	})
	cluster.Spec.PodGroups = groups
	return OfCluster(cluster, r.unreadable...)
}

// readCommon reads what does not depend on the kind.
func readCommon(stored map[string]any) (metav1.ObjectMeta, v1alpha1.PodSequenceStatus) {
	ps := v1alpha1.PodSequence{}
	// Metadata is checked by the API server whatever the definition says, so this cannot fail.
	_ = convert(map[string]any{"metadata": stored["metadata"]}, &ps)
	return ps.ObjectMeta, statusOf(ps.UID, readStatus(stored["status"]))
}

// statusOf returns the status, or an empty one if it describes an object with another UID: a tool restored it from a backup. What was
// passed, released or failed then concerned pods that are gone. Passes say by themselves of which object they are.
func statusOf(uid types.UID, status v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus {
	if status.ObservedUID != "" && status.ObservedUID != uid {
		return v1alpha1.PodSequenceStatus{Passes: status.Passes}
	}
	return status
}

// WrittenAt returns when status was last written by others than these field managers, as the API server noted; zero if it did not.
func WrittenAt(ps *v1alpha1.PodSequence, without ...string) (at time.Time) {
	for _, entry := range ps.ManagedFields {
		if entry.Subresource == "status" && !slices.Contains(without, entry.Manager) && entry.Time != nil && entry.Time.After(at) {
			at = entry.Time.Time
		}
	}
	return at
}

// readStatus reads the fields of a status that can be read, and leaves out the others: they had another type in an earlier
// release, and are worked out anew. What the others record, such as which groups were passed, must survive an upgrade.
func readStatus(stored any) v1alpha1.PodSequenceStatus {
	fields, _ := stored.(map[string]any)
	if list, ok := fields["nodeStatus"].([]any); ok {
		var nodes []any
		for _, node := range list {
			if node, ok := node.(map[string]any); ok {
				nodes = append(nodes, readableFields[v1alpha1.NodeStatus](node))
			}
		}
		fields = maps.Clone(fields)
		fields["nodeStatus"] = nodes
	}
	var status v1alpha1.PodSequenceStatus
	_ = convert(readableFields[v1alpha1.PodSequenceStatus](fields), &status) // each field by itself can be read
	return status
}

// readableFields returns the fields that a T takes.
func readableFields[T any](fields map[string]any) map[string]any {
	readable := map[string]any{}
	for name, value := range fields {
		if convert(map[string]any{name: value}, new(T)) == nil {
			readable[name] = value
		}
	}
	return readable
}

func convert(from map[string]any, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(from, into)
}

// reader notes what it cannot read.
type reader struct{ unreadable []Unreadable }

func (r *reader) note(group int, format string, args ...any) {
	r.unreadable = append(r.unreadable, Unreadable{Group: group, Message: fmt.Sprintf(format, args...)})
}

// readSpec reads all fields of a spec but the groups into it, and returns the groups. unknown returns a group of which only
// the name can be read.
func readSpec[Spec, Group any](r *reader, stored any, into *Spec, unknown func(name string) Group) []Group {
	spec, ok := stored.(map[string]any)
	if !ok {
		r.note(0, "spec: must be an object")
		return nil
	}
	var groups []Group
	readable := map[string]any{}
	for _, field := range slices.Sorted(maps.Keys(spec)) {
		switch err := convert(map[string]any{field: spec[field]}, new(Spec)); {
		case field == "podGroups":
			groups = readGroups(r, spec[field], unknown)
		case err == nil:
			readable[field] = spec[field]
		default:
			r.note(0, "spec.%s: %v", field, err)
			// In place of a name that cannot be read stands one that is none: not the default, which somebody else uses.
			if field == "namespace" || field == "schedulingGateName" {
				readable[field] = fmt.Sprint(spec[field])
			}
		}
	}
	if err := convert(readable, into); err != nil {
		r.note(0, "spec: %v", err) // each field by itself can be read
	}
	return groups
}

func readGroups[Group any](r *reader, stored any, unknown func(name string) Group) []Group {
	list, ok := stored.([]any)
	if !ok {
		r.note(0, "spec.podGroups: must be a list")
		return nil
	}
	groups := make([]Group, len(list))
	for i := range list {
		group, ok := list[i].(map[string]any)
		if !ok {
			r.note(i, "spec.podGroups[%d]: must be an object", i)
			continue
		}
		err := convert(group, &groups[i])
		if err == nil {
			continue
		}
		name, _ := group["name"].(string)
		groups[i] = unknown(name)
		r.note(i, "spec.podGroups[%d]: %v", i, err)
	}
	return groups
}
