package deployment

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchv1alpha1 "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// The API server copies labels and annotations of a Binding to the pod.
func TestAStolenTokenOfTheSchedulerBindsPodsAndNothingMore(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	create(s, ourPod(ns, "free").SchedulerName("nobody").Obj())
	binding := func(metadata string, subresource ...string) attempt {
		resource := pods
		if len(subresource) == 0 {
			resource.Resource = "bindings" // the old way to bind
		}
		return creating(resource, "", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"free"`+metadata+`},
			"target":{"kind":"Node","name":"node-0"}}`, subresource...)
	}
	stolen := stealToken(s, "podsequence-scheduler", ns)
	label, annotation := `,"labels":{"app":"shop"}`, `,"annotations":{"note":"a"}`
	stolen.awaitRefusal(binding(label, "binding"), "podsequence-scheduler-bindings")
	stolen.expectRefused(refusals{
		"a label":                     {binding(label, "binding"), "metadata.labels[app]: podsequence-scheduler may not set these with a binding"},
		"an annotation":               {binding(annotation, "binding"), "metadata.annotations[note]: podsequence-scheduler may not"},
		"an annotation, the old way,": {binding(annotation), "metadata.annotations[note]: podsequence-scheduler may not"},
	})
	stolen.expectAccepted(map[string]attempt{
		"a binding":                     binding("", "binding"),
		"a binding of a release before": binding(`,"annotations":{"podsequence.example.com/released":"a"}`, "binding"),
		"a binding with the topology":   binding(`,"labels":{"topology.kubernetes.io/zone":"a"}`, "binding"),
	})
}

// Who holds the lease of the cluster's own scheduler keeps that one from scheduling.
func TestAStolenTokenOfTheSchedulerWritesNoLeaseOfOthers(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	lease := func(name string) string {
		return `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"` + name + `"}}`
	}
	// The cluster's own scheduler elects no leader here, so it has no lease; the role is for one of this name in any namespace.
	create(s, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "kube-scheduler"}})
	stolen := stealToken(s, "podsequence-scheduler", ns)
	stolen.awaitRefusal(creating(leases, "", lease("new")), "podsequence-scheduler-leases")
	stolen.expectRefused(refusals{
		"a new lease elsewhere": {creating(leases, "kube-system", lease("new")),
			"leases kube-system/new: podsequence-scheduler may write only the lease podsequence-system/podsequence-scheduler"},
		"the lease of the stock scheduler": {updating(leases, "", "kube-scheduler"), "leases " + ns + "/kube-scheduler: podsequence-scheduler may"},
		"the lease of the controller":      {creating(leases, systemNamespace, lease("podsequence-controller-new")), "podsequence-scheduler may write only"},
	})
	stolen.expectAccepted(map[string]attempt{"its own lease": updating(leases, systemNamespace, "podsequence-scheduler")})
}

func TestAStolenTokenOfTheControllerOnlyPausesDeployments(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	selector := map[string]string{"app": "shop"}
	create(s, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop", Labels: selector, Annotations: map[string]string{"note": "kept"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector}, Spec: containers()},
		},
	})
	patch := func(patch string) attempt { return patching(deployments, "shop", types.StrategicMergePatchType, patch) }
	may := ": podsequence-controller may not change these fields of a Deployment, only spec.paused and the annotations apps.containerinfra.nl/paused-by"
	image := patch(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"example.com/evil"}]}}}}`)
	stolen := stealToken(s, "podsequence-controller", ns)
	stolen.awaitRefusal(image, "podsequence-controller-deployments")
	stolen.expectRefused(refusals{
		"another image":           {image, "spec.template" + may},
		"more replicas":           {patch(`{"spec":{"replicas":1}}`), "spec.replicas" + may},
		"to remove a field":       {patch(`{"spec":{"revisionHistoryLimit":0,"paused":true}}`), "spec.revisionHistoryLimit" + may},
		"a label":                 {patch(`{"metadata":{"labels":{"a":"b"}}}`), "metadata.labels" + may},
		"an owner":                {patch(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"a"}]}}`), "metadata.ownerReferences" + may},
		"a finalizer":             {patch(`{"metadata":{"finalizers":["example.com/stay"]}}`), "metadata.finalizers" + may},
		"an annotation":           {patch(`{"metadata":{"annotations":{"new":"a"}}}`), "metadata.annotations[new]" + may},
		"to remove an annotation": {patch(`{"metadata":{"annotations":{"note":null}}}`), "metadata.annotations[note]" + may},
		"a prefix of names":       {patch(`{"metadata":{"generateName":"a-"}}`), "metadata.generateName" + may},
		"an image by apply": {applying(deployments, "shop", `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"spec":{
			"containers":[{"name":"app","image":"example.com/evil"}]}}}}`), "spec.template" + may},
		"its scale":    {patching(deployments, "shop", types.MergePatchType, `{"spec":{"replicas":1}}`, "scale"), "cannot patch resource"},
		"its status":   {patching(deployments, "shop", types.MergePatchType, `{"status":{"replicas":1}}`, "status"), "cannot patch resource"},
		"to delete it": {deleting(deployments, "shop"), "cannot delete resource"},
		"a new Deployment": {applying(deployments, "new", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"new"},
			"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`), "cannot create resource"},
	})
	stolen.expectAccepted(map[string]attempt{
		"to pause": patch(`{"spec":{"paused":true},"metadata":{"annotations":{"apps.containerinfra.nl/paused-by":"a","apps.containerinfra.nl/pause-reason":"b"}}}`),
	})
	paused := fmt.Sprintf(`{"spec":{"paused":true},"metadata":{"annotations":{%q:"nobody"}}}`, appsapi.PausedByAnnotation)
	require.NoError(s, s.cluster.API.Patch(s.Context(), get(s, &appsv1.Deployment{}, ns, "shop"), cluster.Merge(s, paused)))
	stolen.expectAccepted(map[string]attempt{
		"to unpause": patch(`{"spec":{"paused":null},"metadata":{"annotations":{"apps.containerinfra.nl/paused-by":null}}}`),
	})
}

