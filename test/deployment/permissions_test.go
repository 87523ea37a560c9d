package deployment

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// unused are permissions that this test's course of events does not need, and why they are granted all the same.
var unused = map[string]string{
	"podsequence-controller: list pods":                                               fallback,
	"podsequence-controller: list podsequences.scheduling.example.com":                fallback,
	"podsequence-controller: list replicasets.apps":                                   fallback,
	"podsequence-controller: list deploymentcoordinations.apps.containerinfra.nl":     fallback + "; and those that overlap are listed afresh",
	"podsequence-controller: list sequentialjobs.batch.example.com":                   fallback,
	"podsequence-controller: list jobs.batch":                                         fallback,
	"podsequence-controller: update sequentialjobs/finalizers.batch.example.com":      "owners that block deletion may only be named by who may finalize them",
	"podsequence-controller: patch events.events.k8s.io":                              series,
	"podsequence-controller: patch events in podsequence-system":                      series,
	"podsequence-scheduler: list podsequences.scheduling.example.com":                 fallback,
	"podsequence-controller: list " + definition:                                      fallback,
	"podsequence-controller: list " + clusterDefinition:                               fallback,
	"podsequence-controller: list clusterpodsequences.scheduling.example.com":         fallback,
	"podsequence-controller: list " + coschedulingDefinition:                          fallback,
	"podsequence-controller: list " + sequentialJobDefinition:                         fallback,
	"podsequence-controller: list " + coordinationDefinition:                          fallback,
	"podsequence-controller: list statefulsets.apps":                                  fallback,
	"podsequence-scheduler: list " + definition:                                       fallback,
	"podsequence-scheduler: list " + clusterDefinition:                                fallback,
	"podsequence-scheduler: list clusterpodsequences.scheduling.example.com":          fallback,
	"podsequence-scheduler: list deployments.apps":                                    fallback,
	"podsequence-scheduler: list daemonsets.apps":                                     fallback,
	"podsequence-scheduler: list jobs.batch":                                          fallback,
	"podsequence-controller: list daemonsets.apps":                                    fallback,
	"podsequence-controller: list deployments.apps":                                   fallback,
	"podsequence-controller: list replicationcontrollers":                             fallback,
	"podsequence-controller: list namespaces":                                         fallback,
	"podsequence-controller: list nodes":                                              fallback,
	"podsequence-scheduler: patch podsequences/status.scheduling.example.com":         eitherOfBoth,
	"podsequence-scheduler: patch clusterpodsequences/status.scheduling.example.com":  eitherOfBoth,
	"podsequence-scheduler: get deployments.apps":                                     eitherOfBoth,
	"podsequence-scheduler: get daemonsets.apps":                                      eitherOfBoth,
	"podsequence-scheduler: get jobs.batch":                                           eitherOfBoth,
	"podsequence-controller: patch podsequences/status.scheduling.example.com":        eitherOfBoth,
	"podsequence-controller: patch clusterpodsequences/status.scheduling.example.com": eitherOfBoth,
	"podsequence-controller: get daemonsets.apps":                                     eitherOfBoth,
	"podsequence-controller: get deployments.apps":                                    eitherOfBoth,
	"podsequence-controller: get replicasets.apps":                                    eitherOfBoth,
	"podsequence-controller: get statefulsets.apps":                                   eitherOfBoth,
	"podsequence-controller: get replicationcontrollers":                              eitherOfBoth,
}

const (
	definition              = "customresourcedefinitions.apiextensions.k8s.io podsequences.scheduling.example.com"
	clusterDefinition       = "customresourcedefinitions.apiextensions.k8s.io clusterpodsequences.scheduling.example.com"
	sequentialJobDefinition = "customresourcedefinitions.apiextensions.k8s.io sequentialjobs.batch.example.com"
	coordinationDefinition  = "customresourcedefinitions.apiextensions.k8s.io deploymentcoordinations.apps.containerinfra.nl"
	// What says whether there are PodGroups.
	coschedulingDefinition = "customresourcedefinitions.apiextensions.k8s.io podgroups.scheduling.x-k8s.io"

	fallback = "API servers that cannot stream a list as a watch are asked for it plainly"
	// eitherOfBoth is what a program needs to record that a group was passed.
	eitherOfBoth = "either of both programs looks at the workloads of a group and records that it was passed, whichever is first"
	series       = "an event that happens again counts up the one that is there"
)

