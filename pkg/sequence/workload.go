package sequence

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/pkg/sequence/inventory"
)

// workload is a workload, and what it is to the engine.
type workload struct {
	inventory.Workload

	// demands has the workload's place in each sequence whose groups select its pods.
	demands map[*sequence]*demand

	// due are the nodes that a DaemonSet should run on, and onNode counts the pods it has on each. Kept only while a
	// sequence of node scope selects it.
	due    map[string]struct{}
	onNode map[string]int
}

// viewWorkload is the workload as the engine has not entered it yet; nil for an object of a kind that is not in the table.
func viewWorkload(object metav1.Object) *workload {
	w := &workload{demands: map[*sequence]*demand{}}
	if !w.View(object) {
		return nil
	}
	return w
}
