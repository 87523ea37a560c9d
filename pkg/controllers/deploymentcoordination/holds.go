package deploymentcoordination

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/podsequence/pkg/sequence"
)

// Holder says what would hold pods that do not exist yet. It is not known until all PodSequences and pods are known.
type Holder interface {
	WouldHold(pods ...*corev1.Pod) (hold sequence.Hold, known bool)
}

// HoldChanges makes the controller look at the coordinations of a namespace when what holds its pods may have changed.
type HoldChanges struct {
	namespaces workqueue.TypedInterface[string]
}

// NewHolds returns HoldChanges that remember what they get until the controller runs.
func NewHolds() *HoldChanges { return &HoldChanges{workqueue.NewTyped[string]()} }

// Changed tells of a namespace. It does not block.
func (h *HoldChanges) Changed(namespace string) { h.namespaces.Add(namespace) }

// startPatience is how long the controller waits at its start until it is known what holds pods. Then it begins without:
// that pods cannot be listed is no reason to have no Deployment roll out.
const startPatience = 30 * time.Second

// holdSource is a source of which the controller waits until known is closed, or for its patience.
type holdSource struct {
	source.Source
	known    <-chan struct{}
	patience time.Duration
}

var _ source.SyncingSource = holdSource{}

// WaitForSync implements source.SyncingSource. It does not fail.
func (s holdSource) WaitForSync(ctx context.Context) error {
	select {
	case <-s.known:
	case <-time.After(s.patience):
	case <-ctx.Done():
	}
	return nil
}

// source asks for each namespace, not on the time of who calls Changed.
func (h *HoldChanges) source(enqueue func(q queue, namespace string)) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		context.AfterFunc(ctx, h.namespaces.ShutDown)
		go func() {
			for {
				namespace, ended := h.namespaces.Get()
				if ended {
					return
				}
				enqueue(q, namespace)
				h.namespaces.Done(namespace)
			}
		}()
		return nil
	})
}
