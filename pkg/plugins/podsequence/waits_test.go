package podsequence

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// explained returns a channel that receives every message that is written to a pod's condition.
func (s *stage) explained() <-chan string {
	messages := make(chan string, 10)
	s.client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		var patch v1.Pod
		if err := json.Unmarshal(action.(clienttesting.PatchAction).GetPatch(), &patch); err != nil {
			return true, nil, err
		}
		for _, c := range patch.Status.Conditions {
			messages <- c.Message
		}
		return true, &v1.Pod{}, nil
	})
	return messages
}

// awaitExplained lets time pass until a pod is told what it waits for, and returns that and how long it took.
func (s *stage) awaitExplained(messages <-chan string) (message string, after time.Duration) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 30*time.Second)
	defer cancel()
	begin := s.clock.Now()
	for {
		select {
		case message := <-messages:
			return message, s.clock.Since(begin)
		case <-ctx.Done():
			require.Fail(s, "nothing is explained")
		case <-time.After(time.Millisecond):
			s.clock.Step(10 * time.Millisecond)
		}
	}
}

// What holds these pods is no sequence, so the engine knows nothing of it.
func TestPodsThatNoKnownSequenceHoldsAreToldWhatTheyWaitFor(t *testing.T) {
	tests := map[string]struct {
		prepare func(s *stage)
		begin   func(s *stage)
		want    string
	}{
		"something cannot be listed": {
			prepare: func(s *stage) { s.known.set("podsequences cannot be listed: forbidden") },
			begin:   func(*stage) {},
			want:    "waiting for PodSequence: podsequences cannot be listed: forbidden",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			messages := s.explained()
			test.prepare(s)
			s.deliver(pod("app", "5").Obj())
			test.begin(s)
			message, after := s.awaitExplained(messages)
			assert.Equal(t, test.want, message)
			assert.InDelta(t, 1, after.Seconds(), 1, "about as late as for any held pod")
		})
	}
	t.Run("the reason changes", func(t *testing.T) {
		s := newStage(t)
		messages := s.explained()
		s.known.set("pods cannot be listed: the server is down")
		s.deliver(pod("app", "5").Obj())
		message, _ := s.awaitExplained(messages)
		assert.Equal(t, "waiting for PodSequence: pods cannot be listed: the server is down", message)
		s.known.set("podsequences cannot be listed: forbidden")
		for message != "waiting for PodSequence: podsequences cannot be listed: forbidden" {
			message, _ = s.awaitExplained(messages)
		}
	})
	t.Run("explanations are off", func(t *testing.T) {
		args, err := parseArgs(&runtime.Unknown{Raw: []byte(`{"explainWaits": false}`)})
		require.NoError(t, err)
		assert.Nil(t, newHolder(args, nil, schedulerName).writerOptions().Explains)
	})
}

func TestAPodThatWaitsForAPassToBeRecordedIsToldWhyThatTakesLong(t *testing.T) {
	s := newStage(t)
	messages := s.explained()
	s.databaseFirst()
	app := pod("app", "5").Obj()
	s.act(s.engine.ApplyPod(app))
	s.deliver(app)
	message, _ := s.awaitExplained(messages)
	require.Equal(t, `waiting for group 1/2 "Database" of PodSequence shop/shop: 0 of 1 pods ready`, message)

	const recording = `waiting for group 1/2 "Database" of PodSequence shop/shop: ready, its pass is being recorded`
	s.records.fail("its pass cannot be recorded: the server is down")
	s.databaseReady("7")
	for message != recording+": its pass cannot be recorded: the server is down" {
		message, _ = s.awaitExplained(messages) // the first may be told twice
	}
	s.records.fail("its pass cannot be recorded: forbidden")
	for message != recording+": its pass cannot be recorded: forbidden" {
		message, _ = s.awaitExplained(messages)
	}
}
