package sequentialjob

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// FuzzStoredSequentialJobs decides about whatever is stored: no object ends the controller, and the same world is decided in the same
// way.
func FuzzStoredSequentialJobs(f *testing.F) {
	for _, seed := range []string{
		`{"spec":{"containers":[{"name":"one","image":"i"},{"name":"two","image":"i"}],"activeDeadlineSeconds":5},"status":{"startTime":"2026-01-01T11:00:00Z"}}`,
		`{"spec":{"containers":[{"name":"one","image":"i"}],"suspend":true,"ttlSecondsAfterFinished":-1},"status":{"completionTime":"2026-01-01T11:00:00Z","phase":"Failed"}}`,
		`{"spec":{"containers":[{"name":"one","image":"i"}]},"status":{"progress":{"completedIndices":[2147483647,-1],"currentIndex":-7,"discardedJob":"u"},"state":{"active":1}}}`,
		`{"spec":{"containers":{"name":"one"},"backoffLimit":"many"},"status":{"progress":{"completedIndices":[3]}}}`,
		`{"spec":{"containers":[]},"status":7}`, `{"spec":[]}`, `{}`, `null`,
	} {
		f.Add([]byte(seed))
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text []byte) {
		stored := map[string]any{}
		if utiljson.Unmarshal(text, &stored) != nil || stored == nil {
			return
		}
		stored["metadata"] = map[string]any{"namespace": "shop", "name": "fuzzed", "uid": "u", "resourceVersion": "7", "generation": int64(2)}
		object, unreadable := decode(&unstructured.Unstructured{Object: stored})
		w := world{object: object, unreadable: unreadable, jobs: map[int32]*batchv1.Job{}, now: now}
		d := decide(w)
		if d.write == createJob {
			w.jobs[progressOf(w).current] = newJob(object, progressOf(w).current, d.deadline)
			decide(w)
		}
	})
}
