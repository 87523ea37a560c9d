package deployment

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/controlplane"
	. "example.com/podsequence/internal/testing"
)

// unused are permissions that this test's course of events does not need, and why they are granted all the same.
var unused = map[string]string{
	"podsequence-controller: list pods":                                           fallback,
	"podsequence-controller: list podsequences.scheduling.example.com":            fallback,
	"podsequence-controller: list replicasets.apps":                               fallback,
	"podsequence-controller: list deploymentcoordinations.apps.containerinfra.nl": fallback + "; and those that overlap are listed afresh",
	"podsequence-controller: list sequentialjobs.batch.example.com":               fallback,
	"podsequence-controller: list jobs.batch":                                     fallback,
	"podsequence-controller: update sequentialjobs/finalizers.batch.example.com":  "owners that block deletion may only be named by who may finalize them",
	"podsequence-controller: patch events.events.k8s.io":                          series,
	"podsequence-controller: patch events in podsequence-system":                  series,
	"podsequence-scheduler: list podsequences.scheduling.example.com":             fallback,
	"podsequence-controller: list " + definition:                                  fallback,
	"podsequence-controller: list " + coschedulingDefinition:                      fallback,
	"podsequence-controller: list " + nativeService:                               fallback,
	"podsequence-controller: list " + sequentialJobDefinition:                     fallback,
	"podsequence-controller: list " + coordinationDefinition:                      fallback,
	"podsequence-controller: list statefulsets.apps":                              fallback,
	"podsequence-scheduler: list " + definition:                                   fallback,
	"podsequence-scheduler: list " + coschedulingDefinition:                       fallback,
	"podsequence-scheduler: list " + nativeService:                                fallback,
	"podsequence-scheduler: list deployments.apps":                                fallback,
	"podsequence-scheduler: list daemonsets.apps":                                 fallback,
	"podsequence-scheduler: list jobs.batch":                                      fallback,
	"podsequence-scheduler: list podgroups.scheduling.k8s.io":                     fallback,
	"podsequence-scheduler: list podgroups.scheduling.x-k8s.io":                   fallback,
	"podsequence-controller: list daemonsets.apps":                                fallback,
	"podsequence-controller: list replicationcontrollers":                         fallback,
	"podsequence-controller: list namespaces":                                     fallback,
	"podsequence-controller: list nodes":                                          fallback,
}

const readyAfter = "sandbox.podsequence.example.com/ready-after"

const (
	definition              = "customresourcedefinitions.apiextensions.k8s.io podsequences.scheduling.example.com"
	sequentialJobDefinition = "customresourcedefinitions.apiextensions.k8s.io sequentialjobs.batch.example.com"
	coordinationDefinition  = "customresourcedefinitions.apiextensions.k8s.io deploymentcoordinations.apps.containerinfra.nl"
	// What tells whether there are PodGroups.
	coschedulingDefinition = "customresourcedefinitions.apiextensions.k8s.io podgroups.scheduling.x-k8s.io"
	nativeService          = "apiservices.apiregistration.k8s.io v1beta1.scheduling.k8s.io"

	fallback = "API servers that cannot stream a list as a watch are asked for it plainly"
	series   = "an event that happens again counts up the one that is there"
)

// The course of events needs each kind of write that the programs make, and each thing that they read.
func TestPermissionsAreThoseThatAreUsed(t *testing.T) {
	ns := newNamespace(t)
	runSequence(t, ns)
	rollOutInTurn(t, ns)
	runSteps(t, ns)
	runGroup(t, ns)
	readMetrics(t, ns, controlplane.PodSequenceScheduler, controlplane.PodSequenceController)

	unneeded := expectGrantsAreUsed(t)
	assert.Empty(t, unneeded, "excused, but not granted")
}

// runSequence has pods of both our scheduler and another one start in order.
func runSequence(t *testing.T, ns string) {
	t.Helper()
	pods := []struct{ name, scheduler, gate string }{
		{"by-name", "podsequence-scheduler", ""},
		{"by-gate", "podsequence-scheduler", sequenceGate},
		{"of-another", controlplane.AnotherScheduler, sequenceGate},
	}
	create(t, MakeSequence(ns, "shop").
		Pods("By name", "by-name").Pods("By gate", "by-gate").Pods("Of another scheduler", "of-another").Obj())
	for _, pod := range pods {
		wrapper := ourPod(ns, pod.name).SchedulerName(pod.scheduler)
		if pod.name == "by-name" {
			wrapper.Annotation(readyAfter, "never") // until the others have been told what they wait for
		}
		if pod.gate != "" {
			wrapper.SchedulingGates([]string{pod.gate})
		}
		create(t, wrapper.Obj())
	}
	for _, name := range []string{"by-gate", "of-another"} {
		await(t, name+" to be told what it waits for", func() bool { return isHeld(get(t, &corev1.Pod{}, ns, name)) })
	}
	first := get(t, &corev1.Pod{}, ns, "by-name")
	require.NoError(t, api.Patch(t.Context(), first, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+readyAfter+`":"0s"}}}`))))
	await(t, "the sequence to be completed", func() bool {
		return get(t, &v1alpha1.PodSequence{}, ns, "shop").Status.Phase == v1alpha1.PhaseCompleted
	})
}

// readMetrics has the programs asked for their metrics.
func readMetrics(t *testing.T, ns string, programs ...string) {
	t.Helper()
	monitor := newMonitor(t, ns)
	for _, program := range programs {
		url, err := cluster.URL(program)
		require.NoError(t, err)
		code, _ := fetch(t, url+"/metrics", monitor)
		require.Equal(t, http.StatusOK, code)
	}
}

// expectGrantsAreUsed asserts that nothing was refused to our programs, and that they have no permission that they did not
// use, but for those that are excused. It returns the general excuses for permissions that are not granted.
func expectGrantsAreUsed(t *testing.T, excused ...string) (unneeded map[string]bool) {
	t.Helper()
	requests := ourRequests(t)
	var grants []grant
	for _, program := range []string{"scheduler", "controller"} {
		grants = append(grants, grantsOf(t, program)...)
	}
	require.NotEmpty(t, grants)

	for _, r := range requests {
		assert.NotEqual(t, http.StatusForbidden, r.code, "refused: %s", r)
	}
	unneeded = map[string]bool{}
	for exception := range unused {
		unneeded[exception] = true
	}
	for _, g := range grants {
		delete(unneeded, g.String())
		if _, generally := unused[g.String()]; !generally && !slices.Contains(excused, g.String()) {
			assert.True(t, g.usedBy(requests), "granted and not used: %s", g)
		}
	}
	return unneeded
}
