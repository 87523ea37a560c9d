package feed

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"example.com/podsequence/internal/definitions"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
)

// sequenceKind is PodSequences or ClusterPodSequences, and how they are watched.
type sequenceKind struct {
	cluster    bool
	resource   schema.GroupVersionResource
	definition *definitions.Watcher
	source     cache.ListerWatcher
	watch      *position
	listed     bool // all are known, or there is no such kind; guarded by Feed.deliver
}

func (k *sequenceKind) read(stored map[string]any) order.Stored {
	if k.cluster {
		return order.ReadCluster(stored)
	}
	return order.Read(stored)
}

// sequenceReader reads the sequences of a kind, and tells the operator of the cluster of those that cannot be read wholly.
type sequenceReader struct {
	kind   *sequenceKind
	logger klog.Logger
	// unreadable are the generations of these, which are reported once each.
	unreadable map[types.NamespacedName]int64
}

func (r *sequenceReader) read(stored *unstructured.Unstructured) order.Stored {
	trimSequence(stored)
	ps, key := r.kind.read(stored.Object), keyOf(stored)
	if len(ps.Unreadable) == 0 {
		delete(r.unreadable, key)
		return ps
	}
	if r.unreadable[key] != stored.GetGeneration() {
		for _, part := range ps.Unreadable {
			r.logger.Error(nil, "Could not read a part of a stored sequence; the group with this problem and all later ones do not count as ready", "sequence", report.NameOf(key), "problem", part.Message)
		}
	}
	r.unreadable[key] = stored.GetGeneration()
	return ps
}

func keyOf(stored *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: stored.GetNamespace(), Name: stored.GetName()}
}

// sequenceFollower watches the sequences of a kind while it is served.
type sequenceFollower struct {
	feed *Feed
	kind *sequenceKind
}

// Served implements definitions.Follower.
func (s sequenceFollower) Served(ctx context.Context) {
	s.noteInstalled(true)
	incomplete := "the list of " + s.kind.resource.Resource + " is not complete"
	s.feed.suspend(s.kind, incomplete)
	s.feed.reflect(ctx, s.kind.resource.Resource, s.kind.source, &unstructured.Unstructured{}, s.feed.sequenceStore(s.kind, klog.FromContext(ctx)))
}

// Unserved implements definitions.Follower. That a kind is not there means that there are no sequences of it.
func (s sequenceFollower) Unserved(_ context.Context, isDefined bool, version string) {
	s.noteInstalled(isDefined)
	s.feed.apply(func() sequence.Changes { return s.feed.replaceSequences(s.kind, nil, version) })
	s.feed.open()
}

// noteInstalled tells the engine whether the kind PodSequence is installed: pods wait for those of that kind that do not exist.
func (s sequenceFollower) noteInstalled(installed bool) {
	if !s.kind.cluster {
		s.feed.apply(func() sequence.Changes { return s.feed.engine.KindInstalled(installed) })
	}
}
