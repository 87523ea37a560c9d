package sequence

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Lift is what may be lifted from a pod now.
type Lift struct {
	UID types.UID
	// Gates are those that the pod carries and that its sequences lift: none while any sequence holds it.
	Gates []string
	// Pod is the pod, as the engine knows it.
	Pod Identity
	// Proof is what is to be left on the pod, see Verdict.Proof.
	Proof string
	// FirstSeen is when the pod was first seen: every PodSequence from before it must be known before the gates are lifted. It is as of
	// Engine.FirstSeen for a pod that can be held without its gate. For any other it is when the pod was released.
	FirstSeen FirstSeen
	// Now is the same of a pod that is released at this moment.
	Now FirstSeen
}

// Lift says which gates of this pod, as the engine knows it, may be lifted now.
func (e *Engine) Lift(key types.NamespacedName) Lift {
	e.mu.RLock()
	defer e.mu.RUnlock()

	ns := e.namespaces[key.Namespace]
	if ns == nil {
		return Lift{}
	}
	p := ns.pods[key.Name]
	if p == nil || p.Bound() || !e.mayBeScheduled(p) {
		return Lift{}
	}
	seen := ptr.Deref(p.released, Question{})
	if e.settings.isOurs(p) {
		seen = p.firstSeen // whoever schedules it asks again when the gates are gone
	}
	return Lift{
		UID: p.UID, Pod: Identity{key.Namespace, key.Name, &p.Labels}, Gates: e.settings.liftable(p.Pod, p.memberships()),
		Proof: proofOf(p.UID, p.memberships(), false), FirstSeen: e.published.firstSeenIn(p.Namespace, seen),
		Now: e.published.firstSeenIn(p.Namespace, e.questions.nowMoment()),
	}
}

// LiftPatch is the strategic merge patch that takes these gates, and no others, off the pod with this UID, and leaves the
// proof that the pod was released, if there is one. The API server refuses it for a pod of the same name with another UID.
func LiftPatch(lift Lift) []byte {
	removals := make([]map[string]string, len(lift.Gates))
	for i, gate := range lift.Gates {
		removals[i] = map[string]string{"$patch": "delete", "name": gate}
	}
	metadata := map[string]any{"uid": lift.UID}
	if lift.Proof != "" {
		metadata["annotations"] = map[string]string{v1alpha1.ReleasedAnnotation: lift.Proof}
	}
	return mustMarshal(map[string]any{
		"metadata": metadata,
		"spec":     map[string]any{"schedulingGates": removals},
	})
}

func mustMarshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("marshalling maps of strings cannot fail: %v", err))
	}
	return text
}
