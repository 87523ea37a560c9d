package sequence

import "k8s.io/apimachinery/pkg/types"

// Nomination is the room that is kept on a node for a pod that must wait. Whoever places other pods counts a nominated pod as if it
// were bound, so pods that it waits for might wait for its room.
type Nomination struct {
	UID             types.UID
	ResourceVersion string
	// Confirming reports that the pod may have to wait only until it is known whether a change is missing.
	Confirming bool
}

// Nomination returns the nomination that our scheduler has to clear, as far as the engine knows; the zero value if there is none: the
// pod need not wait, is bound or being deleted, is not nominated, or is not for our scheduler to place.
func (e *Engine) Nomination(key types.NamespacedName) Nomination {
	e.mu.RLock()
	defer e.mu.RUnlock()

	ns := e.namespaces[key.Namespace]
	if ns == nil {
		return Nomination{}
	}
	p := ns.pods[key.Name]
	if p == nil || !p.Nominated || p.Terminating || !e.settings.isOurs(p) {
		return Nomination{}
	}
	decision := e.decision(p)
	if !decision.Held {
		return Nomination{}
	}
	return Nomination{UID: p.UID, ResourceVersion: p.ResourceVersion, Confirming: decision.Confirming()}
}

// ClearPatch is the strategic merge patch of the status that clears the nomination. The API server refuses it for another version of
// the pod, so one that comes late changes nothing: neither of a pod that is bound by now, nor a nomination that is newer.
func (n Nomination) ClearPatch() []byte {
	return mustMarshal(map[string]any{
		"metadata": map[string]any{"uid": n.UID, "resourceVersion": n.ResourceVersion},
		"status":   map[string]any{"nominatedNodeName": nil},
	})
}
