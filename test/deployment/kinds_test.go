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
	"example.com/podsequence/internal/controlplane"
)

// awaited are the kinds without which the controller starts, by their definitions, and what installs each.
var awaited = map[string]string{
	"sequentialjobs.batch.example.com":               "kubectl apply --server-side -f manifests/crds/batch.example.com_sequentialjobs.yaml",
	"deploymentcoordinations.apps.containerinfra.nl": "kubectl apply --server-side -f manifests/crds/apps.containerinfra.nl_deploymentcoordinations.yaml",
	"podsequences.scheduling.example.com":            "kubectl apply --server-side -f manifests/crds/scheduling.example.com_podsequences.yaml",
}

func TestKindsThatAreNotInstalledAreWaitedFor(t *testing.T) {
	startCluster(t, controlplane.Options{})
	require.NoError(t, cluster.Kill(t.Context(), controlplane.PodSequenceController))
	uninstallKinds(t)
	// It returns when the controller is ready.
	require.NoError(t, cluster.StartComponent(t.Context(), controlplane.PodSequenceController))
	pid, err := cluster.PID(controlplane.PodSequenceController)
	require.NoError(t, err)
	ns := newNamespace(t)
	monitor := newMonitor(t, ns)

	awaitInstalled(t, monitor, "0")
	for definition, command := range awaited {
		assert.Equal(t, 1, logged(t, "The kind is not installed", definition, command), "%s in the log", definition)
	}
	runPods(t, ns) // what needs no kind goes on
	t.Log("a Deployment is left that waits for its turn by a coordination that is gone with its kind")
	left := deployment(ns, "left", nil)
	left.Annotations = map[string]string{appsapi.PausedByAnnotation: "proxies"}
	left.Spec.Paused = true
	create(t, left)
	await(t, "it to be unpaused", func() bool { return !get(t, &appsv1.Deployment{}, ns, "left").Spec.Paused })

	t.Log("the kinds come")
	require.NoError(t, cluster.Apply(t.Context(), "crds"))
	useKinds(t)
	awaitInstalled(t, monitor, "1")

	t.Log("they are removed with what there is of them")
	refusedBefore := notFound(t)
	uninstallKinds(t)
	awaitInstalled(t, monitor, "0")
	ns = newNamespace(t)
	runPods(t, ns)
	// One that was under way when the kind went may still be refused.
	assert.LessOrEqual(t, notFound(t), refusedBefore+len(awaited), "lists and watches of kinds that are not there")
	for definition, command := range awaited {
		assert.Equal(t, 2, logged(t, "The kind is not installed", definition, command), "%s in the log", definition)
	}

	t.Log("they come back")
	require.NoError(t, cluster.Apply(t.Context(), "crds"))
	useKinds(t)
	awaitInstalled(t, monitor, "1")

	after, err := cluster.PID(controlplane.PodSequenceController)
	require.NoError(t, err)
	assert.Equal(t, pid, after, "the controller was started anew")
	assert.NoError(t, componentProblem(t, controlplane.PodSequenceController))
}

// useKinds has an object of each kind do what it is for.
func useKinds(t *testing.T) {
	t.Helper()
	ns := newNamespace(t)
	rollOutInTurn(t, ns)
	runSteps(t, ns)
	runSequence(t, ns)
}

// runPods has a pod of a group run, which the controller labels.
func runPods(t *testing.T, namespace string) {
	t.Helper()
	create(t, ourPod(namespace, "member").SchedulerName("default-scheduler").Label("podgroup.jhwagner.github.io/name", "group").Obj())
	await(t, "the group to be labelled", func() bool { return isLabelled(t, namespace, "member") })
}

// uninstallKinds removes the kinds, and returns when the API server has removed what there was of them.
func uninstallKinds(t *testing.T) {
	t.Helper()
	for name := range awaited {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		definition.Name = name
		require.NoError(t, api.Delete(t.Context(), definition))
	}
	for name := range awaited {
		await(t, name+" to be gone", func() bool {
			err := api.Get(t.Context(), client.ObjectKey{Name: name}, &apiextensionsv1.CustomResourceDefinition{})
			return apierrors.IsNotFound(err)
		})
	}
}

// awaitInstalled waits until the controller's metrics say of all kinds that they are installed, or that none is.
func awaitInstalled(t *testing.T, monitor, want string) {
	t.Helper()
	url, err := cluster.URL(controlplane.PodSequenceController)
	require.NoError(t, err)
	await(t, "the metrics to say of every kind "+want, func() bool {
		code, text, err := tryFetch(t, url+"/metrics", monitor)
		if err != nil {
			return false // it has just been started
		}
		require.Equal(t, http.StatusOK, code)
		for definition := range awaited {
			if !strings.Contains(text, `podsequence_kind_installed{resource="`+definition+`"} `+want+"\n") {
				return false
			}
		}
		return true
	})
}

// logged counts the lines of the controller's log that have all of these texts.
func logged(t *testing.T, texts ...string) int {
	t.Helper()
	log, err := os.ReadFile(cluster.Log(controlplane.PodSequenceController))
	require.NoError(t, err)
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
func notFound(t *testing.T) int {
	t.Helper()
	count := 0
	for _, r := range ourRequests(t) {
		_, isAwaited := awaited[r.resource]
		if isAwaited && r.program == controlplane.PodSequenceController && r.name == "" && r.code == http.StatusNotFound {
			count++
		}
	}
	return count
}

func componentProblem(t *testing.T, name string) error {
	t.Helper()
	components, err := cluster.Status(t.Context())
	require.NoError(t, err)
	for _, c := range components {
		if c.Name == name {
			return c.Problem
		}
	}
	return os.ErrNotExist
}