func containers() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "example.com/app"}}}
}

// stepsOf is a SequentialJob that does not start.
func stepsOf(namespace, name string, ttl *int32) *batchv1alpha1.SequentialJob {
	return &batchv1alpha1.SequentialJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: batchv1alpha1.SequentialJobSpec{
			Containers: []corev1.Container{{Name: "step", Image: "example.com/step"}}, Suspend: true, TTLSecondsAfterFinished: ttl,
		},
	}
}

func TestAStolenTokenOfTheControllerOnlyRemovesTheFinalizerOfTheFormerController(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	// The program itself may remove the finalizer at any moment.
	object := &v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "migrated", Finalizers: []string{"example.com/kept"}}}
	object.Spec.PodGroups = []v1alpha1.PodGroup{{Pods: []string{"db"}}}
	create(s, object)
	s.Cleanup(func() {
		assert.NoError(s, s.cluster.API.Patch(context.Background(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	})
	patch := func(patch string) attempt { return patching(sequences, "migrated", types.MergePatchType, patch) }
	may := ": podsequence-controller may not change these fields of podsequences, only the status and the finalizer apps.containerinfra.nl/unpause"
	stolen := stealToken(s, "podsequence-controller", ns)
	stolen.awaitRefusal(patch(`{"spec":{"suspend":true}}`), "podsequence-controller-kinds")
	stolen.expectRefused(refusals{
		"another spec":                    {patch(`{"spec":{"suspend":true}}`), "spec" + may},
		"a label":                         {patch(`{"metadata":{"labels":{"a":"b"}}}`), "metadata.labels" + may},
		"an override":                     {patch(`{"metadata":{"annotations":{"podsequence.example.com/suspend":"true"}}}`), "metadata.annotations" + may},
		"to remove a finalizer of others": {patch(`{"metadata":{"finalizers":null}}`), "metadata.finalizers of others" + may},
		"a finalizer of others":           {patch(`{"metadata":{"finalizers":["example.com/kept","example.com/stay"]}}`), "metadata.finalizers of others" + may},
		"that of the former controller":   {patch(`{"metadata":{"finalizers":["example.com/kept","podsequence.example.com/finalizer"]}}`), "metadata.finalizers of others" + may},
		"an owner":                        {patch(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"a"}]}}`), "metadata.ownerReferences" + may},
		"to delete it":                    {deleting(sequences, "migrated"), "cannot delete resource"},
		"a new one":                       {applying(sequences, "new", `{"apiVersion":"scheduling.example.com/v1alpha1","kind":"PodSequence","metadata":{"name":"new"},"spec":{"podGroups":[{"pods":["a"]}]}}`), "cannot create resource"},
	})
	require.NoError(s, s.cluster.API.Patch(s.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/kept","podsequence.example.com/finalizer"]}}`))))
	stolen.expectAccepted(map[string]attempt{
		"to remove that of the former controller": patch(`{"metadata":{"finalizers":["example.com/kept"]}}`),
	})
}

