package feed

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/definitions"
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
			source := &cache.ListWatch{ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &apiextensionsv1.CustomResourceDefinitionList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: test.definitions}, test.problem
			}}
			kind := &sequenceKind{
				resource:   v1alpha1.PodSequenceResource,
				definition: definitions.NewWithSource(v1alpha1.PodSequenceResource.GroupResource(), source),
			}
			newest, err := (&Feed{newestOf: newestOf(client)}).newestSequence(t.Context(), kind)
			if test.wantErr != "" {
				assert.ErrorContains(t, err, test.wantErr)
				return
			}
			require.NoError(t, err)
			assert.Empty(t, newest)
		})
	}
}

func TestPodsWaitForASequenceThatTheyNameWhileItsKindIsInstalled(t *testing.T) {
	f := &Feed{
		engine: sequence.NewEngine(ours()),
		clock:  clock.RealClock{}, timer: clock.RealClock{}.NewTimer(math.MaxInt64), sink: func(sequence.Changes) {},
	}
	for i, resource := range sequenceResources {
		f.sequences[i] = &sequenceKind{cluster: i == 1, resource: resource, watch: &position{}}
	}
	follower := sequenceFollower{f, f.sequences[0]}
	named := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "web", ResourceVersion: "10", Labels: map[string]string{v1alpha1.SequenceLabel: "shop"},
	}, Spec: corev1.PodSpec{SchedulerName: ours().SchedulerNames[0]}}
	f.engine.ApplyPod(named)
	assert.True(t, f.engine.Decide(named).Held, "a pod waits for the sequence that it names")
	follower.Unserved(t.Context(), false, "50")
	assert.False(t, f.engine.Decide(named).Held, "but not for one that nobody can create")
	follower.Unserved(t.Context(), true, "51")
	assert.True(t, f.engine.Decide(named).Held, "the kind is there again, though it is not served yet")
}
