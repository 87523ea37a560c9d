package feed

import (
	"cmp"
	"context"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"example.com/podsequence/pkg/sequence"
)

// manyNamespaces is from how many namespaces on a kind is listed in all namespaces instead of in each of them.
const manyNamespaces = 64

// scope is a kind that the engine gets only in namespaces of interest. It is the source of the kind's reflector: it
// lists no more than that, and watches all namespaces from there on.
//
// The fields below feed are guarded by its deliver.
type scope[T metav1.Object] struct {
	store *objectStore[T]
	kind  int // its place in watchedNamespace.kinds
	list  lister
	watch func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	// outside selects what is wanted of namespaces that are not of interest, and wanted reports whether an object is; known
	// reports whether the engine knows one that was wanted. They are empty if nothing is wanted.
	outside string
	wanted  func(T) bool
	known   func(T) bool
	// others select, together, all that is not wanted of namespaces that are not of interest.
	others []string
	feed   *Feed

	// relisting is set while the watch has broken, and what was missed is being listed; settled is closed when it has been.
	// No namespace becomes complete meanwhile. rounds counts how often that began.
	relisting bool
	settled   chan struct{}
	rounds    int
	listed    map[*watchedNamespace]string // the versions of the lists that are on their way to the store
}

var (
	_ cache.ListerWatcher            = &scope[metav1.Object]{}
	_ cache.ListerWatcherWithContext = &scope[metav1.Object]{}
)

// newScope returns a scope that lets the store enter only what is of interest.
func newScope[T metav1.Object](store *objectStore[T]) *scope[T] {
	s := &scope[T]{
		store: store, feed: store.feed, kind: len(store.feed.scoped), others: []string{""}, relisting: true, settled: make(chan struct{}),
	}
	store.scope = s
	store.feed.scoped = append(store.feed.scoped, s)
	return s
}

// applierFor returns what enters an event into the engine; nil if nothing does.
//
// An event that is not newer than the list of its namespace says nothing new, or is of an object that is gone, unless the list
// left such objects out. A deletion is entered whatever the list said, for the object may have come in by an event before the list
// did.
func (s *scope[T]) applierFor(object T, deleted bool) func(T) sequence.Changes {
	ns := s.feed.interest.namespaces[object.GetNamespace()]
	switch {
	case ns == nil && !deleted && s.wanted != nil && s.wanted(object):
		return s.store.apply
	case ns == nil && s.known != nil && s.known(object):
		return s.store.remove
	case ns == nil:
		return nil
	}
	known := &ns.kinds[s.kind]
	version := object.GetResourceVersion()
	switch {
	case deleted && known.version == "":
		known.markDeleted(object.GetUID())
		return s.store.remove
	case deleted:
		return s.store.remove
	case known.withoutWanted && s.wanted(object):
		return s.store.apply
	case known.version == version || after(known.version, version):
		return nil
	}
	return s.store.apply
}

// markDeleted keeps a list in flight from re-adding uid.
func (k *watchedKindState) markDeleted(uid types.UID) {
	if k.deletedDuringList == nil {
		k.deletedDuringList = map[types.UID]struct{}{}
	}
	k.deletedDuringList[uid] = struct{}{}
}

// gather enters what there is in some namespaces, a page at a time. No PodSequence of theirs is known to the engine, so
// it does not matter that it sees them grow. What the watch brings meanwhile enters as well, and what is newer wins. What was
// wanted before is not listed: the engine knows it, and when a scheduler starts that may be ten thousand held pods.
func (s *scope[T]) gather(ctx context.Context, namespaces []*watchedNamespace) error {
	for ctx.Err() == nil {
		round, missing, settled := s.beginRound(namespaces)
		if settled != nil {
			select {
			case <-settled:
			case <-ctx.Done():
			}
			continue
		}
		if len(missing) == 0 {
			return nil
		}
		namespace := metav1.NamespaceAll
		if len(missing) == 1 {
			for name := range missing {
				namespace = name
			}
		}
		// The events before this position may have been dropped: the watch had brought them before the namespaces were of interest.
		oldest, newest := "", s.store.position.at()
		for _, selector := range s.others {
			options := notOlder(newest)
			options.FieldSelector = selector
			err := pages(ctx, s.listPage, namespace, options, func(page []T, version string) (bool, error) {
				newest = version
				return s.enterPage(page, round, missing), nil
			})
			if err != nil {
				return err
			}
			oldest = cmp.Or(oldest, newest)
		}
		s.endRound(round, missing, oldest)
	}
	return ctx.Err()
}

// beginRound returns which namespaces have to be listed, or, if it has to wait, until when.
func (s *scope[T]) beginRound(namespaces []*watchedNamespace) (round int, missing map[string]*watchedNamespace, settled <-chan struct{}) {
	s.feed.deliver.Lock()
	defer s.feed.deliver.Unlock()
	missing = map[string]*watchedNamespace{}
	for _, ns := range namespaces {
		if s.feed.interest.namespaces[ns.name] == ns && ns.kinds[s.kind].version == "" {
			missing[ns.name] = ns
		}
	}
	if s.relisting && len(missing) > 0 {
		return 0, nil, s.settled
	}
	return s.rounds, missing, nil
}

