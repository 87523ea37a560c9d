package podwriter

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/internal/statusbudget"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/test/harness/slow"
)

// crowd is a Decider of a namespace with many pods, and of any other. It holds every pod, or releases every pod.
type crowd struct {
	held bool
	pods []types.NamespacedName
}

func (c crowd) Decide(*corev1.Pod) report.Decision { return report.Decision{Held: c.held} }

func (c crowd) Lift(types.NamespacedName) sequence.Lift {
	if c.held {
		return sequence.Lift{}
	}
	return sequence.Lift{Gates: []string{gate}}
}

func (c crowd) Nomination(types.NamespacedName) sequence.Nomination { return sequence.Nomination{} }

func (c crowd) Waiting(types.NamespacedName) []types.NamespacedName { return c.pods }

// writesBefore asks for a write to each of many pods of one namespace, then for a write to one pod of another, and returns
// how many pods are written to before that one.
func writesBefore(t *testing.T, held bool, askForMany func(*Writer, []types.NamespacedName), askForOne func(*Writer, types.NamespacedName)) int {
	var many []types.NamespacedName
	for i := range 1000 {
		many = append(many, types.NamespacedName{Namespace: "hostile", Name: fmt.Sprint("pod-", i)})
	}
	var lock sync.Mutex
	var order []string // the namespaces of the pods that are written to
	client := fake.NewClientset()
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		lock.Lock()
		defer lock.Unlock()
		order = append(order, action.GetNamespace())
		return true, &corev1.Pod{}, nil
	})
	getPod := func(_ context.Context, key types.NamespacedName) (*corev1.Pod, error) {
		return st.MakePod().Namespace(key.Namespace).Name(key.Name).UID(key.Name).SchedulingGates([]string{gate}).Obj(), nil
	}
	synctest.Test(t, func(t *testing.T) {
		catchUp := func(context.Context, string) error { // every write takes a while
			time.Sleep(time.Millisecond)
			return nil
		}
		w := New(client, getPod, crowd{held: held, pods: many}, Options{
			CatchUp: catchUp, Explains: func(*corev1.Pod) bool { return true },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.Run(ctx) }()
		askForMany(w, many)
		time.Sleep(time.Millisecond) // so that this one is later than all of them
		askForOne(w, types.NamespacedName{Namespace: "quiet", Name: "pod"})
		time.Sleep(time.Hour)
		cancel()
		<-done
	})
	require.Len(t, order, 1001)
	return slices.Index(order, "quiet")
}

func TestManyPodsOfOneNamespaceDoNotDelayThoseOfAnother(t *testing.T) {
	slow.Test(t)
	t.Run("whose gates are lifted", func(t *testing.T) {
		before := writesBefore(t, false, func(w *Writer, many []types.NamespacedName) {
			for _, pod := range many {
				w.Lift(pod)
			}
		}, (*Writer).Lift)
		assert.LessOrEqual(t, before, 3*lifters, "writes before that of the other namespace")
	})
	t.Run("that are told what they wait for", func(t *testing.T) {
		before := writesBefore(t, true, func(w *Writer, many []types.NamespacedName) {
			for _, pod := range many {
				w.Explain(pod)
			}
		}, (*Writer).Explain)
		assert.LessOrEqual(t, before, statusbudget.Burst*statusbudget.DefaultTotal+2, "writes before that of the other namespace")
	})
	t.Run("that are told so because their sequence has come forward", func(t *testing.T) {
		before := writesBefore(t, true, func(w *Writer, _ []types.NamespacedName) {
			w.ExplainAll(types.NamespacedName{Namespace: "hostile", Name: "sequence"})
		}, (*Writer).Explain)
		assert.LessOrEqual(t, before, statusbudget.Burst*statusbudget.DefaultTotal+2, "writes before that of the other namespace")
	})
}

// Seven namespaces have a thousand held pods each, and one has a pod now and then.
func TestHeldPodsOfManyNamespacesDelayThoseOfNoOther(t *testing.T) {
	const hostile, passed = 7, 30 * time.Second
	var lock sync.Mutex
	writes := map[string]int{} // by namespace
	count := func(action clienttesting.Action) {
		lock.Lock()
		defer lock.Unlock()
		writes[action.GetNamespace()]++
	}
	client := fake.NewClientset()
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		count(action)
		return true, &corev1.Pod{}, nil
	})
	client.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		count(action)
		return true, nil, nil
	})
	getPod := func(_ context.Context, key types.NamespacedName) (*corev1.Pod, error) {
		return st.MakePod().Namespace(key.Namespace).Name(key.Name).UID(key.Name).Obj(), nil
	}
	synctest.Test(t, func(t *testing.T) {
		w := New(client, getPod, crowd{held: true}, Options{Explains: func(*corev1.Pod) bool { return true }})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.Run(ctx) }()
		for i := range 1000 {
			for namespace := range hostile {
				w.Explain(types.NamespacedName{Namespace: fmt.Sprint("hostile-", namespace), Name: fmt.Sprint(i)})
			}
		}
		const between = 2 * time.Second
		for i := range int(passed / between) {
			w.Explain(types.NamespacedName{Namespace: "quiet", Name: fmt.Sprint(i)})
			time.Sleep(between)
		}
		time.Sleep(explainDelay)
		synctest.Wait()
		lock.Lock()
		defer lock.Unlock()
		total := 0
		for _, n := range writes {
			total += n
		}
		// Of the pods whose event is due, the last may not have it yet.
		assert.InDelta(t, int(passed/between)+int((passed-eventDelay)/between), writes["quiet"], 2)
		budget := int((21*time.Second + passed).Seconds()) * statusbudget.DefaultTotal // after a pause, as much as in twenty seconds
		assert.LessOrEqual(t, total, budget)
		assert.Greater(t, total, budget*3/4)
		cancel()
		<-done
	})
}
