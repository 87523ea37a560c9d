package deployment

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchv1alpha1 "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/testing/cluster"
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
	label, annotation := `,"labels":{"app":"shop"}`, `,"annotations":{"podsequence.example.com/released":"a","note":"a"}`
	stolen.awaitRefusal(binding(label, "binding"), "podsequence-scheduler-bindings")
	stolen.expectRefused(refusals{
		"a label":                     {binding(label, "binding"), "metadata.labels[app]: podsequence-scheduler may not set these with a binding"},
		"an annotation":               {binding(annotation, "binding"), "metadata.annotations[note]: podsequence-scheduler may not"},
		"an annotation, the old way,": {binding(annotation), "metadata.annotations[note]: podsequence-scheduler may not"},
	})
	stolen.expectAccepted(map[string]attempt{
		"a binding":                   binding("", "binding"),
		"a binding with the proof":    binding(`,"annotations":{"podsequence.example.com/released":"a"}`, "binding"),
		"a binding with the topology": binding(`,"labels":{"topology.kubernetes.io/zone":"a"}`, "binding"),
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

func TestAStolenTokenOfTheControllerWritesNoJobsOfOthers(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	job := func(name string, owners ...metav1.OwnerReference) *batchv1.Job {
		template := corev1.PodTemplateSpec{Spec: containers()}
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
		return &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, OwnerReferences: owners},
			Spec:       batchv1.JobSpec{Suspend: ptr.To(true), Template: template},
		}
	}
	// Of a SequentialJob that is there, else the garbage collector removes the Job.
	suspended := stepsOf(ns, "steps", nil)
	create(s, suspended)
	owner := *metav1.NewControllerRef(suspended, batchv1alpha1.SequentialJobKind)
	create(s, job("others"), job("ours", owner))
	creatingJob := func(kind, controller string) attempt {
		return creating(jobs, "", fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"new","ownerReferences":[
			{"apiVersion":%q,"kind":%q,"name":"steps","uid":%q,"controller":%s}]},
			"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"app","image":"example.com/app"}]}}}}`,
			map[string]string{"SequentialJob": "batch.example.com/v1alpha1", "Deployment": "apps/v1"}[kind], kind, owner.UID, controller))
	}
	patch := func(name, patch string) attempt { return patching(jobs, name, types.MergePatchType, patch) }
	may := "podsequence-controller may write only Jobs whose controller is a SequentialJob, and Job " + ns + "/"
	stolen := stealToken(s, "podsequence-controller", ns)
	stolen.awaitRefusal(patch("others", `{"spec":{"suspend":false}}`), "podsequence-controller-jobs")
	stolen.expectRefused(refusals{
		"a change of another Job":                     {patch("others", `{"spec":{"suspend":false}}`), may + "others is not such a Job"},
		"to take another Job":                         {patch("others", `{"metadata":{"ownerReferences":[{"apiVersion":"batch.example.com/v1alpha1","kind":"SequentialJob","name":"steps","uid":"a","controller":true}]}}`), may + "others"},
		"to give a Job away":                          {patch("ours", `{"metadata":{"ownerReferences":null}}`), may + "ours"},
		"a new Job of another kind":                   {creatingJob("Deployment", "true"), may + "new"},
		"a new Job that a SequentialJob owns somehow": {creatingJob("SequentialJob", "false"), may + "new"},
		"to delete another Job":                       {deleting(jobs, "others"), may + "others"},
		"to delete a Job that is to run":              {deleting(jobs, "ours"), "may delete only Jobs that have failed, or that it has stopped or suspended, and Job " + ns + "/ours is not such a Job"},
	})
	require.NoError(s, s.cluster.API.Patch(s.Context(), job("ours"), client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"batch.example.com/suspended":"true"}}}`))))
	stolen.expectAccepted(map[string]attempt{
		"a new Job of a SequentialJob":       creatingJob("SequentialJob", "true"),
		"to resume a Job of a SequentialJob": patch("ours", `{"metadata":{"annotations":{"batch.example.com/suspended":null}},"spec":{"suspend":false}}`),
		"to stop a Job of a SequentialJob":   patch("ours", `{"spec":{"activeDeadlineSeconds":0}}`),
		"to delete a Job that it suspended":  deleting(jobs, "ours"),
	})
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

func TestAStolenTokenOfTheControllerLeavesObjectsOfOurKindsToTheirUsers(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	object := &appsapi.DeploymentCoordination{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "none", Finalizers: []string{"example.com/kept"}}}
	object.Spec.LabelSelector.MatchLabels = map[string]appsapi.LabelValue{"app": "none"}
	create(s, object, stepsOf(ns, "kept", nil), stepsOf(ns, "limited", ptr.To[int32](60)))
	s.Cleanup(func() {
		assert.NoError(s, s.cluster.API.Patch(context.Background(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	})
	patch := func(patch string) attempt { return patching(coordination, "none", types.MergePatchType, patch) }
	may := ": podsequence-controller may not change these fields of deploymentcoordinations, only the status and the finalizer apps.containerinfra.nl/unpause"
	stolen := stealToken(s, "podsequence-controller", ns)
	stolen.awaitRefusal(patch(`{"spec":{"minReadySeconds":1}}`), "podsequence-controller-kinds")
	stolen.expectRefused(refusals{
		"another spec":                           {patch(`{"spec":{"minReadySeconds":1}}`), "spec" + may},
		"a label":                                {patch(`{"metadata":{"labels":{"a":"b"}}}`), "metadata.labels" + may},
		"an annotation":                          {patch(`{"metadata":{"annotations":{"a":"b"}}}`), "metadata.annotations" + may},
		"a finalizer of others":                  {patch(`{"metadata":{"finalizers":["example.com/kept","example.com/stay"]}}`), "metadata.finalizers of others" + may},
		"to remove a finalizer of others":        {patch(`{"metadata":{"finalizers":null}}`), "metadata.finalizers of others" + may},
		"to delete a SequentialJob that is kept": {deleting(steps, "kept"), "podsequence-controller may delete only SequentialJobs that have spec.ttlSecondsAfterFinished"},
		"to delete a coordination":               {deleting(coordination, "none"), "cannot delete resource"},
	})
	stolen.expectAccepted(map[string]attempt{
		"its finalizer":                           patch(`{"metadata":{"finalizers":["example.com/kept","apps.containerinfra.nl/unpause"]}}`),
		"to remove its finalizer":                 patch(`{"metadata":{"finalizers":["example.com/kept"]}}`),
		"the deletion of a SequentialJob in time": deleting(steps, "limited"),
	})
}
