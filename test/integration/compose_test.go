package integration

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// A person imports the order of a compose file, and creates what kompose makes of the file as it is.
func TestPodsOfAComposeFileStartInItsOrder(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const shop = "../../tools/podseqctl/testdata/compose/shop"
	s := newStory(t)
	s.optIn("enabled")
	bin, err := controlplane.FindBin()
	require.NoError(t, err)
	s.env.MustShell(t, fmt.Sprintf("%s/kubectl-podseq import compose %s/compose.yaml | kubectl apply -n %s -f -", bin, shop, s.Namespace))
	s.fence() // pods that no label makes wait for the sequence must not come before it
	for _, object := range s.komposed(filepath.Join(shop, "kompose.yaml")) {
		s.Create(object)
	}

	db, redis, migrate, api, web := s.podOf("db"), s.podOf("redis"), s.podOf("migrate"), s.podOf("api"), s.podOf("web")
	s.awaitBound(db, redis)
	s.expectHeld(migrate, api, web)
	s.makeReady(db) // service_healthy
	s.awaitBound(migrate)
	s.makeReady(redis, migrate)
	s.expectHeld(api, web)
	s.annotate(migrate, cluster.CompleteAfter, "0s") // service_completed_successfully
	s.awaitBound(api)
	s.expectHeld(web)
	s.makeReady(api)
	s.awaitBound(web)
	s.makeReady(web)
	s.awaitPhase("shop", v1alpha1.PhaseCompleted)
}

// komposed reads workloads, and keeps their pods from being ready before the test says so.
func (s *story) komposed(file string) (objects []client.Object) {
	s.Helper()
	input, err := os.Open(file)
	require.NoError(s, err)
	defer func() { require.NoError(s, input.Close()) }()
	decoder := yaml.NewYAMLOrJSONDecoder(input, 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects
		} else {
			require.NoError(s, err)
		}
		never := map[string]string{cluster.ReadyAfter: "never"}
		if object.GetKind() == "Pod" {
			pod := &corev1.Pod{}
			require.NoError(s, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod))
			pod.Namespace, pod.Annotations = s.Namespace, never
			objects = append(objects, pod)
			continue
		}
		deployment := &appsv1.Deployment{}
		require.NoError(s, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment))
		deployment.Namespace, deployment.Spec.Template.Annotations = s.Namespace, never
		objects = append(objects, deployment)
	}
}

// podOf waits until there is a pod of a service of the compose file, and returns its name.
func (s *story) podOf(service string) (name string) {
	s.Helper()
	s.Await("a pod of "+service, func() bool {
		var pods corev1.PodList
		require.NoError(s, s.API.List(s.Ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{"io.kompose.service": service}))
		if len(pods.Items) == 0 {
			return false
		}
		name = pods.Items[0].Name
		return true
	})
	return name
}
