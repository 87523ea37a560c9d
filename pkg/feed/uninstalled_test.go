package feed

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/definitions"
	"example.com/podsequence/pkg/sequence"
)

// A pod may be younger than a definition that the watch of definitions has not brought yet, and than a sequence of it.
func TestWhetherAKindIsNotInstalledIsAsked(t *testing.T) {
	established := apiextensionsv1.CustomResourceDefinition{Status: apiextensionsv1.CustomResourceDefinitionStatus{
		Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}},
	}}
	tests := map[string]struct {
		definitions []apiextensionsv1.CustomResourceDefinition
		problem     error
		wantErr     string
	}{
		"without a definition there are none":    {},
		"nor are there before it is established": {definitions: []apiextensionsv1.CustomResourceDefinition{{}}},
		"with a definition nobody knows yet":     {definitions: []apiextensionsv1.CustomResourceDefinition{established}, wantErr: "not served, though their kind is installed"},
		"nor if definitions cannot be listed":    {problem: errors.New("the server is down"), wantErr: "the server is down"},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			client := fake.NewSimpleMetadataClient(fake.NewTestScheme())
			client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewNotFound(v1alpha1.PodSequenceResource.GroupResource(), "")
			})
			watch := newPosition("podsequences", newVersions(nil))
			watch.advanceByBookmark("1000") // the version of the definition says nothing about that of the kind
			source := &cache.ListWatch{ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &apiextensionsv1.CustomResourceDefinitionList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: test.definitions}, test.problem
			}}
			kind := &sequenceKind{
				resource: v1alpha1.PodSequenceResource, watch: watch,
				definition: definitions.NewWithSource(v1alpha1.PodSequenceResource.GroupResource(), source),
			}
			found, err := askedSequences(client, sequence.NewEngine(sequence.Config{}), kind).list(t.Context(), "")
			if test.wantErr != "" {
				assert.ErrorContains(t, err, test.wantErr)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "7", found.version)
			assert.Empty(t, found.uids)
		})
	}
}

func TestAKindThatIsSeenToBeGoneMayBeBack(t *testing.T) {
	play(t, func(t *testing.T, a *asking) {
		f := &Feed{
			engine: sequence.NewEngine(ours()), interest: newInterest(0), versions: a.versions, barrier: a.barrier,
			clock: clock.RealClock{}, rearm: make(chan struct{}, 1), sink: func(sequence.Changes) {},
		}
		for i, resource := range []schema.GroupVersionResource{v1alpha1.PodSequenceResource, v1alpha1.ClusterPodSequenceResource} {
			f.sequences[i] = &sequenceKind{cluster: i == 1, resource: resource, watch: a.sequences.watch}
			f.sequences[i].known = newKnownSequences(a.barrier, a.sequences.askedKind, i == 1, a.pods.watch, func() {})
		}
		kind := f.sequences[0]
		follower := sequenceFollower{f, kind}
		named := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "web", ResourceVersion: "10", Labels: map[string]string{v1alpha1.SequenceLabel: "shop"},
		}, Spec: corev1.PodSpec{SchedulerName: ours().SchedulerNames[0]}}
		f.engine.ApplyPod(named)
		assert.True(t, f.engine.Decide(named).Held, "a pod waits for the sequence that it names")
		follower.Unserved(t.Context(), false, "50")
		assert.False(t, f.engine.Decide(named).Held, "but not for one that nobody can create")
		follower.Unserved(t.Context(), true, "51")
		assert.True(t, f.engine.Decide(named).Held, "the kind is there again, though it is not served yet")
		follower.Unserved(t.Context(), false, "52")

		a.set(func() { a.sequences.failing = true })
		pod := firstSeenAt("90", 1)
		assert.False(t, kind.known.knowsAllBeforeOrAsks(pod))
		time.Sleep(time.Minute)
		assert.False(t, kind.known.knowsAllBefore(pod), "nobody has said that the kind is not back")
		a.set(func() { a.sequences.failing = false })
		require.NoError(t, kind.known.await(t.Context(), pod))
	})
}
