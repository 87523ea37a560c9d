package deployment

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// stepJob is a Job as podsequence-controller writes it.
func stepJob(namespace, name string, owners ...metav1.OwnerReference) *batchv1.Job {
	template := corev1.PodTemplateSpec{Spec: containers()}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners},
		Spec:       batchv1.JobSpec{Suspend: ptr.To(true), Template: template},
	}
}

// creatingJob creates such a Job, with changes.
func creatingJob(namespace string, owner metav1.OwnerReference, change func(*batchv1.Job)) attempt {
	return func(a attempts) error {
		job := stepJob(namespace, "new", owner)
		change(job)
		content, err := json.Marshal(job)
		require.NoError(a, err)
		return creating(jobs, namespace, string(content))(a)
	}
}

func asItIs(*batchv1.Job) {}

// withPod changes the pod of a Job.
func withPod(change func(pod *corev1.PodSpec)) func(*batchv1.Job) {
	return func(job *batchv1.Job) { change(&job.Spec.Template.Spec) }
}

// withSecurity changes what its container may do.
func withSecurity(context corev1.SecurityContext) func(*batchv1.Job) {
	return withPod(func(pod *corev1.PodSpec) { pod.Containers[0].SecurityContext = &context })
}

func TestAStolenTokenOfTheControllerWritesNoJobsOfOthers(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	// Of a SequentialJob that is there, else the garbage collector removes the Job.
	suspended := stepsOf(ns, "steps", nil)
	create(s, suspended)
	owner := *metav1.NewControllerRef(suspended, batchv1alpha1.SequentialJobKind)
	create(s, stepJob(ns, "others"), stepJob(ns, "ours", owner))
	ownedBy := func(change func(*metav1.OwnerReference)) attempt {
		return creatingJob(ns, owner, func(job *batchv1.Job) { change(&job.OwnerReferences[0]) })
	}
	patch := func(name, patch string) attempt { return patching(jobs, name, types.MergePatchType, patch) }
	may := "podsequence-controller may write only Jobs whose controller is a SequentialJob, and Job " + ns + "/"
	fields := ": podsequence-controller may not change these fields of a Job, only spec.suspend, spec.activeDeadlineSeconds and"
	excess := ": podsequence-controller may not create a Job with these"
	applied, err := json.Marshal(stepJob(ns, "new"))
	require.NoError(s, err)
	stolen := stealToken(s, "podsequence-controller", ns)
	stolen.awaitRefusal(patch("others", `{"spec":{"suspend":false}}`), "podsequence-controller-jobs")
	stolen.expectRefused(refusals{
		"a change of another Job": {patch("others", `{"spec":{"suspend":false}}`), may + "others is not such a Job"},
		"to take another Job":     {patch("others", `{"metadata":{"ownerReferences":[{"apiVersion":"batch.example.com/v1alpha1","kind":"SequentialJob","name":"steps","uid":"a","controller":true}]}}`), may + "others"},
		"to give a Job away":      {patch("ours", `{"metadata":{"ownerReferences":null}}`), may + "ours"},
		"a second owner of a Job": {patching(jobs, "ours", types.StrategicMergePatchType, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"a"}]}}`), "metadata.ownerReferences" + fields},
		"a finalizer":             {patch("ours", `{"metadata":{"finalizers":["example.com/stay"]}}`), "metadata.finalizers" + fields},
		"a label":                 {patch("ours", `{"metadata":{"labels":{"a":"b"}}}`), "metadata.labels" + fields},
		"an annotation":           {patch("ours", `{"metadata":{"annotations":{"a":"b"}}}`), "metadata.annotations[a]" + fields},
		"more pods":               {patch("ours", `{"spec":{"parallelism":9}}`), "spec.parallelism" + fields},
		"an early end":            {patch("ours", `{"spec":{"ttlSecondsAfterFinished":0}}`), "spec.ttlSecondsAfterFinished" + fields},
		"another node":            {patch("ours", `{"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}}`), "spec.template" + fields},
		"a change by apply":       {applying(jobs, "ours", `{"apiVersion":"batch/v1","kind":"Job","metadata":{"finalizers":["example.com/stay"]}}`), "metadata.finalizers" + fields},
		"the status of a Job":     {patching(jobs, "ours", types.MergePatchType, `{"status":{"succeeded":1}}`, "status"), "cannot patch resource"},

		"a new Job of another kind":                   {ownedBy(func(o *metav1.OwnerReference) { o.APIVersion, o.Kind = "apps/v1", "Deployment" }), may + "new"},
		"a new Job that a SequentialJob owns somehow": {ownedBy(func(o *metav1.OwnerReference) { o.Controller = nil }), may + "new"},
		"a new Job by apply":                          {applying(jobs, "new", string(applied)), may + "new"},
		"a new Job that does not block its owner":     {ownedBy(func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = nil }), "an owner without blockOwnerDeletion" + excess},
		"a new Job with another owner": {creatingJob(ns, owner, func(job *batchv1.Job) {
			job.OwnerReferences = append(job.OwnerReferences, metav1.OwnerReference{
				APIVersion: "v1", Kind: "Namespace", Name: ns, UID: "a", BlockOwnerDeletion: ptr.To(true),
			})
		}), "another owner" + excess},
		"a new Job with a finalizer":          {creatingJob(ns, owner, func(job *batchv1.Job) { job.Finalizers = []string{"example.com/stay"} }), "metadata.finalizers" + excess},
		"a new Job that deletes in the front": {creatingJob(ns, owner, func(job *batchv1.Job) { job.Finalizers = []string{"foregroundDeletion"} }), "metadata.finalizers" + excess},
		"a new Job that adopts pods":          {creatingJob(ns, owner, adoptingJob), "spec.manualSelector" + excess},
		"a new Job with many pods":            {creatingJob(ns, owner, func(job *batchv1.Job) { job.Spec.Parallelism = ptr.To[int32](100) }), "spec.parallelism" + excess},
		"a new Job with many completions":     {creatingJob(ns, owner, func(job *batchv1.Job) { job.Spec.Completions = ptr.To[int32](100) }), "spec.completions" + excess},
		"a new Job of many offences":          {creatingJob(ns, owner, func(job *batchv1.Job) { adoptingJob(job); job.Finalizers = []string{"example.com/stay"} }), "metadata.finalizers, spec.manualSelector" + excess},
		"to delete another Job":               {deleting(jobs, "others"), may + "others"},
		"to delete a Job that is to run":      {deleting(jobs, "ours"), "may delete only Jobs that have failed, or that it has stopped or suspended, and Job " + ns + "/ours is not such a Job"},
		"to delete all Jobs":                  {deletingAll(jobs), "cannot deletecollection resource"},
	})
	require.NoError(s, s.cluster.API.Patch(s.Context(), stepJob(ns, "ours"), client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"batch.example.com/suspended":"true"}}}`))))
	stolen.expectRefused(refusals{
		"to delete a Job and leave its pods": {deletingWith(jobs, "ours", metav1.DeletePropagationOrphan), "may delete Jobs only in the foreground"},
		"to delete a Job before its pods":    {deletingWith(jobs, "ours", metav1.DeletePropagationBackground), "may delete Jobs only in the foreground"},
	})
	stolen.expectAccepted(map[string]attempt{
		"a new Job of a SequentialJob":       creatingJob(ns, owner, asItIs),
		"to resume a Job of a SequentialJob": patch("ours", `{"metadata":{"annotations":{"batch.example.com/suspended":null}},"spec":{"suspend":false}}`),
		"a deadline of a Job":                patch("ours", `{"metadata":{"annotations":{"batch.example.com/deadline-seconds":"9"}},"spec":{"activeDeadlineSeconds":9}}`),
		"to stop a Job of a SequentialJob":   patch("ours", `{"spec":{"activeDeadlineSeconds":0}}`),
		"to delete a Job that it suspended":  deleting(jobs, "ours"),
	})
}

// adoptingJob makes a Job select pods of others, which it would adopt, and delete as too many.
func adoptingJob(job *batchv1.Job) {
	job.Spec.ManualSelector = ptr.To(true)
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}
	job.Spec.Template.Labels = job.Spec.Selector.MatchLabels
}

// What gives power over a node or the cluster needs a word of whoever may label the namespace.
func TestAStolenTokenOfTheControllerRunsPrivilegedPodsOnlyWhereAnAdministratorAllowsThem(t *testing.T) {
	s := newSite(t)
	ns, privileged := newNamespace(s), newNamespace(s)
	label := func(namespace, label string) {
		s.Helper()
		require.NoError(s, s.cluster.API.Patch(s.Context(), get(s, &corev1.Namespace{}, "", namespace), cluster.Merge(s, `{"metadata":{"labels":{`+label+`}}}`)))
	}
	label(privileged, `"pod-security.kubernetes.io/enforce":"privileged"`)
	owner := inventedOwner()
	may := ": podsequence-controller may create privileged pods only in namespaces that allow them: have an administrator label namespace "
	add := func(capability corev1.Capability) func(*batchv1.Job) {
		return withSecurity(corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{capability}}})
	}
	attacks := map[string]struct {
		change func(*batchv1.Job)
		named  string
	}{
		"a privileged container":    {withSecurity(corev1.SecurityContext{Privileged: ptr.To(true)}), "privileged"},
		"a capability":              {add("SYS_ADMIN"), "added capabilities"},
		"every capability":          {add("ALL"), "added capabilities"},
		"the network of the host":   {withPod(func(pod *corev1.PodSpec) { pod.HostNetwork = true }), "hostNetwork"},
		"the processes of the host": {withPod(func(pod *corev1.PodSpec) { pod.HostPID = true }), "hostPID"},
		"the memory of the host":    {withPod(func(pod *corev1.PodSpec) { pod.HostIPC = true }), "hostIPC"},
		"a port of the host": {withPod(func(pod *corev1.PodSpec) {
			pod.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 1, HostPort: 1}}
		}), "hostPort"},
		"the disk of the host":        {withPod(addHostPath), "a hostPath volume"},
		"a privileged init container": {withPod(addPrivilegedInit), "privileged"},
	}
	stolen := stealToken(s, "podsequence-controller", ns)
	stolen.awaitRefusal(creatingJob("kube-system", owner, asItIs), "podsequence-controller-jobs")
	refused, accepted := refusals{}, map[string]attempt{}
	for name, tc := range attacks {
		refused[name] = struct {
			try  attempt
			want string
		}{creatingJob(ns, owner, tc.change), "spec.template.spec: " + tc.named + may + ns + " pod-security.kubernetes.io/enforce=privileged"}
		accepted[name+" in a namespace that allows it"] = creatingJob(privileged, owner, tc.change)
	}
	for _, namespace := range []string{"kube-system", "kube-public", "kube-node-lease", systemNamespace} {
		refused["a Job in "+namespace] = struct {
			try  attempt
			want string
		}{creatingJob(namespace, owner, asItIs), "podsequence-controller may not create Jobs in namespace " + namespace + ", which belongs to the system"}
	}
	stolen.expectRefused(refused)
	// What remains: nobody looks for the owner, and a ServiceAccount, a Secret or a label of the namespace may be named.
	accepted["a Job of an invented owner"] = creatingJob(ns, owner, withPod(func(pod *corev1.PodSpec) {
		pod.ServiceAccountName = "default"
		pod.Volumes = []corev1.Volume{{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "any"}}}}
	}))
	accepted["a capability that the level baseline allows"] = creatingJob(ns, owner, add("NET_BIND_SERVICE"))
	stolen.expectAccepted(accepted)

	label("kube-public", `"podsequence.example.com/sequentialjobs":"enabled"`)
	s.Cleanup(func() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-public"}}
		assert.NoError(s, s.cluster.API.Patch(context.Background(), namespace,
			cluster.Merge(s, `{"metadata":{"labels":{"podsequence.example.com/sequentialjobs":null}}}`)))
	})
	cluster.Await(s, "the label of kube-public to count", func() bool { return creatingJob("kube-public", owner, asItIs)(stolen) == nil })
	stolen.expectRefused(refusals{
		"a privileged Job there": {creatingJob("kube-public", owner, attacks["a privileged container"].change), "privileged" + may + "kube-public"},
	})
}

// inventedOwner is a SequentialJob that does not exist.
func inventedOwner() metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "batch.example.com/v1alpha1", Kind: "SequentialJob", Name: "invented", UID: "11111111-1111-1111-1111-111111111111",
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}

func addHostPath(pod *corev1.PodSpec) {
	pod.Volumes = []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
}

func addPrivilegedInit(pod *corev1.PodSpec) {
	pod.InitContainers = []corev1.Container{{
		Name: "init", Image: "example.com/evil", SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)},
	}}
}
