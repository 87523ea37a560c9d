package sequentialjob

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/takeover"
)

// unbounded are turns that never wait.
type unbounded struct{}

func (unbounded) Turn(types.NamespacedName, int) bool { return true }

func (unbounded) Forget(types.NamespacedName) {}

// quota is a cluster whose API server refuses Jobs, and a queue of which the test has the clock.
type quota struct {
	*testing.T
	*reconciler
	client  client.Client
	clock   *clocktesting.FakePassiveClock
	refuses func(job *batchv1.Job) error
	tries   []string // the Jobs that were asked for
	dryRuns []string // the same, by dry run
	woken   map[types.NamespacedName]time.Time
}

func newQuota(t *testing.T, namespaces map[string]int) *quota {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	require.NoError(t, batchv1.AddToScheme(scheme))
	q := &quota{T: t, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), woken: map[types.NamespacedName]time.Time{}}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.SequentialJob{}).
		WithIndex(&batchv1.Job{}, ownerIndex, indexOwner)
	for namespace, count := range namespaces {
		for i := range count {
			object := &v1alpha1.SequentialJob{}
			object.Namespace, object.Name = namespace, fmt.Sprintf("s-%02d", i)
			object.UID = types.UID(namespace + object.Name)
			object.Spec.Containers = []corev1.Container{{Name: "a", Image: "i"}}
			builder.WithObjects(object)
			q.wake(types.NamespacedName{Namespace: namespace, Name: object.Name}, 0)
		}
	}
	q.refuses = func(job *batchv1.Job) error {
		return apierrors.NewForbidden(batchv1.Resource("jobs"), job.Name, errors.New("exceeded quota"))
	}
	q.client = builder.WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			job, ok := object.(*batchv1.Job)
			if !ok {
				return c.Create(ctx, object, options...)
			}
			if asked := (&client.CreateOptions{}).ApplyOptions(options); len(asked.DryRun) > 0 {
				q.dryRuns = append(q.dryRuns, job.Namespace+"/"+job.Name)
				return q.refuses(job)
			}
			q.tries = append(q.tries, job.Namespace+"/"+job.Name)
			if err := q.refuses(job); err != nil {
				return err
			}
			job.UID = types.UID(fmt.Sprintf("job-%d", len(q.tries)))
			return c.Create(ctx, object, options...)
		},
	}).Build()
	q.reconciler = &reconciler{
		cache: q.client, pods: q.client, notes: newNotes(), live: q.client, writer: q.client, recorder: &events.FakeRecorder{}, clock: q.clock, written: newWritten(), checked: newChecked(), former: takeover.NewFinalizers(v1alpha1.FormerFinalizer),
		refusals: newRefusals(q.clock, q.wake), attempts: unbounded{},
	}
	return q
}

func (q *quota) wake(key types.NamespacedName, after time.Duration) {
	at := q.clock.Now().Add(after)
	if before, ok := q.woken[key]; !ok || at.Before(before) {
		q.woken[key] = at
	}
}

// pass advances the clock and looks at every object that is woken meanwhile. It returns how often it looked at objects.
func (q *quota) pass(d time.Duration) (reconciles int) {
	q.Helper()
	end := q.clock.Now().Add(d)
	for {
		var next types.NamespacedName
		var first time.Time
		for key, at := range q.woken {
			if first.IsZero() || at.Before(first) || (at.Equal(first) && key.String() < next.String()) {
				next, first = key, at
			}
		}
		if first.IsZero() || first.After(end) {
			q.clock.SetTime(end)
			return reconciles
		}
		if first.After(q.clock.Now()) {
			q.clock.SetTime(first)
		}
		delete(q.woken, next)
		reconciles++
		require.Less(q, reconciles, 100000)
		result, err := q.Reconcile(q.Context(), reconcile.Request{NamespacedName: next})
		if err != nil {
			q.wake(next, 30*time.Second)
		} else if result.RequeueAfter > 0 {
			q.wake(next, result.RequeueAfter)
		}
	}
}

