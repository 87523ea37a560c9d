package ordercheck

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/revisions"
)

// kinds are what the referee judges, and what it judges by: where the API server stores them, and what is kept of each.
var kinds = []revisions.Kind[facts]{
	revisions.KindOf("pods", factsOfPod),
	revisions.KindOf("namespaces", factsOfNamespace),
	revisions.KindOf("apiextensions.k8s.io/customresourcedefinitions", readDefinition),
	revisions.KindOf("minions", factsOfNode), // as nodes were called in the beginning
	revisions.KindOf("deployments", factsOfDeployment),
	revisions.KindOf("replicasets", factsOfReplicaSet),
	revisions.KindOf("controllers", factsOfReplicationController),
	revisions.KindOf("statefulsets", factsOfStatefulSet),
	revisions.KindOf("daemonsets", factsOfDaemonSet),
	revisions.KindOf("jobs", factsOfJob),
	revisions.KindOf(v1alpha1.GroupVersion.Group+"/podsequences", readSequence),
	revisions.KindOf(v1alpha1.GroupVersion.Group+"/clusterpodsequences", readClusterSequence),
}

// recorder writes the history down.
type recorder struct {
	events    []event
	clock     time.Time                      // the newest time that the API has written
	completed sets.Set[types.NamespacedName] // sequences whose status says so as of now
	auditor   *auditor
}

// record leaves out a change that the replay would not notice.
func (r *recorder) record(c revisions.Change[facts]) {
	r.clock = later(r.clock, earlier(c.Object.stamped(), c.Arrived))
	r.auditor.note(c)
	if c.Before != nil && !c.Deleted && c.Object.says(c.Before) {
		return
	}
	e := c.Object.as(event{revision: c.Revision, arrived: c.Arrived, earliest: r.clock, deleted: c.Deleted})
	r.events = append(r.events, e)
	if e.sequence != nil {
		r.completed.Delete(e.sequence.NamespacedName)
		if e.sequence.completed && !e.deleted {
			r.completed.Insert(e.sequence.NamespacedName)
		}
	}
}
