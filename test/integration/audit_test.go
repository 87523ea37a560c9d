package integration

import (
	"fmt"
	"strings"

	"example.com/podsequence/test/harness/cluster"
)

// writesAreOurs is an error if our programs ever wrote to a node, or what our policies refuse. It says how much they wrote at
// all.
func writesAreOurs(c *cluster.Cluster) error {
	ours, nodes := 0, map[string]int{}
	var refused []string
	err := c.ReadAuditLog(func(r *cluster.Request) {
		if r.Program == "" || r.IsRead() || !r.IsAnswered() {
			return
		}
		ours++
		if r.ResponseStatus != nil && strings.Contains(r.ResponseStatus.Message, "ValidatingAdmissionPolicy 'podsequence-") {
			refused = append(refused, r.ResponseStatus.Message)
		}
		if ref := r.ObjectRef; ref != nil && ref.Resource == "nodes" {
			nodes[r.Program+" "+r.Verb+" "+ref.Subresource]++
		}
	})
	if err != nil {
		return err
	}
	if len(nodes) > 0 {
		return fmt.Errorf("our programs wrote to nodes: %v", nodes)
	}
	if len(refused) > 0 {
		return fmt.Errorf("our policies refused %d writes of our programs, the first: %s", len(refused), refused[0])
	}
	fmt.Printf("our programs made %d writes, none to a node\n", ours)
	return nil
}
