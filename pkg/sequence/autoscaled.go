package sequence

import "example.com/podsequence/pkg/sequence/hold"

// waitsOnlyForNodes reports whether a held pod waits for nothing but nodes on the way: it would take one of them now if earlier groups were
// ready there. A pod with gates is no such pod, because the API server says of it that it is gated.
func (k *knowledge) waitsOnlyForNodes(p *pod) bool {
	if p.class == nil || len(p.Gates()) > 0 || !p.class.holds(p) {
		return false
	}
	for _, m := range p.memberships() {
		switch k.holdFacts(p, m).Rule() {
		case hold.Free:
		case hold.ByNode:
			if m.sequence.Suspended {
				return false
			}
		default:
			return false
		}
	}
	return true
}