func TestAStolenTokenOfTheControllerLeavesObjectsOfOurKindsToTheirUsers(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	object := &appsapi.DeploymentCoordination{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "none", Finalizers: []string{"example.com/kept"}}}
	object.Spec.LabelSelector = &appsapi.LabelSelector{MatchLabels: map[string]appsapi.LabelValue{"app": "none"}}
	create(s, object, stepsOf(ns, "kept", nil), stepsOf(ns, "limited", ptr.To[int32](60)))
	s.Cleanup(func() {
		assert.NoError(s, s.cluster.API.Patch(context.Background(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	})
	patch := func(patch string) attempt { return patching(coordination, "none", types.MergePatchType, patch) }
	may := ": podsequence-controller may not change these fields of deploymentcoordinations, only the status and the finalizer apps.containerinfra.nl/unpause"
	stolen := stealToken(s, "podsequence-controller", ns)
	stolen.awaitRefusal(patch(`{"spec":{"minReadySeconds":1}}`), "podsequence-controller-kinds")
	stolen.expectRefused(refusals{
		"another spec":                            {patch(`{"spec":{"minReadySeconds":1}}`), "spec" + may},
		"a label":                                 {patch(`{"metadata":{"labels":{"a":"b"}}}`), "metadata.labels" + may},
		"an annotation":                           {patch(`{"metadata":{"annotations":{"a":"b"}}}`), "metadata.annotations" + may},
		"a finalizer of others":                   {patch(`{"metadata":{"finalizers":["example.com/kept","example.com/stay"]}}`), "metadata.finalizers of others" + may},
		"to remove a finalizer of others":         {patch(`{"metadata":{"finalizers":null}}`), "metadata.finalizers of others" + may},
		"to delete a SequentialJob that is kept":  {deleting(steps, "kept"), "podsequence-controller may delete only SequentialJobs that have spec.ttlSecondsAfterFinished"},
		"a prefix of names":                       {patch(`{"metadata":{"generateName":"a-"}}`), "metadata.generateName" + may},
		"an owner":                                {patch(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"a"}]}}`), "metadata.ownerReferences" + may},
		"another spec by apply":                   {applying(coordination, "none", `{"apiVersion":"apps.containerinfra.nl/v1","kind":"DeploymentCoordination","spec":{"minReadySeconds":1}}`), "spec" + may},
		"to delete a SequentialJob, not its Jobs": {deletingWith(steps, "limited", metav1.DeletePropagationOrphan), "may delete SequentialJobs only in the foreground"},
		"to delete a coordination":                {deleting(coordination, "none"), "cannot delete resource"},
		"to delete all coordinations":             {deletingAll(coordination), "cannot deletecollection resource"},
		"to delete all SequentialJobs":            {deletingAll(steps), "cannot deletecollection resource"},
		"a new coordination":                      {applying(coordination, "new", `{"apiVersion":"apps.containerinfra.nl/v1","kind":"DeploymentCoordination","metadata":{"name":"new"},"spec":{"labelSelector":{}}}`), "cannot create resource"},
	})
	stolen.expectAccepted(map[string]attempt{
		"its finalizer":                           patch(`{"metadata":{"finalizers":["example.com/kept","apps.containerinfra.nl/unpause"]}}`),
		"to remove its finalizer":                 patch(`{"metadata":{"finalizers":["example.com/kept"]}}`),
		"the deletion of a SequentialJob in time": deleting(steps, "limited"),
	})
}
