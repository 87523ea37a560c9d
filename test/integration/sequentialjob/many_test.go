package sequentialjob

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func TestManyAtOnce(t *testing.T) {
	const objects, steps = 40, 2
	s := newLonelyStory(t) // which others would slow down
	began := time.Now()
	for i := range objects {
		s.Create(s.quickSteps(fmt.Sprintf("etl-%d", i), steps))
	}
	for i := range objects {
		s.awaitPhase(fmt.Sprintf("etl-%d", i), v1alpha1.PhaseSucceeded)
	}
	t.Logf("%d SequentialJobs of %d steps took %v", objects, steps, time.Since(began).Round(time.Millisecond))
	assert.Len(t, s.jobs(), objects*steps)
	for i := range objects {
		s.expectInOrder(fmt.Sprintf("etl-%d", i), steps)
	}
}

// handOver measures how long it takes from seeing that a step's Job is complete to seeing the next one's, both through
// the same watch. It returns when the last of the steps is complete.
func (s *story) handOver(jobs watch.Interface, name string, steps int) []time.Duration {
	s.Helper()
	created, completed := map[string]time.Time{}, map[string]time.Time{}
	for event := range jobs.ResultChan() {
		job, ok := event.Object.(*batchv1.Job)
		if !ok {
			continue
		}
		if _, known := created[job.Name]; !known {
			created[job.Name] = time.Now()
		}
		isComplete := slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		})
		if _, known := completed[job.Name]; isComplete && !known {
			completed[job.Name] = time.Now()
			if job.Name == jobName(name, steps-1) {
				break
			}
		}
	}
	var delays []time.Duration
	for i := 1; i < steps; i++ {
		delays = append(delays, created[jobName(name, i)].Sub(completed[jobName(name, i-1)]))
	}
	slices.Sort(delays)
	return delays
}
