package ordercheck

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// claim is what a status says of one object that is satisfied. The object is the one with the UID, in the version with the generation.
type claim struct {
	of         v1alpha1.ObjectReference // with the namespace that the object is in
	uid        types.UID
	generation int64
}

// readClaims returns the claims of a status that name an object by its UID.
func readClaims(sequence *v1alpha1.PodSequence) sets.Set[claim] {
	if sequence.Status.ObservedUID != "" && sequence.Status.ObservedUID != sequence.UID {
		return nil // a backup tool restored it
	}
	claims := sets.New[claim]()
	for _, group := range sequence.Status.Groups {
		for _, status := range group.Objects {
			if status.State != v1alpha1.ObjectSatisfied || status.UID == "" {
				continue
			}
			of := plain(v1alpha1.ObjectReference{
				APIVersion: status.APIVersion, Kind: status.Kind, Namespace: status.Namespace, Name: status.Name, Until: status.Until,
			})
			if sequence.Namespace != "" {
				of.Namespace = sequence.Namespace
			}
			claims.Insert(claim{of, status.UID, status.Generation})
		}
	}
	return claims
}

// holds reports whether a version of the object may be the one that the claim is about. It reads it in its own simple way, and accepts
// what it does not understand.
func (c claim) holds(object *unstructured.Unstructured) bool {
	generation := object.GetGeneration()
	switch {
	case object.GetUID() != c.uid || object.GetDeletionTimestamp() != nil:
		return false
	case c.generation != 0 && generation != 0 && c.generation != generation:
		return false
	case object.GetAPIVersion() != c.of.APIVersion: // it was converted for the controller, nobody knows how
		return true
	case c.of.Until == v1alpha1.UntilExists:
		return true
	case c.of.Until == v1alpha1.UntilCurrent:
		return isCurrent(object)
	}
	return conditionIn(object, c.of.Until) == corev1.ConditionTrue
}

// isCurrent reports whether nothing in the object says plainly that it is not what its spec asks for.
func isCurrent(object *unstructured.Unstructured) bool {
	observed, found, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	if generation := object.GetGeneration(); err == nil && found && generation != 0 && observed != generation {
		return false
	}
	if conditionIn(object, "Reconciling") == corev1.ConditionTrue || conditionIn(object, "Stalled") == corev1.ConditionTrue {
		return false
	}
	ready := conditionIn(object, "Ready")
	phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
	switch group := object.GroupVersionKind().GroupKind(); group.String() {
	case "Pod":
		return phase == string(corev1.PodSucceeded) || ready == corev1.ConditionTrue
	case "PersistentVolumeClaim":
		return phase == string(corev1.ClaimBound)
	case "Deployment.apps":
		return deploymentIsCurrent(object)
	case "Job.batch":
		return conditionIn(object, "Failed") != corev1.ConditionTrue
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return conditionIn(object, "Established") == corev1.ConditionTrue
	default:
		// What is built in may call something else Ready.
		builtIn := !strings.Contains(group.Group, ".") || strings.HasSuffix(group.Group, ".k8s.io")
		return builtIn || !slices.Contains([]corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown}, ready)
	}
}

func deploymentIsCurrent(object *unstructured.Unstructured) bool {
	wanted, found, err := unstructured.NestedInt64(object.Object, "spec", "replicas")
	if err != nil || !found {
		wanted = 1
	}
	updated, _, _ := unstructured.NestedInt64(object.Object, "status", "updatedReplicas")     // none is zero
	available, _, _ := unstructured.NestedInt64(object.Object, "status", "availableReplicas") // likewise
	return updated >= wanted && available >= wanted
}

// conditionIn is the status of a condition; empty if there is none.
func conditionIn(object *unstructured.Unstructured, conditionType string) corev1.ConditionStatus {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions") // of another form is none
	for _, condition := range conditions {
		if fields, _ := condition.(map[string]any); fields["type"] == conditionType {
			status, _ := fields["status"].(string)
			return corev1.ConditionStatus(status)
		}
	}
	return ""
}
