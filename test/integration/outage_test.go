package integration

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	// outage is long enough for the back-off of client-go's reflectors to reach its limit, which is 30 s to a minute.
	outage = time.Minute
	// prompt is how soon both programs must act when the API server is back: after the longest back-off, on a busy machine.
	prompt = 90 * time.Second
)

var ourPrograms = []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController}

func TestProgramsActWithinAMinuteAfterAnOutageOfTheAPIServer(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for _, tc := range []struct {
		sentence       string
		leaderElection bool
		cluster        func(testing.TB) *environment
	}{
		{sentence: "without leader election", cluster: exclusively},
		{"with leader election, when a standby takes over", true, func(t testing.TB) *environment {
			return startCluster(t, controlplane.Options{LeaderElection: true})
		}},
	} {
		t.Run(tc.sentence, func(t *testing.T) {
			t.Parallel()
			env := tc.cluster(t)
			for _, program := range ourPrograms {
				if !tc.leaderElection {
					continue
				}
				// The leader will end. The standby must have seen its lease before: it counts the 15 s from then.
				standby := env.RunInstance(t, program, nil)
				cluster.Await(t, "the standby of "+program+" to run for the lease", func() bool {
					return occurrences(t, standby.Log, "ttempting to acquire leader lease") > 0
				})
			}
			s := newStoryIn(t, env)
			s.startPair()

			require.NoError(t, env.Kill(s.Ctx, controlplane.APIServer))
			time.Sleep(outage)
			require.NoError(t, env.StartComponent(s.Ctx, controlplane.APIServer))
			s.expectPromptRelease()
		})
	}
}

func TestProgramsWaitForTheAPIServerAtTheirStart(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := exclusively(t)
	t.Cleanup(func() { // when the instances of the test have ended
		for _, program := range ourPrograms {
			env.startAgain(t, program)
		}
	})
	s := newStoryIn(t, env)
	s.startPair()
	for _, component := range append([]string{controlplane.APIServer}, ourPrograms...) {
		require.NoError(t, env.Kill(s.Ctx, component))
	}
	logs, ended := map[string]string{}, make(chan string, len(ourPrograms))
	for _, program := range ourPrograms {
		var health string
		instance := env.RunInstance(t, program, func(args []string) []string {
			health = healthAddress(args)
			return args
		})
		logs[program] = instance.Log
		go func() {
			_ = instance.Wait()
			ended <- program
		}()
		s.Await(program+" to wait", func() bool { return occurrences(t, instance.Log, "Waiting for the API server") > 0 })
		assert.Equal(t, http.StatusOK, statusOf(s.Ctx, "http://"+health+"/livez"), "the kubelet would end %s", program)
		assert.NotEqual(t, http.StatusOK, statusOf(s.Ctx, "http://"+health+"/readyz"), "%s is ready", program)
	}
	select {
	case program := <-ended:
		require.Fail(t, "a program does not wait", "%s ended, see %s", program, logs[program])
	case <-time.After(outage / 2):
	}
	require.NoError(t, env.StartComponent(s.Ctx, controlplane.APIServer))
	s.expectPromptRelease()
	for program, log := range logs {
		assert.Equal(t, 1, occurrences(t, log, "Waiting for the API server"), "%s does not say it once, see %s", program, log)
		assert.Equal(t, 1, occurrences(t, log, "The API server answers"), "%s does not say it once, see %s", program, log)
	}
}

// startPair makes one pod of our scheduler and one with a gate wait for a third.
func (s *story) startPair() {
	s.Helper()
	s.Create(s.sequence("pair").Pods("First", "first").Pods("Second", "ours", "gated").Obj())
	s.createPods(s.pod("first"), s.pod("ours"), s.gated("gated").SchedulerName(stockScheduler))
	s.awaitBound("first")
	s.expectHeld("ours", "gated")
}

// expectPromptRelease makes the first pod of the pair ready without KWOK, which may not have noticed yet that the API server is back,
// and measures the time until both programs have done their part.
func (s *story) expectPromptRelease() {
	s.Helper()
	begin := time.Now()
	cluster.ChangeStatus(s.Story, s.Pod("first"), func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	})
	var bound, lifted time.Duration
	cluster.AwaitWithin(s, prompt, "both programs to act", func() bool {
		if bound == 0 && s.getPod("ours").Spec.NodeName != "" {
			bound = time.Since(begin)
		}
		if lifted == 0 && len(s.getPod("gated").Spec.SchedulingGates) == 0 {
			lifted = time.Since(begin)
		}
		return bound > 0 && lifted > 0
	})
	s.Logf("after the return of the API server: bound after %v, gate lifted after %v", bound, lifted)
}

func occurrences(t *testing.T, log, text string) int {
	t.Helper()
	content, err := os.ReadFile(log)
	require.NoError(t, err)
	return strings.Count(string(content), text)
}

func healthAddress(args []string) string {
	for _, arg := range args {
		if address, ok := strings.CutPrefix(arg, "--health-probe-bind-address="); ok {
			return address
		}
	}
	return ""
}

// statusOf is the status code that a URL answers with, or 0.
func statusOf(ctx context.Context, url string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}
