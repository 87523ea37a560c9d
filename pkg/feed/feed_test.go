package feed

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"k8s.io/utils/clock"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/definitions"
	"example.com/podsequence/pkg/sequence"
	. "example.com/podsequence/test/harness/builders"
)

// The scheduler asks under the lock of its queue, and the sink activates pods, which takes that lock. So a question must
// never wait for the sink, and must be answered by what the sink got.
func TestQuestionsAreAnsweredWhileTheSinkActs(t *testing.T) {
	engine := sequence.NewEngine(sequence.Config{SchedulerNames: []string{"podsequence-scheduler"}})
	shop := MakeSequence("shop", "shop").UID("shop").Pods("Database", "db").Pods("Application", "app").Obj()
	app := st.MakePod().Namespace("shop").Name("app").UID("app").SchedulerName("podsequence-scheduler").Obj()
	pods, sequences, installed := cachetesting.NewFakeControllerSource(), cachetesting.NewFakeControllerSource(), cachetesting.NewFakeControllerSource()
	f := &Feed{
		engine: engine,
		clock:  clock.RealClock{}, timer: clock.RealClock{}.NewTimer(math.MaxInt64),
	}
	definedBy := [...]*cachetesting.FakeControllerSource{installed, cachetesting.NewFakeControllerSource()} // PodSequences alone
	for i, resource := range []schema.GroupVersionResource{v1alpha1.PodSequenceResource, v1alpha1.ClusterPodSequenceResource} {
		kind := &sequenceKind{
			cluster: i == 1, resource: resource, source: sequences, watch: &position{resource: resource.Resource},
			definition: definitions.NewWithSource(resource.GroupResource(), definedBy[i]),
		}
		f.sequences[i] = kind
	}
	f.world = []watchedKind{{
		resource: corev1.SchemeGroupVersion.WithResource("pods"), source: pods, object: &corev1.Pod{},
		store: newObjectStore(f, engine.ApplyPod, engine.RemovePod, engine.ReplacePods),
	}}
	type answer struct{ synced, held bool }
	answers := make(chan answer, 100)
	published := make(chan sequence.Changes, 100)
	f.sink = func(changes sequence.Changes) {
		if len(changes.Ripe) > 0 {
			ripe, _ := engine.Ripe(changes.Ripe[0])
			recorded := shop.DeepCopy()
			recorded.ResourceVersion, recorded.Status.Passes = "1000", ripe.Passes
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(recorded)
			assert.NoError(t, err)
			go f.Recorded(&unstructured.Unstructured{Object: content})
		}
		published <- changes
		if len(changes.Released) == 0 {
			return
		}
		answered := make(chan answer)
		go func() {
			f.Why()
			answered <- answer{f.Synced(), engine.Decide(app).Held}
		}()
		select {
		case a := <-answered:
			answers <- a
		case <-time.After(10 * time.Second):
			close(answers)
		}
	}

	definition := &apiextensionsv1.CustomResourceDefinition{}
	definition.Name, definition.UID = v1alpha1.PodSequenceResource.GroupResource().String(), "definition"
	definition.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
	}
	installed.Add(definition)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(shop)
	require.NoError(t, err)
	sequences.Add(&unstructured.Unstructured{Object: content})
	pods.Add(app)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })

	first := <-published
	assert.Equal(t, []types.NamespacedName{{Namespace: "shop", Name: "app"}}, first.Held, "first of all it gets all there is")

	pods.Add(st.MakePod().Namespace("shop").Name("db").UID("db").Node("n").Phase(corev1.PodSucceeded).Obj())
	got, answered := <-answers
	require.True(t, answered, "a question waited for the sink")
	assert.Equal(t, answer{synced: true, held: false}, got)
}
