package deployment

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// awaited are the kinds without which the controller starts, by their definitions, and what installs each.
var awaited = map[string]string{
	"sequentialjobs.batch.example.com":               "kubectl apply --server-side -f manifests/crds/batch.example.com_sequentialjobs.yaml",
	"deploymentcoordinations.apps.containerinfra.nl": "kubectl apply --server-side -f manifests/crds/apps.containerinfra.nl_deploymentcoordinations.yaml",
	"podsequences.scheduling.example.com":            "kubectl apply --server-side -f manifests/crds/scheduling.example.com_podsequences.yaml",
}

func TestKindsThatAreNotInstalledAreWaitedFor(t *testing.T) {
	t.Parallel()
	s := ownSite(t, controlplane.Options{})
	require.NoError(s, s.cluster.Kill(s.Context(), controlplane.PodSequenceController))
	uninstallKinds(s)
	// It returns when the controller is ready.
	require.NoError(s, s.cluster.StartComponent(s.Context(), controlplane.PodSequenceController))
	pid, err := s.cluster.PID(controlplane.PodSequenceController)
	require.NoError(s, err)
	ns := newNamespace(s)
	monitor := newMonitor(s, ns)

	awaitInstalled(s, monitor, "0")
	for definition, command := range awaited {
		assert.Equal(s, 1, logged(s, "The kind is not installed", definition, command), "%s in the log", definition)
	}
	runPods(s, ns) // what needs no kind goes on
	s.Log("a Deployment is left that waits for its turn by a coordination that is gone with its kind")
	left := deployment(ns, "left", nil)
	left.Annotations = map[string]string{appsapi.PausedByAnnotation: "proxies"}
	left.Spec.Paused = true
	create(s, left)
	cluster.Await(s, "it to be unpaused", func() bool { return !get(s, &appsv1.Deployment{}, ns, "left").Spec.Paused })

	s.Log("the kinds come")
	require.NoError(s, s.cluster.Apply(s.Context(), "crds"))
	useKinds(s)
	awaitInstalled(s, monitor, "1")

	s.Log("they are removed with what there is of them")
	refusedBefore := notFound(s)
	uninstallKinds(s)
	awaitInstalled(s, monitor, "0")
	ns = newNamespace(s)
	runPods(s, ns)
	// One that was under way when the kind went may still be refused.
	assert.LessOrEqual(s, notFound(s), refusedBefore+len(awaited), "lists and watches of kinds that are not there")
	for definition, command := range awaited {
		assert.Equal(s, 2, logged(s, "The kind is not installed", definition, command), "%s in the log", definition)
	}

	s.Log("they come back")
	require.NoError(s, s.cluster.Apply(s.Context(), "crds"))
	useKinds(s)
	awaitInstalled(s, monitor, "1")

	after, err := s.cluster.PID(controlplane.PodSequenceController)
	require.NoError(s, err)
	assert.Equal(s, pid, after, "the controller was started anew")
	assert.NoError(s, componentProblem(s, controlplane.PodSequenceController))
}

// useKinds uses an object of each kind for what it is for.
func useKinds(s *site) {
	s.Helper()
	ns := newNamespace(s)
	rollOutInTurn(s, ns)
	runSteps(s, ns)
	runSequence(s, ns)
}

// runPods creates a pod of a group, and waits until the controller labels it.
func runPods(s *site, namespace string) {
	s.Helper()
	create(s, ourPod(namespace, "member").SchedulerName("default-scheduler").Label("podgroup.jhwagner.github.io/name", "group").Obj())
	cluster.Await(s, "the group to be labelled", func() bool { return isLabelled(s, namespace, "member") })
}

// uninstallKinds removes the kinds, and returns when the API server has removed what there was of them.
func uninstallKinds(s *site) {
	s.Helper()
	for name := range awaited {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		definition.Name = name
		require.NoError(s, s.cluster.API.Delete(s.Context(), definition))
	}
	for name := range awaited {
		cluster.Await(s, name+" to be gone", func() bool {
			err := s.cluster.API.Get(s.Context(), client.ObjectKey{Name: name}, &apiextensionsv1.CustomResourceDefinition{})
			return apierrors.IsNotFound(err)
		})
	}
}

// awaitInstalled waits until the controller's metrics say of all kinds that they are installed, or that none is.
func awaitInstalled(s *site, monitor, want string) {
	s.Helper()
	url, err := s.cluster.URL(controlplane.PodSequenceController)
	require.NoError(s, err)
	cluster.Await(s, "the metrics to say of every kind "+want, func() bool {
		code, text, err := tryFetch(s, url+"/metrics", monitor)
		if err != nil {
			return false // it has just been started
		}
		require.Equal(s, http.StatusOK, code)
		for definition := range awaited {
			if !strings.Contains(text, `podsequence_kind_installed{resource="`+definition+`"} `+want+"\n") {
				return false
			}
		}
		return true
	})
}

// logged counts the lines of the controller's log that have all of these texts.
func logged(s *site, texts ...string) int {
	s.Helper()
	log, err := os.ReadFile(s.cluster.Log(controlplane.PodSequenceController))
	require.NoError(s, err)
	count := 0
	for line := range strings.Lines(string(log)) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			count++
		}
	}
	return count
}

// notFound counts requests of the controller for all objects of a kind that the API server does not know.
func notFound(s *site) int {
	s.Helper()
	count := 0
	for _, r := range ourRequests(s) {
		_, isAwaited := awaited[r.resource]
		if isAwaited && r.program == controlplane.PodSequenceController && r.name == "" && r.code == http.StatusNotFound {
			count++
		}
	}
	return count
}

func componentProblem(s *site, name string) error {
	s.Helper()
	components, err := s.cluster.Status(s.Context())
	require.NoError(s, err)
	for _, c := range components {
		if c.Name == name {
			return c.Problem
		}
	}
	return os.ErrNotExist
}
