package report

import (
	"fmt"
	"strings"
	"time"

	"example.com/podsequence/internal/printable"
	"example.com/podsequence/pkg/sequence/inventory"
)

// NodeTrouble says what is wrong with a node on which a pod is not ready: its kubelet may be silent, and then nothing changes what
// its pods say. It is empty if nothing is wrong.
func NodeTrouble(n *inventory.Node) string {
	cordoned := n.Object.Spec.Unschedulable
	switch {
	case n.NotReady.IsZero() && cordoned:
		return fmt.Sprintf("node %s is cordoned", n.Name)
	case n.NotReady.IsZero():
		return ""
	}
	text := fmt.Sprintf("node %s has not been ready", n.Name)
	if since := n.NotReady.Since; !since.IsZero() {
		text += " since " + since.UTC().Format(time.RFC3339)
	}
	why := cut(n.NotReady.Reason, 60)
	if message := strings.TrimSuffix(n.NotReady.Message, "."); message != "" {
		why += ": " + cut(message, 120)
	}
	text += " (" + why + ")"
	if cordoned {
		text += " and is cordoned"
	}
	return printable.Line(text)
}