// listPage lists a page when it is its turn.
func (s *scope[T]) listPage(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
	select {
	case s.feed.gathers <- struct{}{}:
		defer func() { <-s.feed.gathers }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return s.list(ctx, namespace, options)
}

// enterPage enters a page. It reports whether the rest of the list is wanted.
func (s *scope[T]) enterPage(page []T, round int, missing map[string]*watchedNamespace) bool {
	s.feed.deliver.Lock()
	defer s.feed.deliver.Unlock()
	if s.relisting || s.rounds != round {
		return false
	}
	for _, object := range page {
		ns := missing[object.GetNamespace()]
		if ns == nil || s.feed.interest.namespaces[ns.name] != ns {
			continue
		}
		if _, gone := ns.kinds[s.kind].deletedDuringList[object.GetUID()]; gone {
			continue
		}
		if s.store.trim != nil {
			object = s.store.trim(object)
		}
		s.feed.publish(s.store.applyListed(object))
	}
	return true
}

// endRound notes that the engine knows all that was listed, in lists of which this is the version of the first.
func (s *scope[T]) endRound(round int, missing map[string]*watchedNamespace, oldest string) {
	s.feed.deliver.Lock()
	defer s.feed.deliver.Unlock()
	if s.relisting || s.rounds != round {
		return
	}
	for _, ns := range missing {
		ns.kinds[s.kind] = watchedKindState{version: oldest, withoutWanted: s.wanted != nil}
	}
}

// List is not called: ListWithContext is there.
func (s *scope[T]) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

// Watch is not called: WatchWithContext is there.
func (s *scope[T]) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.watch(context.Background(), options)
}

// WatchWithContext watches all namespaces.
func (s *scope[T]) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return s.watch(ctx, options)
}

// IsWatchListSemanticsUnSupported makes the reflector list before it watches.
func (s *scope[T]) IsWatchListSemanticsUnSupported() bool { return true }

// ListWithContext lists what is of interest at a version, all pages together: it takes the place of what the engine knows in
// one step. The options are not looked at. A list of one namespace may be newer than that version, from which all are watched:
// then what the watch brings of it at first is dropped.
func (s *scope[T]) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	namespaces := s.relist()
	found := &metainternalversion.List{}
	listed := map[*watchedNamespace]string{}
	take := func(wanted func(T) bool) func([]T, string) (bool, error) {
		return func(page []T, version string) (bool, error) {
			found.ResourceVersion = version
			for _, object := range page {
				if wanted(object) {
					found.Items = append(found.Items, any(s.trimmed(object)).(runtime.Object))
				}
			}
			return true, nil
		}
	}
	switch {
	case len(namespaces) >= manyNamespaces:
		everywhere := func(object T) bool {
			_, inside := namespaces[object.GetNamespace()]
			return inside || (s.wanted != nil && s.wanted(object))
		}
		if err := pages(ctx, s.list, metav1.NamespaceAll, metav1.ListOptions{}, take(everywhere)); err != nil {
			return nil, err
		}
		for _, ns := range namespaces {
			listed[ns] = found.ResourceVersion
		}
		namespaces = nil
	case s.wanted != nil:
		outside := func(object T) bool {
			_, inside := namespaces[object.GetNamespace()]
			return !inside && s.wanted(object)
		}
		if err := pages(ctx, s.list, metav1.NamespaceAll, metav1.ListOptions{FieldSelector: s.outside}, take(outside)); err != nil {
			return nil, err
		}
	default:
		version, err := s.list.version(ctx)
		if err != nil {
			return nil, err
		}
		found.ResourceVersion = version
	}
	from := found.ResourceVersion
	for name, ns := range namespaces {
		if err := pages(ctx, s.list, name, notOlder(from), take(func(T) bool { return true })); err != nil {
			return nil, err
		}
		listed[ns], found.ResourceVersion = found.ResourceVersion, from
	}
	s.feed.deliver.Lock()
	defer s.feed.deliver.Unlock()
	s.listed = listed
	return found, nil
}

// relist notes that what the watch brings may have a gap, and returns the namespaces that there are.
func (s *scope[T]) relist() map[string]*watchedNamespace {
	s.feed.deliver.Lock()
	defer s.feed.deliver.Unlock()
	s.rounds++
	if !s.relisting {
		s.relisting, s.settled = true, make(chan struct{})
	}
	namespaces := make(map[string]*watchedNamespace, len(s.feed.interest.namespaces))
	for name, ns := range s.feed.interest.namespaces {
		namespaces[name] = ns
	}
	return namespaces
}

// relisted returns those of the listed objects that are still of interest, and lets the watch begin anew. A namespace that came
// meanwhile is incomplete, and will be listed.
func (s *scope[T]) relisted(objects []T) []T {
	kept := objects[:0]
	for _, object := range objects {
		ns := s.feed.interest.namespaces[object.GetNamespace()]
		_, inside := s.listed[ns]
		if (ns != nil && inside) || (s.wanted != nil && s.wanted(object)) {
			kept = append(kept, object)
		}
	}
	for ns, version := range s.listed {
		ns.kinds[s.kind] = watchedKindState{version: version}
	}
	s.listed, s.relisting = nil, false
	close(s.settled)
	return kept
}

func (s *scope[T]) trimmed(object T) T {
	if s.store.trim == nil {
		return object
	}
	return s.store.trim(object)
}