// look looks at the one object of a namespace, once.
func (q *quota) look() {
	q.Helper()
	q.wake(types.NamespacedName{Namespace: "data", Name: "s-00"}, 0)
	q.pass(0)
}

// withoutJobs is a cache that has yet to see any Job.
type withoutJobs struct{ client.Reader }

func (c withoutJobs) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*batchv1.JobList); ok {
		return nil
	}
	return c.Reader.List(ctx, list, options...)
}

func (q *quota) status(namespace, name string) v1alpha1.SequentialJobStatus {
	q.Helper()
	object := &v1alpha1.SequentialJob{}
	require.NoError(q, q.client.Get(q.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object))
	return object.Status
}

func TestARefusedNamespaceIsTriedEverMoreSeldom(t *testing.T) {
	q := newQuota(t, map[string]int{"full": 100})
	q.pass(time.Second)
	assert.Len(t, q.tries, 101, "each object once, and the first once more")
	q.pass(10 * time.Minute)

	q.tries = nil
	reconciles := q.pass(time.Hour)
	assert.LessOrEqual(t, len(q.tries), int(time.Hour/minRetry), "tries of 100 objects in an hour")
	assert.LessOrEqual(t, reconciles, 2*int(time.Hour/minRetry))
	byJob := map[string]int{}
	for _, job := range q.tries {
		byJob[job]++
	}
	assert.Len(t, byJob, 100, "each has its turn")
	status := q.status("full", "s-42")
	assert.Equal(t, v1alpha1.PhasePending, status.Phase)
	assert.Contains(t, status.Message, "exceeded quota")
}

func TestOneRefusedObjectIsTriedEverMoreSeldom(t *testing.T) {
	q := newQuota(t, map[string]int{"full": 1})
	q.pass(10 * time.Minute)
	q.tries = nil
	q.pass(time.Hour)
	assert.InDelta(t, int(time.Hour/maxRetry), len(q.tries), 1)
}

func TestWhenOneIsAcceptedTheOthersTryAtOnce(t *testing.T) {
	q := newQuota(t, map[string]int{"full": 50})
	q.pass(time.Hour)
	q.refuses = func(*batchv1.Job) error { return nil }
	q.pass(minRetry)
	for i := range 50 {
		assert.Equal(t, v1alpha1.PhaseRunning, q.status("full", fmt.Sprintf("s-%02d", i)).Phase)
	}
	assert.Empty(t, q.refusals.namespaces, "nothing is kept")
}

func TestADeletedJobHasOneOfItsNamespaceTryAtOnce(t *testing.T) {
	q := newQuota(t, map[string]int{"full": 50, "other": 1})
	q.pass(time.Hour)
	q.tries = nil
	q.refusals.retryNow("full")
	q.pass(0)
	assert.Len(t, q.tries, 1)
}

func TestOneThatIsRefusedForItselfKeepsNoOtherFromTrying(t *testing.T) {
	q := newQuota(t, map[string]int{"full": 5})
	q.pass(time.Hour)
	denied := func(job *batchv1.Job) bool { return job.Name == "s-03-0" || job.Name == "s-04-0" }
	q.refuses = func(job *batchv1.Job) error {
		switch {
		case job.Name == "s-04-0": // such as a webhook that is broken
			return apierrors.NewInternalError(errors.New("failed calling webhook"))
		case denied(job):
			return apierrors.NewForbidden(batchv1.Resource("jobs"), job.Name, errors.New("no such image here"))
		}
		return nil
	}
	q.pass(5 * maxRetry)
	for _, name := range []string{"s-00", "s-01", "s-02"} {
		assert.Equal(t, v1alpha1.PhaseRunning, q.status("full", name).Phase, name)
	}
	require.NoError(t, q.client.Delete(t.Context(), &v1alpha1.SequentialJob{ObjectMeta: objectMeta("full", "s-03")}))
	q.wake(types.NamespacedName{Namespace: "full", Name: "s-03"}, 0)
	q.refuses = func(*batchv1.Job) error { return nil }
	q.pass(maxRetry)
	assert.Equal(t, v1alpha1.PhaseRunning, q.status("full", "s-04").Phase)
	assert.Empty(t, q.refusals.namespaces)
}

