package feed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"
)

// comparedKind is a kind of which the API server can be asked how recent it is.
type comparedKind struct {
	resource string
	version  func(ctx context.Context) (string, error)
}

func comparedKindOf(client metadata.Interface, resource schema.GroupVersionResource) comparedKind {
	return comparedKind{resource.Resource, func(ctx context.Context) (string, error) {
		list, err := client.Resource(resource).List(ctx, v1.ListOptions{Limit: 1})
		if err != nil {
			return "", err
		}
		return list.ResourceVersion, nil
	}}
}

// compareVersions finds out whether the versions of a kind of sequences can be compared with those of all built-in kinds: it lists
// all kinds at the same time, and then all once more, and looks whether a version of the second time is behind any of the first.
// Versions of two etcds would have to be next to each other not to be. A list may take a moment until the API server has confirmed that
// it misses nothing, so these do not wait for each other.
func (f *Feed) compareVersions(ctx context.Context, sequences comparedKind) {
	kinds := slices.Insert(slices.Clone(f.compared), 0, sequences)
	for range 2 {
		var lists wait.Group
		for _, kind := range kinds {
			lists.Start(func() { f.compareVersion(ctx, kind) })
		}
		lists.Wait()
		if f.versions.isSplit() || ctx.Err() != nil {
			return
		}
	}
	f.versions.compare()
}

// compareVersion tries until it works, or the context ends.
func (f *Feed) compareVersion(ctx context.Context, kind comparedKind) {
	retry := wait.Backoff{Duration: 200 * time.Millisecond, Cap: 5 * time.Second, Steps: 10, Factor: 2, Jitter: 0.2}
	for ctx.Err() == nil {
		timed, cancel := context.WithTimeout(ctx, listTimeout)
		seen := f.versions.seen()
		version, err := kind.version(timed)
		cancel()
		if err == nil {
			f.versions.listed(kind.resource, version, seen)
			return
		}
		if ctx.Err() != nil {
			return
		}
		watchErrors.WithLabelValues(kind.resource).Inc()
		klog.FromContext(ctx).Error(err, "Could not find out whether all kinds are stored in one etcd; held pods stay held, will retry", "resource", kind.resource)
		f.setState(fmt.Sprintf("%s cannot be listed: %v", kind.resource, err))
		pause(ctx, retry.Step())
	}
}

// splitStorage notes, once, that versions of different kinds cannot be compared.
func (f *Feed) splitStorage(resource, version, seen string) {
	klog.Background().Info("Not all kinds are stored in one etcd: confirming that no change was missed takes lists each time", "resource", resource,
		"listedVersion", version, "versionSeenBefore", seen)
	splitStorage.Set(1)
	f.engine.VersionsIncomparable()
}
