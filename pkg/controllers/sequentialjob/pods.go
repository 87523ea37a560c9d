package sequentialjob

import (
	"cmp"
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/podtrouble"
)

// podCache caches the pods of all steps, without the fields that are not needed. A standby does not run it. Nothing waits for it:
// until it has synced it returns no pods, and steps run without them.
type podCache struct {
	cache.Cache
	informer cache.Informer
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*podCache) NeedLeaderElection() bool { return true }

// List implements client.Reader.
func (c *podCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if !c.informer.HasSynced() {
		return nil
	}
	return c.Cache.List(ctx, list, options...)
}

// changes is the source of what changes in it. Only the method of a Source is embedded, so no controller waits for it.
func (c *podCache) changes(concerned handler.TypedMapFunc[*corev1.Pod, reconcile.Request]) source.Source {
	return struct{ source.Source }{
		source.Kind(c.Cache, &corev1.Pod{}, handler.TypedEnqueueRequestsFromMapFunc(concerned), troubleChanges),
	}
}

func newPodCache(mgr manager.Manager) (*podCache, error) {
	ofSteps, err := labels.Parse(v1alpha1.LabelName)
	if err != nil {
		return nil, fmt.Errorf("select pods by label: %w", err)
	}
	pods, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: ofSteps, Transform: stripPod}},
	})
	if err != nil {
		return nil, fmt.Errorf("make cache of pods: %w", err)
	}
	if err := pods.IndexField(context.Background(), &corev1.Pod{}, ownJobIndex, indexJob); err != nil {
		return nil, fmt.Errorf("index pods by Job: %w", err)
	}
	informer, err := pods.GetInformer(context.Background(), &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("get informer of pods: %w", err)
	}
	c := &podCache{pods, informer}
	if err := mgr.Add(c); err != nil {
		return nil, fmt.Errorf("add cache of pods: %w", err)
	}
	return c, nil
}

// stripPod keeps of a pod which Job it belongs to, its phase and, as its status.message, what keeps it from doing its work.
func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil // a tombstone of one that is stripped
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion, Labels: pod.Labels,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp, OwnerReferences: pod.OwnerReferences,
		},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, Message: podtrouble.Of(pod)},
	}, nil
}

// ownJobIndex finds the pods of a Job by its UID.
const ownJobIndex = "metadata.jobUID"

func indexJob(object client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil && owner.Kind == "Job" {
		return []string{string(owner.UID)}
	}
	return nil
}

// troubleChanges lets through pods of which something else is to be said than before, and those that begin to run.
var troubleChanges = predicate.TypedFuncs[*corev1.Pod]{
	CreateFunc: func(e ctrlevent.TypedCreateEvent[*corev1.Pod]) bool { return e.Object.Status.Message != "" },
	UpdateFunc: func(e ctrlevent.TypedUpdateEvent[*corev1.Pod]) bool {
		return e.ObjectOld.Status.Message != e.ObjectNew.Status.Message ||
			(e.ObjectNew.Status.Phase == corev1.PodRunning && e.ObjectOld.Status.Phase != corev1.PodRunning)
	},
	DeleteFunc: func(ctrlevent.TypedDeleteEvent[*corev1.Pod]) bool { return false }, // the Job changes as well
}

// mostPods is how many pods of a step that failed are looked at.
const mostPods = 500

// word is what is to be said of the pods of a step.
type word struct {
	text string
	// waits is true if no pod of the step runs, and since is when that began, in seconds; 0 if unknown.
	waits bool
	since int64
}

// newestOf is the newest pod of a Job that stays; nil if there is none.
func newestOf(pods []corev1.Pod, job types.UID) (newest *corev1.Pod) {
	for i := range pods {
		pod := &pods[i]
		if owner := metav1.GetControllerOfNoCopy(pod); owner == nil || owner.UID != job || pod.DeletionTimestamp != nil {
			continue // how it ends says nothing of why its Job was stopped
		}
		if newest == nil || cmp.Or(pod.CreationTimestamp.Compare(newest.CreationTimestamp.Time), cmp.Compare(pod.Name, newest.Name)) > 0 {
			newest = pod
		}
	}
	return newest
}

// patience is how long a pod may take to start before status says that it waits, if nothing is wrong with it.
const patience = 10 * time.Second

// wordOf is what is to be said of a Job whose newest pod is given, and when there may be something else to say although nothing happens.
func wordOf(job *batchv1.Job, newest *corev1.Pod, now time.Time) (said word, again time.Time) {
	if newest == nil {
		return ofNoPod(job, now)
	}
	if newest.Status.Message != "" {
		said.text = fmt.Sprintf("pod %s %s", newest.Name, newest.Status.Message)
	}
	switch newest.Status.Phase {
	case corev1.PodFailed:
		said.waits = job.Status.Active == 0 && job.Status.Failed > 0 && job.Status.Failed <= ptr.Deref(job.Spec.BackoffLimit, 0)
	case corev1.PodPending:
		created := newest.CreationTimestamp.Time
		if said.text == "" {
			if again := created.Add(patience); now.Before(again) {
				return word{}, again
			}
			said.text = fmt.Sprintf("pod %s starts", newest.Name)
		}
		said.waits, said.since = true, created.Unix()
	}
	return said, time.Time{}
}

// ofNoPod is what is to be said of a Job that has no pod: it can create none, because of a quota for instance. Only its events say why.
func ofNoPod(job *batchv1.Job, now time.Time) (said word, again time.Time) {
	status := job.Status
	if status.StartTime == nil || status.Active+status.Failed+status.Succeeded+ptr.Deref(status.Terminating, 0) > 0 || isSuspended(job) || len(status.Conditions) > 0 {
		return word{}, time.Time{}
	}
	if again := status.StartTime.Add(patience); now.Before(again) {
		return word{}, again
	}
	text := fmt.Sprintf("it has no pod, by a quota for instance: kubectl describe job/%s -n %s says why", job.Name, job.Namespace)
	return word{text: text, waits: true, since: status.StartTime.Unix()}, time.Time{}
}

// attempts says how many attempts of a Job have failed; empty if none has, or it has only one.
func attempts(job *batchv1.Job) string {
	limit := ptr.Deref(job.Spec.BackoffLimit, 0)
	if job.Status.Failed == 0 || limit == 0 || job.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
		return "" // with OnFailure restarts count as well, and the Job does not have their number
	}
	return fmt.Sprintf("; %d of %d attempts failed", job.Status.Failed, limit+1)
}
