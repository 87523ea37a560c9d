package podwriter

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/internal/statusbudget"
)

// Each is one write, and what has a node when its turn comes gets none.
func TestTheManyHeldPodsOfANamespaceAreToldLittleByLittle(t *testing.T) {
	const pods, after = 400, 10 * time.Second
	var lock sync.Mutex
	told := map[string]int{}
	count := func() int {
		lock.Lock()
		defer lock.Unlock()
		return len(told)
	}
	client := fake.NewClientset()
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		lock.Lock()
		defer lock.Unlock()
		told[action.(clienttesting.PatchAction).GetName()]++
		return true, &corev1.Pod{}, nil
	})
	var bound atomic.Bool
	getPod := func(_ context.Context, key types.NamespacedName) (*corev1.Pod, error) {
		pod := st.MakePod().Namespace(key.Namespace).Name(key.Name).UID(key.Name)
		if bound.Load() {
			pod.Node("node")
		}
		return pod.Obj(), nil
	}
	synctest.Test(t, func(t *testing.T) {
		w := New(client, getPod, crowd{held: true}, Options{Explains: func(*corev1.Pod) bool { return true }})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.Run(ctx) }()
		for i := range pods {
			w.Explain(types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)})
		}
		time.Sleep(explainDelay + after)
		synctest.Wait()
		atFirst := count()
		assert.InDelta(t, statusbudget.DefaultTotal*(statusbudget.Burst+int(after/time.Second)), atFirst, statusbudget.DefaultTotal)
		bound.Store(true)
		time.Sleep(time.Hour)
		cancel()
		<-done
		assert.Equal(t, atFirst, count(), "the others have been bound meanwhile")
	})
	for pod, times := range told {
		assert.Equal(t, 1, times, "writes to %s", pod)
	}
}
