package feed

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// aged is a source of one version.
type aged struct {
	version string
	stopped int // watches
}

func (a *aged) list(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: a.version}}, nil
}

func (a *aged) watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return countedWatch{watch.NewFake(), a}, nil
}

type countedWatch struct {
	*watch.FakeWatcher
	of *aged
}

func (w countedWatch) Stop() { w.of.stopped++ }

// A list from a cache of an API server that lags says nothing, one that misses nothing says all.
func TestWhatProvesThatEtcdWentBack(t *testing.T) {
	anyCache := metav1.ListOptions{ResourceVersion: "0"}
	list := func(options metav1.ListOptions) func(*noticing) error {
		return func(n *noticing) error {
			_, err := n.ListWithContext(t.Context(), options)
			return err
		}
	}
	watchFrom := func(version string) func(*noticing) error {
		return func(n *noticing) error {
			_, err := n.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: version})
			return err
		}
	}
	type steps []func(*noticing) error
	tests := map[string]struct {
		known, listed string
		do            steps
		want          bool
	}{
		"a consistent list of before":                     {known: "100", listed: "99", do: steps{list(metav1.ListOptions{})}, want: true},
		"a consistent list of now":                        {known: "100", listed: "100", do: steps{list(metav1.ListOptions{})}},
		"a consistent list of after":                      {known: "100", listed: "101", do: steps{list(metav1.ListOptions{})}},
		"the first list":                                  {known: "", listed: "7", do: steps{list(metav1.ListOptions{})}},
		"a list that any cache may answer":                {known: "100", listed: "99", do: steps{list(anyCache)}},
		"a later page of a list":                          {known: "100", listed: "99", do: steps{list(metav1.ListOptions{Continue: "token"})}},
		"a watch that begins anew from what is not there": {known: "100", listed: "99", do: steps{watchFrom("100")}, want: true},
		"a watch that begins anew":                        {known: "100", listed: "100", do: steps{watchFrom("100")}},
		"the first watch":                                 {known: "", listed: "7", do: steps{watchFrom("7")}},
		"a watch that follows a list of a cache": {
			known: "100", listed: "99", do: steps{list(anyCache), watchFrom("99")},
		},
		"a watch after the one that followed a list": {
			known: "100", listed: "99", want: true,
			do: steps{list(anyCache), watchFrom("99"), watchFrom("99")},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var proofs []WentBack
			versions := newVersions(nil)
			versions.wentBack = func(proof WentBack) { proofs = append(proofs, proof) }
			position := newPosition("pods", versions)
			position.advanceByBookmark(tt.known)
			api := &aged{version: tt.listed}
			n := newNoticing(&cache.ListWatch{ListWithContextFunc: api.list, WatchFuncWithContext: api.watch}, position,
				func(context.Context) (string, error) { return tt.listed, nil })
			var err error
			for _, do := range tt.do {
				require.NoError(t, err)
				err = do(n)
			}
			if !tt.want {
				require.NoError(t, err)
				assert.Empty(t, proofs)
				return
			}
			require.Error(t, err, "nothing of it enters the engine")
			assert.Equal(t, []WentBack{{Resource: "pods", Listed: tt.listed, Known: tt.known}}, proofs)
		})
	}
}

// Whatever the reflector asks for, a scope lists what there is.
func TestEveryListOfAScopeIsConsistent(t *testing.T) {
	f := feedOf(newAPIServer(1))
	var proofs []WentBack
	f.versions.wentBack = func(proof WentBack) { proofs = append(proofs, proof) }
	f.world[0].store.watch().advanceByBookmark("1000")
	n := newNoticing(f.world[0].source, f.world[0].store.watch(), nil)
	_, err := n.ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "1000"})
	require.Error(t, err)
	assert.Equal(t, []WentBack{{Resource: "pods", Listed: "100", Known: "1000"}}, proofs)
	assert.True(t, n.IsWatchListSemanticsUnSupported())
}

// agedMetadata lists nothing, at one version.
type agedMetadata struct {
	metadata.ResourceInterface
	version string
}

func (a agedMetadata) List(context.Context, metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: a.version}}, nil
}

func TestAListThatAnswersAQuestionNoticesThatEtcdWentBack(t *testing.T) {
	for version, want := range map[string]bool{"99": true, "100": false} {
		versions, proofs := newVersions(nil), 0
		versions.wentBack = func(WentBack) { proofs++ }
		watch := newPosition("pods", versions)
		watch.advanceByBookmark("100")
		_, err := listNoticing(t.Context(), agedMetadata{version: version}, watch)
		assert.Equal(t, want, err != nil, version)
		assert.Equal(t, want, proofs == 1, version)
	}
}