func TestOneThatIsBeingDeletedKeepsNoOtherFromTrying(t *testing.T) {
	q := newQuota(t, map[string]int{"full": 3})
	q.pass(time.Hour)
	key := keyOf(objectMeta("full", "s-00"))
	object := &v1alpha1.SequentialJob{}
	require.NoError(t, q.client.Get(t.Context(), key, object))
	object.Finalizers = []string{"example.com/somebody-else"}
	require.NoError(t, q.client.Update(t.Context(), object))
	require.NoError(t, q.client.Delete(t.Context(), object))
	q.wake(key, 0)
	q.pass(time.Hour)
	q.refuses = func(*batchv1.Job) error { return nil }
	q.pass(2 * maxRetry)
	for _, name := range []string{"s-01", "s-02"} {
		assert.Equal(t, v1alpha1.PhaseRunning, q.status("full", name).Phase, name)
	}
}

func TestANamespaceThatIsRefusedDoesNotDelayAnother(t *testing.T) {
	q := newQuota(t, map[string]int{"full": 20})
	q.pass(time.Hour)
	object := &v1alpha1.SequentialJob{ObjectMeta: objectMeta("other", "s")}
	object.Spec.Containers = []corev1.Container{{Name: "a", Image: "i"}}
	require.NoError(t, q.client.Create(t.Context(), object))
	q.refuses = func(job *batchv1.Job) error {
		if job.Namespace == "other" {
			return nil
		}
		return apierrors.NewForbidden(batchv1.Resource("jobs"), job.Name, errors.New("exceeded quota"))
	}
	q.wake(types.NamespacedName{Namespace: "other", Name: "s"}, 0)
	q.pass(0)
	assert.Equal(t, v1alpha1.PhaseRunning, q.status("other", "s").Phase)
}

func TestAfterARestartARefusedNamespaceIsStillTriedByOneAtATime(t *testing.T) {
	q := newQuota(t, map[string]int{"full": 30})
	q.pass(time.Hour)
	q.reconciler.refusals = newRefusals(q.clock, q.wake)
	clear(q.woken)
	for i := range 30 {
		q.wake(types.NamespacedName{Namespace: "full", Name: fmt.Sprintf("s-%02d", i)}, 0)
	}
	q.tries = nil
	q.pass(0)
	assert.Len(t, q.tries, 1)
}

// perSecond are turns of so many attempts a second, by the clock of a test.
type perSecond struct {
	clock   clock.PassiveClock
	limiter *rate.Limiter
}

func (p perSecond) Turn(types.NamespacedName, int) bool { return p.limiter.AllowN(p.clock.Now(), 1) }

func (p perSecond) Forget(types.NamespacedName) {}

func TestANamespaceWithoutRoomForJobsIsAskedForThemLittleByLittle(t *testing.T) {
	q := newQuota(t, map[string]int{"full": 200, "quiet": 1})
	const attempts = 2
	q.attempts = perSecond{q.clock, rate.NewLimiter(attempts, attempts)}
	refuse := q.refuses
	q.refuses = func(job *batchv1.Job) error {
		if job.Namespace == "quiet" {
			return nil
		}
		return refuse(job)
	}
	q.pass(10 * time.Second)
	assert.Contains(t, q.tries[:10], "quiet/s-00-0", "nobody else waits")
	assert.LessOrEqual(t, len(q.tries), (10+1)*attempts+10, "some of them are retries")
	assert.Greater(t, len(q.tries), attempts, "it goes on all the same")

	t.Log("the quota is raised")
	q.refuses = func(*batchv1.Job) error { return nil }
	q.pass(minRetry + maxPostponed)
	for i := range 200 {
		assert.Equal(t, v1alpha1.PhaseRunning, q.status("full", fmt.Sprintf("s-%02d", i)).Phase)
	}
}
