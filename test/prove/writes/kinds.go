// Package writes kills an instance of our programs just before and just after each kind of write that they make, many times,
// and compares the end with that of the same story without any kill.
package writes

import (
	"net/http"
	"slices"
	"strings"

	"example.com/podsequence/test/prove/site"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// Kind is a kind of write, and the story in which it is made.
type Kind struct {
	site.Write
	// What is for people.
	What  string
	story string
}

// Kinds are all kinds of writes that our programs make, but for those of leases, and of their requests about who asks for metrics.
func Kinds() []Kind {
	const scheduler, controller = controlplane.PodSequenceScheduler, controlplane.PodSequenceController
	kind := func(program, method, resource, what, story string) Kind {
		return Kind{Write: site.Write{Program: program, Method: method, Resource: resource}, What: what, story: story}
	}
	return []Kind{
		kind(scheduler, http.MethodPost, "pods/binding", "binding of a pod", order),
		kind(scheduler, http.MethodPatch, "pods", "gate of a pod of our scheduler lifted", order),
		kind(scheduler, http.MethodPatch, "pods/status", "what a held pod waits for", order),
		kind(scheduler, http.MethodPost, "events", "event of a pod", order),
		kind(scheduler, http.MethodPatch, "podsequences/status", "pass of a group of a PodSequence recorded", order),
		kind(scheduler, http.MethodPatch, "clusterpodsequences/status", "pass of a group of a ClusterPodSequence recorded", across),
		kind(controller, http.MethodPut, "podsequences/status", "status of a PodSequence", order),
		kind(controller, http.MethodPost, "events", "event of a PodSequence", order),
		kind(controller, http.MethodPatch, "pods", "gate of a pod of another scheduler lifted", others),
		kind(controller, http.MethodPatch, "pods/status", "what a held pod of another scheduler waits for", others),
		kind(controller, http.MethodPut, "clusterpodsequences/status", "status of a ClusterPodSequence", across),
		kind(controller, http.MethodPatch, "podsequences/status", "pass of a group of a PodSequence recorded without a scheduler of ours", alone),
		kind(controller, http.MethodPatch, "clusterpodsequences/status", "pass of a group of a ClusterPodSequence recorded without a scheduler of ours", acrossAlone),
		kind(controller, http.MethodPost, "jobs", "Job of a step created", steps),
		kind(controller, http.MethodPut, "sequentialjobs/status", "status of a SequentialJob", steps),
		kind(controller, http.MethodPatch, "jobs", "Job suspended, resumed", suspension),
		kind(controller, http.MethodDelete, "jobs", "Job deleted, for its step to run again", again),
		kind(controller, http.MethodDelete, "sequentialjobs", "SequentialJob deleted, as its time to live is over", lifetime),
		kind(controller, http.MethodPatch, "pods", "ready label of a pod in a group", podGroups),
		kind(controller, http.MethodPatch, "deployments", "Deployment paused, unpaused", rollout),
		kind(controller, http.MethodPut, "deploymentcoordinations/status", "status of a DeploymentCoordination", rollout),
		kind(controller, http.MethodPatch, "deploymentcoordinations", "finalizer of a DeploymentCoordination set, taken off", finalizers),
	}
}

// Unlisted are the writes that were made, and that no kind is of.
func Unlisted(made []site.Write) []site.Write {
	kinds := Kinds()
	return slices.DeleteFunc(slices.Clone(made), func(w site.Write) bool {
		aside := w.Resource == "leases" || w.Resource == "events" || strings.HasSuffix(w.Resource, "reviews")
		return aside || slices.ContainsFunc(kinds, func(k Kind) bool { return k.Write == w })
	})
}
