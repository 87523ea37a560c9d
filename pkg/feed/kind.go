package feed

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/metadata"

	"example.com/podsequence/pkg/sequence"
)

// askedKind is a kind of which the API server can be asked what there is, and the engine what it knows.
type askedKind struct {
	kinds sequence.Kinds // the fewest that have it
	watch *position
	// list lists one namespace, or all if it is empty. The list has everything that was written before it began.
	list func(ctx context.Context, namespace string) (listing, error)
	// unlisted and knowsAny are as Engine.Unlisted and Engine.KnowsAny.
	unlisted func(namespace string, listed sets.Set[types.UID], version string) []types.UID
	knowsAny func(namespace string, uids []types.UID) bool
}

// listing is what a list says of one kind.
type listing struct {
	version string // of the list
	newest  string // the newest version of any object in it
	uids    sets.Set[types.UID]
}

// asked is a watched kind, to be asked about.
func asked(client metadata.Interface, engine *sequence.Engine, watched watchedKind) *askedKind {
	resource := client.Resource(watched.resource)
	return &askedKind{
		kinds: watched.kinds, watch: watched.store.watch(),
		list: func(ctx context.Context, namespace string) (listing, error) {
			return list(ctx, resource.Namespace(namespace))
		},
		unlisted: func(namespace string, listed sets.Set[types.UID], version string) []types.UID {
			return engine.Unlisted(watched.kind, namespace, listed, version)
		},
		knowsAny: func(namespace string, uids []types.UID) bool {
			return engine.KnowsAny(watched.kind, namespace, uids)
		},
	}
}

// askedSequences are the PodSequences of all namespaces, or the ClusterPodSequences, to be asked about.
func askedSequences(client metadata.Interface, engine *sequence.Engine, kind *sequenceKind) *askedKind {
	resource := client.Resource(kind.resource)
	return &askedKind{
		watch: kind.watch,
		list: func(ctx context.Context, _ string) (listing, error) {
			found, err := list(ctx, resource)
			if apierrors.IsNotFound(err) {
				return kind.uninstalled(ctx)
			}
			return found, err
		},
		unlisted: func(_ string, listed sets.Set[types.UID], version string) []types.UID {
			return engine.UnlistedSequences(kind.cluster, listed, version)
		},
		knowsAny: func(_ string, uids []types.UID) bool { return engine.KnowsAnySequence(uids) },
	}
}

// uninstalled lists the sequences of a kind that is not served: there are none, as long as its definition is not there or not
// established. That the watch of definitions has brought none says nothing: it may be behind.
func (k *sequenceKind) uninstalled(ctx context.Context) (listing, error) {
	isServed, version, err := k.definition.Ask(ctx)
	if err != nil {
		return listing{}, err
	}
	if isServed {
		return listing{}, fmt.Errorf("%s are not served, though their kind is installed", k.resource.Resource)
	}
	return listing{version: version, uids: sets.Set[types.UID]{}}, nil
}

// askedNamespaces are all Namespaces, to be asked about. Which of them are gone is not: they take their consent along, and to
// learn that late only holds pods a moment longer.
func askedNamespaces(client metadata.Interface, watched watchedKind) *askedKind {
	resource := client.Resource(watched.resource)
	return &askedKind{
		watch: watched.store.watch(),
		list: func(ctx context.Context, _ string) (listing, error) {
			return list(ctx, resource)
		},
		unlisted: func(string, sets.Set[types.UID], string) []types.UID { return nil },
		knowsAny: func(string, []types.UID) bool { return false },
	}
}

// pageSize bounds what is in memory of a list of which only versions and UIDs are looked at.
const pageSize = 1000

// list lists metadata, a page at a time. All pages are as of one version.
func list(ctx context.Context, client metadata.ResourceInterface) (listing, error) {
	found := listing{uids: sets.Set[types.UID]{}}
	for options := (metav1.ListOptions{Limit: pageSize}); ; {
		page, err := client.List(ctx, options)
		if err != nil {
			return listing{}, err
		}
		if found.version == "" {
			found.version = page.ResourceVersion
		}
		for i := range page.Items {
			found.newest = latest(found.newest, page.Items[i].ResourceVersion)
			found.uids.Insert(page.Items[i].UID)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return found, nil
		}
	}
}

// settle returns once the engine knows all that a list says: the watch has brought what was listed, and the
// engine has dropped what it knew and was not. That takes nothing but versions of one kind.
func (k *askedKind) settle(ctx context.Context, namespace string, found listing) error {
	if err := k.watch.await(ctx, found.newest); err != nil {
		return err
	}
	gone := k.unlisted(namespace, found.uids, found.version)
	for len(gone) > 0 {
		removal := k.watch.removal()
		if !k.knowsAny(namespace, gone) {
			return nil
		}
		select {
		case <-removal:
		case <-ctx.Done():
			return fmt.Errorf("wait for the watch of %s to bring that %d of them are gone: %w", k.watch.resource, len(gone), context.Cause(ctx))
		}
	}
	return nil
}