// The course of events needs each kind of write that the programs make, and each thing that they read.
func TestPermissionsAreThoseThatAreUsed(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	runSequence(s, ns)
	rollOutInTurn(s, ns)
	runSteps(s, ns)
	runGroup(s, ns)
	readMetrics(s, ns, controlplane.PodSequenceScheduler, controlplane.PodSequenceController)

	unneeded := expectGrantsAreUsed(s)
	assert.Empty(s, unneeded, "excused, but not granted")
}

// runSequence starts pods of both our scheduler and another one in order.
func runSequence(s *site, ns string) {
	s.Helper()
	pods := []struct{ name, scheduler, gate string }{
		{"by-name", "podsequence-scheduler", ""},
		{"by-gate", "podsequence-scheduler", sequenceGate},
		{"of-another", controlplane.AnotherScheduler, sequenceGate},
	}
	service := &corev1.Service{}
	service.Namespace, service.Name = ns, "by-name"
	service.Spec.ClusterIP = corev1.ClusterIPNone
	create(s, service)
	sequence := MakeSequence(ns, "shop").
		Objects("This", v1alpha1.ObjectReference{APIVersion: "v1", Kind: "Service", Name: "by-name"}).
		Pods("By name", "by-name").Pods("By gate", "by-gate").Pods("Of another scheduler", "of-another").Obj()
	sequence.Finalizers = []string{v1alpha1.FormerFinalizer}
	create(s, sequence)
	for _, pod := range pods {
		wrapper := ourPod(ns, pod.name).SchedulerName(pod.scheduler)
		if pod.name == "by-name" {
			wrapper.Annotation(cluster.ReadyAfter, "never") // until the others have been told what they wait for
		}
		if pod.gate != "" {
			wrapper.SchedulingGates([]string{pod.gate})
		}
		create(s, wrapper.Obj())
	}
	for _, name := range []string{"by-gate", "of-another"} {
		cluster.Await(s, name+" to be told what it waits for", func() bool { return cluster.IsHeld(get(s, &corev1.Pod{}, ns, name)) })
	}
	first := get(s, &corev1.Pod{}, ns, "by-name")
	require.NoError(s, s.cluster.API.Patch(s.Context(), first, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+cluster.ReadyAfter+`":"0s"}}}`))))
	cluster.Await(s, "the sequence to be completed", func() bool {
		return get(s, &v1alpha1.PodSequence{}, ns, "shop").Status.Phase == v1alpha1.PhaseCompleted
	})
	runClusterSequence(s, ns)
}

// runClusterSequence creates a ClusterPodSequence of pods that are ready already, and waits until it is completed.
func runClusterSequence(s *site, ns string) {
	s.Helper()
	across := &v1alpha1.ClusterPodSequence{}
	across.Name = ns
	across.Spec.PodGroups = []v1alpha1.ClusterPodGroup{{
		PodGroup: v1alpha1.PodGroup{Pods: []string{"by-name", "by-gate"}}, Namespaces: []string{ns},
	}}
	create(s, across)
	cluster.Await(s, "the ClusterPodSequence to be completed", func() bool {
		return get(s, &v1alpha1.ClusterPodSequence{}, "", ns).Status.Phase == v1alpha1.PhaseCompleted
	})
}

// readMetrics asks the programs for their metrics, and returns what they serve.
func readMetrics(s *site, ns string, programs ...string) map[string]string {
	s.Helper()
	monitor, served := newMonitor(s, ns), map[string]string{}
	for _, program := range programs {
		url, err := s.cluster.URL(program)
		require.NoError(s, err)
		code, text := fetch(s, url+"/metrics", monitor)
		require.Equal(s, http.StatusOK, code)
		served[program] = text
	}
	return served
}

// expectGrantsAreUsed asserts that nothing was refused to our programs, and that they have no permission that they did not
// use, but for those that are excused. It returns the excuses for permissions that are not granted.
func expectGrantsAreUsed(s *site) (unneeded map[string]bool) {
	s.Helper()
	requests := ourRequests(s)
	var grants []grant
	for _, program := range []string{"scheduler", "controller"} {
		grants = append(grants, grantsOf(s, program)...)
	}
	require.NotEmpty(s, grants)

	for _, r := range requests {
		assert.NotEqual(s, http.StatusForbidden, r.code, "refused: %s", r)
	}
	unneeded = map[string]bool{}
	for exception := range unused {
		unneeded[exception] = true
	}
	for _, g := range grants {
		delete(unneeded, g.String())
		if _, generally := unused[g.String()]; !generally {
			assert.True(s, g.usedBy(requests), "granted and not used: %s", g)
		}
	}
	return unneeded
}
