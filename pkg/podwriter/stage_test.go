package podwriter

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/pkg/sequence"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/passes"
)

const gate = "podsequence.example.com/sequence-gate"

var key = types.NamespacedName{Namespace: "shop", Name: "app"}

// stage is a Writer over an engine in which pod "app" waits for pod "db".
type stage struct {
	engine *sequence.Engine
	// app is never changed in place: the writer reads it at any time.
	app     atomic.Pointer[corev1.Pod]
	patches atomic.Int64
	last    atomic.Pointer[string]
	// subresource is that of the last patch.
	subresource atomic.Value
	// refusal is what the API server says to the next patch; nil for success.
	refusal atomic.Pointer[error]
	// events are those that the writer asks for.
	events eventLog
	writer *Writer
}

// play runs the story in a bubble whose time passes only when nothing else can happen.
func play(t *testing.T, options Options, story func(t *testing.T, s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{engine: sequence.NewEngine(sequence.Config{
			SchedulerNames: []string{"podsequence-scheduler"}, GatePrefixes: []string{"podsequence.example.com/"},
		})}
		app := st.MakePod().Namespace("shop").Name("app").UID("app").SchedulingGates([]string{gate}).Obj()
		app.ResourceVersion = "5"
		s.app.Store(app)
		s.engine.ApplySequence(MakeSequence("shop", "shop").UID("shop").Pods("Database", "db").Pods("Application", "app").Obj())
		s.engine.ApplyPod(app)

		client := fake.NewClientset()
		client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			s.patches.Add(1)
			text := string(action.(clienttesting.PatchAction).GetPatch())
			s.last.Store(&text)
			s.subresource.Store(action.GetSubresource())
			if refusal := s.refusal.Swap(nil); refusal != nil {
				return true, nil, *refusal
			}
			return true, s.app.Load(), nil
		})
		client.PrependReactor("create", "events", s.events.create)
		getPod := func(context.Context, types.NamespacedName) (*corev1.Pod, error) { return s.app.Load(), nil }
		s.writer = New(client, getPod, s.engine, options)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.writer.Run(ctx) }()
		story(t, s)
		cancel()
		<-done
	})
}

// change changes pod "app" in the API server, unseen by anybody else.
func (s *stage) change(edit func(*corev1.Pod)) {
	app := s.app.Load().DeepCopy()
	app.ResourceVersion = "6"
	edit(app)
	s.app.Store(app)
}

func (s *stage) databaseReady() { passes.RecordAll(s.engine, s.engine.ApplyPod(s.database())) }

// database is a pod that is ready.
func (s *stage) database() *corev1.Pod {
	db := st.MakePod().Namespace("shop").Name("db").UID("db").Node("n").Phase(corev1.PodSucceeded).Obj()
	db.ResourceVersion = "6"
	return db
}
