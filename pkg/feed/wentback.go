package feed

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/klog/v2"
)

// WentBack is the proof that the API server has an older state than the engine: etcd was restored from a backup. What the engine
// knows since then never happened, and watches bring nothing until versions have caught up.
type WentBack struct {
	// Resource is the kind that was listed.
	Resource string
	// Listed is the version of a list that missed nothing, and Known an older one's or that of an earlier event.
	Listed, Known string
}

// Exit ends the process, so that it starts anew and knows nothing of what did not happen. Nothing else is safe: caches of other
// packages are as wrong as the engine.
func (w WentBack) Exit() {
	klog.Background().Error(nil, "Resource versions went back, so etcd was restored from a backup; this program ends to start anew",
		"resource", w.Resource, "listedVersion", w.Listed, "versionKnownBefore", w.Known)
	klog.FlushAndExit(klog.ExitFlushTimeout, 1)
}

// listed notes the version of a consistent list of this kind: one that has everything that was written before it began. known is how
// far the watch had come then. Versions of one kind only grow, wherever it is stored, so a list that is behind proves
// that etcd went back. Lists that a cache may answer, which is what ResourceVersion "0" asks for, prove nothing: an API server may lag.
func (p *position) listed(version, known string) error {
	if !after(known, version) {
		return nil
	}
	if p.versions.wentBack != nil {
		p.versions.wentBack(WentBack{Resource: p.resource, Listed: version, Known: known})
	}
	return fmt.Errorf("the list of %s has version %s, and version %s was known before it", p.resource, version, known)
}

// noticing is a source that notices when versions of its kind went back. A watch that begins anew from a version that is not there any
// more would bring nothing, without an error, until there is such a version again.
//
// The fields belong to the goroutine of the reflector.
type noticing struct {
	cache.ListerWatcherWithContext
	source   any
	position *position
	// newest is the version of the kind: everything that was written before the call is not newer.
	newest func(ctx context.Context) (string, error)
	// consistent says that every list of the source is, whatever the options say.
	consistent bool
	// fresh is set when the last request was a list, so that there is no need to ask again.
	fresh bool
}

func newNoticing(source cache.ListerWatcher, position *position, newest func(context.Context) (string, error)) *noticing {
	_, consistent := source.(interface{ listsAreConsistent() })
	return &noticing{
		ListerWatcherWithContext: cache.ToListerWatcherWithContext(source), source: source, consistent: consistent,
		position: position, newest: newest,
	}
}

// List is not called: ListWithContext is there.
func (n *noticing) List(options metav1.ListOptions) (runtime.Object, error) {
	return n.ListWithContext(context.Background(), options)
}

// Watch is not called: WatchWithContext is there.
func (n *noticing) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return n.WatchWithContext(context.Background(), options)
}

// IsWatchListSemanticsUnSupported says what the source says.
func (n *noticing) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(n.source)
}

// ListWithContext lists, and compares the version if the list is consistent. Later pages are as of the version of the first.
func (n *noticing) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	known := n.position.at()
	list, err := n.ListerWatcherWithContext.ListWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	if n.consistent || (options.ResourceVersion == "" && options.Continue == "") {
		header, err := meta.ListAccessor(list)
		if err != nil {
			return nil, fmt.Errorf("read a list: %w", err)
		}
		if err := n.position.listed(header.GetResourceVersion(), known); err != nil {
			return nil, err
		}
	}
	n.fresh = true
	return list, nil
}

// WatchWithContext watches. When a watch begins anew, it asks how recent the kind is after the watch has begun: if etcd goes back
// later, this watch breaks.
func (n *noticing) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	known, fresh := n.position.at(), n.fresh
	n.fresh = false
	begun, err := n.ListerWatcherWithContext.WatchWithContext(ctx, options)
	if err != nil || known == "" || fresh {
		return begun, err
	}
	timed, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	version, err := n.newest(timed)
	if err == nil {
		err = n.position.listed(version, known)
	}
	if err != nil {
		begun.Stop()
		return nil, fmt.Errorf("find out whether the watch continues what is known: %w", err)
	}
	return begun, nil
}
