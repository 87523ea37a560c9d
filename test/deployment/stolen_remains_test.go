package deployment

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
)

var (
	events         = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}
	resourceClaims = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"}
)

// forgedEvent says anything about anything.
const forgedEvent = `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"forged"},"eventTime":"2026-01-01T00:00:00.000000Z",
	"reportingController":"example.com/forged","reportingInstance":"forged","action":"Forge","reason":"Forged","type":"Normal"}`

// docs/security.md lists what remains; each line of it is here or in the tests of what one policy allows. If an attempt is refused
// some day, the page may promise more.
func TestAStolenTokenStillDoesWhatThePageSays(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	selector := map[string]string{"app": "shop"}
	create(s, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector}, Spec: containers()},
		},
	}, stepsOf(ns, "steps", nil), &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "device"}})
	fields := `{"metadata":{"managedFields":[{}]}}`
	status := func(a attempts) error {
		objects := a.Resource(steps).Namespace(a.namespace)
		object := &unstructured.Unstructured{}
		err := s.cluster.API.Get(a.Context(), client.ObjectKey{Namespace: ns, Name: "steps"}, withKind(object))
		require.NoError(a, err)
		require.NoError(a, unstructured.SetNestedField(object.Object, "Succeeded", "status", "phase"))
		_, err = objects.UpdateStatus(a.Context(), object, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	stealToken(s, "podsequence-controller", ns).expectAccepted(map[string]attempt{
		"a forged event":                     creating(events, "kube-system", forgedEvent),
		"a forged status of a SequentialJob": status,
		"its own lease":                      updating(leases, systemNamespace, "podsequence-controller"),
		"to forget who manages the fields":   patching(deployments, "shop", types.MergePatchType, fields),
	})
	stealToken(s, "podsequence-scheduler", ns).expectAccepted(map[string]attempt{
		"a forged event":           creating(events, "kube-system", forgedEvent),
		"its own lease":            updating(leases, systemNamespace, "podsequence-scheduler"),
		"a changed resource claim": patching(resourceClaims, "device", types.MergePatchType, `{"metadata":{"labels":{"a":"b"}}}`),
	})
}

func withKind(object *unstructured.Unstructured) *unstructured.Unstructured {
	object.SetAPIVersion("batch.example.com/v1alpha1")
	object.SetKind("SequentialJob")
	return object
}

// No policy can look for an owner by the name that a request has. So the Job is created, and does not stay.
func TestAJobOfAnInventedSequentialJobIsCollectedWithItsPods(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	job := stepJob(ns, "invented", inventedOwner())
	job.Spec.Suspend = nil
	job.Spec.Template.Annotations = map[string]string{cluster.CompleteAfter: "never"}
	content, err := json.Marshal(job)
	require.NoError(s, err)
	object := &unstructured.Unstructured{}
	require.NoError(s, object.UnmarshalJSON(content))
	stolen := stealToken(s, "podsequence-controller", ns)
	_, err = stolen.Resource(jobs).Namespace(ns).Create(s.Context(), object, metav1.CreateOptions{})
	require.NoError(s, err)
	cluster.Await(s, "the Job to be collected", func() bool {
		return apierrors.IsNotFound(s.cluster.API.Get(s.Context(), client.ObjectKeyFromObject(job), job))
	})
	cluster.Await(s, "its pods to be collected", func() bool {
		var pods corev1.PodList
		require.NoError(s, s.cluster.API.List(s.Context(), &pods, client.InNamespace(ns)))
		return len(pods.Items) == 0
	})
}
