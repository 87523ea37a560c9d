package feed

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"k8s.io/utils/clock"

	"example.com/podsequence/pkg/sequence"
	. "example.com/podsequence/test/harness/builders"
)

// A complete Job was deleted at version 105, and the watch has not brought that yet, when a sequence that asks for it is
// created at 110. A list cannot show a Job that is gone: what shows it is that the engine still counts one that is not listed.
func TestAJobThatIsGoneDoesNotCountBecauseItsDeletionIsLate(t *testing.T) {
	for name, arrives := range map[string]func(f *Feed, job *batchv1.Job) sequence.Changes{
		"the watch brings the deletion": func(f *Feed, job *batchv1.Job) sequence.Changes { return f.engine.RemoveWorkload(job) },
		"the watch begins anew and never brings it": func(f *Feed, _ *batchv1.Job) sequence.Changes {
			return f.engine.ReplaceWorkloads(sequence.KindJob, nil, "115")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine := sequence.NewEngine(sequence.Config{SchedulerNames: []string{"ours"}})
				f := &Feed{engine: engine, interest: newInterest(0), clock: clock.RealClock{}, rearm: make(chan struct{}, 1)}
				f.versions = newVersions(f.splitStorage)
				f.versions.compare()
				f.barrier = newBarrier(f.versions, engine.Moment)
				jobs := &askedKind{
					kinds: sequence.OfWorkloads, watch: newPosition("jobs", f.versions),
					list: func(context.Context, string) (listing, error) { return listing{version: "110"}, nil },
					unlisted: func(namespace string, listed sets.Set[types.UID], version string) []types.UID {
						return engine.Unlisted(sequence.KindJob, namespace, listed, version)
					},
					knowsAny: func(namespace string, uids []types.UID) bool {
						return engine.KnowsAny(sequence.KindJob, namespace, uids)
					},
				}
				f.asked = []*askedKind{jobs}
				go f.barrier.run(t.Context())

				job := completeJob("migrate")
				job.ResourceVersion = "100"
				f.applyAt(jobs.watch, "100", func() sequence.Changes { return engine.ApplyWorkload(job) })
				app := st.MakePod().Namespace("shop").Name("app").UID("app").SchedulerName("ours").Obj()
				app.ResourceVersion = "101"
				f.apply(func() sequence.Changes { return engine.ApplyPod(app) })
				ps := MakeSequence("shop", "shop").UID("shop").Label("Migration", "job", "migrate").Complete().
					Pods("Application", "app").Obj()
				ps.ResourceVersion = "110"
				f.apply(func() sequence.Changes { return engine.ApplySequence(ps) })
				time.Sleep(listTimeout / 2)
				synctest.Wait()
				assert.True(t, engine.Decide(app).Held, "the Job that completed is gone")

				job.ResourceVersion = "105"
				f.applyAt(jobs.watch, "105", func() sequence.Changes { return arrives(f, job) })
				jobs.watch.removed()
				time.Sleep(listTimeout / 2)
				synctest.Wait()
				assert.True(t, engine.Decide(app).Held, "nothing matches the first group")
				assert.Empty(t, f.barrier.inquiries, "the question was answered")
			})
		})
	}
}

func completeJob(name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"job": name}},
		}},
		Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}},
	}
}
