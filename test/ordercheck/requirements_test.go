package ordercheck

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestJudgeFindsPodsBoundWithoutTheSequenceThatTheirLabelNames(t *testing.T) {
	const late = 3 * time.Second
	app := create("app", naming("s"))
	s := order("s", named("db"), named("app"))
	elsewhere := create("app", naming("s"), scheduledBy("default-scheduler"), gated)
	checkAll(t, map[string]judgement{
		"a pod bound before its sequence exists is early": {
			steps: []step{installed, app, bind("app"), s}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod bound after its sequence exists and asks for nothing is fine": {
			steps: []step{installed, app, order("s", named("app")), bind("app")}, wantBindings: 1,
		},
		"a pod that no group has is fine when its sequence exists": {
			steps: []step{installed, app, order("s", named("db")), bind("app")},
		},
		"a pod waits for its turn when its sequence exists": {
			steps: []step{installed, app, s, passing(late), bind("app")}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod without the label needs no sequence": {
			steps: []step{installed, create("app"), bind("app")},
		},
		"a label without a value names nothing": {
			steps: []step{installed, create("app", naming("")), bind("app")},
		},
		"a sequence of another name does not do": {
			steps: []step{installed, app, order("other", named("app")), bind("app")}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a sequence of another namespace does not do": {
			steps:     []step{installed, app, inside("far", order("s", named("app"))), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a ClusterPodSequence does not do": {
			steps: []step{installed, app, across("s", in(named("app"), "shop")), bind("app")}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a sequence that points elsewhere does": {
			steps: []step{installed, app, order("s", targeting("other"), named("app")), bind("app")},
		},
		"a sequence of before the watch does": {
			steps: []step{installed, order("s", named("db")), app, watchBegins, bind("app")},
		},
		"a sequence that was missing before the watch does not": {
			steps: []step{installed, app, watchBegins, bind("app")}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"where the kind is not installed the label holds nothing": {
			steps: []step{app, bind("app")},
		},
		"nor while the kind is being removed": {
			steps: []step{installed, s, disband("s"), uninstalling, app, bind("app")},
		},
		"nor when it is gone": {
			steps: []step{installed, s, disband("s"), uninstalled, app, bind("app")},
		},
		"nor before it is established": {
			steps: []step{defined, app, bind("app")},
		},
		"where it is installed again the label holds again": {
			steps: []step{installed, uninstalled, app, installed, passing(late), bind("app")}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod older than the installation may be on its way": {
			steps: []step{app, installed, bind("app")}, wantBindings: 1, wantExcused: 1,
		},
		"another kind is none of ours": {
			steps: []step{definedAs("widgets.example.com", true), app, bind("app")},
		},
		"a sequence that is deleted before the pod exists is missing": {
			steps: []step{installed, order("s", named("app")), disband("s"), app, bind("app")}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod that is older than the deletion may be on its way": {
			steps: []step{installed, order("s", named("app")), app, disband("s"), bind("app")}, wantBindings: 1, wantExcused: 1,
		},
		"but not for long": {
			steps:     []step{installed, order("s", named("app")), app, disband("s"), passing(late), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"unless the scheduler was stopped": {
			steps: []step{installed, order("s", named("app")), app, schedulerStops, disband("s"), passing(late), schedulerGoesOn,
				bind("app")},
			wantBindings: 1, wantExcused: 1,
		},
		"a sequence that is created again does": {
			steps:        []step{installed, order("s", named("app")), disband("s"), app, order("s", named("app")), bind("app")},
			wantBindings: 1,
		},
		"the deletion of an older sequence of the name does not count": {
			steps: []step{installed, order("s", named("app")), recreatedLate("s"), app, passing(late), bind("app")}, wantBindings: 1,
		},
		"a label that comes late may find the pod on its way": {
			steps: []step{installed, create("app"), edit("app", naming("s")), bind("app")}, wantBindings: 1, wantExcused: 1,
		},
		"a label that another change of labels follows has been there": {
			steps:     []step{installed, app, passing(late), edit("app", alsoLabelled("x", "y")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a label that is taken off holds no more": {
			steps: []step{installed, app, edit("app", labelled()), bind("app")},
		},
		"a pod created with a node was scheduled by nobody": {
			steps: []step{installed, create("app", naming("s"), onNode)},
		},
		"a pod of another scheduler without our gate cannot be held": {
			steps: []step{installed, create("app", naming("s"), scheduledBy("default-scheduler")), bind("app")},
		},
		"a pod of another scheduler that lost our gate before the sequence exists is early": {
			steps:     []step{installed, elsewhere, release("app"), order("s", named("app")), passing(late), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"and fine if it lost that afterwards": {
			steps: []step{installed, elsewhere, order("s", named("app")), release("app"), bind("app")}, wantBindings: 1,
		},
		"and fine if no group has it": {
			steps: []step{installed, elsewhere, order("s", named("db")), release("app"), bind("app")},
		},
		"and fine if the sequence is deleted after the release": {
			steps: []step{installed, elsewhere, order("s", named("app")), release("app"), disband("s"), passing(late), bind("app")},
		},
		"and fine if it is deleted in the moment of the release": {
			steps: []step{installed, elsewhere, order("s", named("app")), disband("s"), release("app"), passing(late), bind("app")},
		},
		"and early if it was released long after the deletion": {
			steps:     []step{installed, elsewhere, order("s", named("app")), disband("s"), passing(late), release("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"and fine if it loses gate and label at once": {
			steps: []step{installed, elsewhere, edit("app", labelled(), ungated), bind("app")},
		},
		"and fine if it loses the label afterwards": {
			steps: []step{installed, elsewhere, release("app"), edit("app", labelled()), bind("app")},
		},
		"and fine without a binding": {
			steps: []step{installed, elsewhere, release("app")},
		},
		"the gate of somebody else is none of ours": {
			steps: []step{installed, create("app", naming("s"), scheduledBy("default-scheduler"), gatedBy("example.com/theirs")),
				release("app"), bind("app")},
		},
		"a pod that keeps another gate of ours is not released": {
			steps: []step{installed, create("app", naming("s"), scheduledBy("default-scheduler"), gated, gatedBy("podsequence.example.com/own")),
				edit("app", ungated, gatedBy("podsequence.example.com/own")), order("s", named("app")), release("app"), bind("app")},
		},
		"a pod of our scheduler that lost its gate before the sequence exists is early, too": {
			steps:     []step{installed, create("app", naming("s"), gated), release("app"), order("s", named("app")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"our own programs wait for nobody": {
			steps: []step{installed, inside("podsequence-system",
				create("us", labelled("app.kubernetes.io/name", "podsequence", v1alpha1.SequenceLabel, "s")), bind("us"))},
		},
		"what has their label elsewhere does": {
			steps:     []step{installed, create("us", labelled("app.kubernetes.io/name", "podsequence", v1alpha1.SequenceLabel, "s")), bind("us")},
			wantEarly: []string{"shop/us"}, wantBindings: 1,
		},
		"another namespace is left out when one is asked for": {
			steps: []step{installed, inside("far", app, bind("app"))}, options: JudgeOptions{Namespace: testNamespace},
		},
		"the namespace asked for is not": {
			steps: []step{installed, app, bind("app")}, options: JudgeOptions{Namespace: testNamespace},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
	})
}

func TestJudgeFindsPodsBoundWithoutTheSequenceThatTheirNamespaceRequires(t *testing.T) {
	const late = 3 * time.Second
	app := create("app", labelled("tier", "app"))
	requires := requiring("shop", v1alpha1.RequireSequence)
	checkAll(t, map[string]judgement{
		"a pod bound before any sequence has it is early": {
			steps: []step{installed, requires, app, bind("app")}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a sequence that has it does": {
			steps: []step{installed, requires, app, order("s", named("app")), bind("app")}, wantBindings: 1,
		},
		"a dry run does": {
			steps: []step{installed, requires, app, order("s", dryRunning, named("db"), named("app")), bind("app")},
		},
		"a ClusterPodSequence does": {
			steps: []step{installed, requires, app, across("s", in(named("app"), "shop")), bind("app")}, wantBindings: 1,
		},
		"a sequence of another namespace does with consent": {
			steps: []step{installed, requiring("shop", "true", v1alpha1.AllowSequencesFromAnnotation, "ops"), app,
				order("s", livingIn("ops"), named("app")), bind("app")},
			wantBindings: 1,
		},
		"and does not without": {
			steps:     []step{installed, requires, app, order("s", livingIn("ops"), named("app")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a sequence that does not have it does not": {
			steps: []step{installed, requires, app, order("s", named("db")), bind("app")}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod waits for its turn as well": {
			steps:     []step{installed, requires, app, order("s", named("db"), named("app")), passing(late), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"any other value requires nothing": {
			steps: []step{installed, requiring("shop", "yes"), app, bind("app")},
		},
		"nor does another namespace": {
			steps: []step{installed, requiring("far", "true"), app, bind("app")},
		},
		"nor one whose annotation is gone": {
			steps: []step{installed, requires, requiring("shop", ""), app, bind("app")},
		},
		"nor one that is gone": {
			steps: []step{installed, requires, abolish("shop"), app, bind("app")},
		},
		"where the kind is not installed nothing is required": {
			steps: []step{requires, app, bind("app")},
		},
		"a pod older than the annotation may be on its way": {
			steps: []step{installed, app, requires, bind("app")}, wantBindings: 1, wantExcused: 1,
		},
		"but not for long": {
			steps: []step{installed, app, requires, passing(late), bind("app")}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a change of labels does not renew the annotation": {
			steps:     []step{installed, requires, app, passing(late), requiring("shop", "true", "x", "y"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"an annotation of before the watch counts": {
			steps: []step{installed, requires, watchBegins, app, bind("app")}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a sequence deleted before the pod exists is missing": {
			steps:     []step{installed, requires, order("s", named("app")), disband("s"), app, bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a sequence deleted a moment ago may not be missed yet": {
			steps:        []step{installed, requires, order("s", named("app")), app, disband("s"), bind("app")},
			wantBindings: 1, wantExcused: 1,
		},
		"one deleted long ago is": {
			steps:     []step{installed, requires, order("s", named("app")), app, disband("s"), passing(late), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"an edit that drops the pod counts as a deletion": {
			steps:        []step{installed, requires, order("s", named("app")), app, reorder("s", named("db")), bind("app")},
			wantBindings: 1, wantExcused: 1,
		},
		"and not for ever": {
			steps:     []step{installed, requires, order("s", named("app")), app, reorder("s", named("db")), passing(late), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"an edit of a sequence that never had the pod excuses nothing": {
			steps:     []step{installed, requires, order("s", named("db")), app, reorder("s", named("db-2")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"consent withdrawn a moment ago may not be known yet": {
			steps: []step{installed, requiring("shop", "true", v1alpha1.AllowSequencesFromAnnotation, "ops"), app,
				order("s", livingIn("ops"), named("app")), requires, bind("app")},
			wantBindings: 1, wantExcused: 1,
		},
		"a pod whose labels change a moment ago may be on its way": {
			steps:        []step{installed, requires, order("s", withLabel("tier", "app")), app, edit("app", labelled()), bind("app")},
			wantBindings: 1, wantExcused: 1,
		},
		"labels that the API server adds with the node are no such change": {
			steps:     []step{installed, requires, app, edit("app", alsoLabelled("topology.kubernetes.io/zone", "a"), onNode)},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod of another scheduler cannot be held": {
			steps: []step{installed, requires, create("app", scheduledBy("default-scheduler")), bind("app")},
		},
		"our own programs wait for nobody": {
			steps: []step{installed, requiring("podsequence-system", "true"), inside("podsequence-system",
				create("us", labelled("app.kubernetes.io/name", "podsequence")), bind("us"))},
		},
		"other pods in their namespace do": {
			steps:     []step{installed, requiring("podsequence-system", "true"), inside("podsequence-system", create("app"), bind("app"))},
			wantEarly: []string{"podsequence-system/app"}, wantBindings: 1,
		},
	})
}

func TestViolationSaysWhichSequenceWasRequired(t *testing.T) {
	app := create("app", naming("s"))
	for name, test := range map[string]struct {
		steps          []step
		want           string
		kind, sequence string
	}{
		"that never existed": {
			steps: []step{installed, app, bind("app")}, kind: "PodSequence", sequence: "shop/s",
			want: "pod shop/app was bound to node node-1 at 03:04:05.030 (resource version 3), " +
				"but its label names PodSequence shop/s, which had never existed",
		},
		"that is gone": {
			steps: []step{installed, order("s", named("app")), disband("s"), app, bind("app")}, kind: "PodSequence", sequence: "shop/s",
			want: "pod shop/app was bound to node node-1 at 03:04:05.050 (resource version 5), " +
				"but its label names PodSequence shop/s, which was gone since resource version 3",
		},
		"when its gate was lifted": {
			steps: []step{installed, create("app", naming("s"), gated, scheduledBy("default-scheduler")), release("app"),
				order("s", named("app")), bind("app")},
			kind: "PodSequence", sequence: "shop/s",
			want: "pod shop/app was bound to node node-1 at 03:04:05.050 (resource version 5), but it lost its gate at resource version 3, " +
				"when its label names PodSequence shop/s, which had never existed",
		},
		"by the namespace": {
			steps: []step{installed, requiring("shop", "true"), create("app"), bind("app")}, kind: "Namespace", sequence: "shop",
			want: "pod shop/app was bound to node node-1 at 03:04:05.040 (resource version 4), " +
				"but its namespace requires a sequence, and none had it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			verdict := Judge(tell(test.steps...), JudgeOptions{})
			require.Len(t, verdict.Violations, 1)
			assert.Equal(t, test.want, verdict.Violations[0].String())
			assert.Equal(t, test.kind, verdict.Violations[0].Kind)
			assert.Equal(t, test.sequence, verdict.Violations[0].Sequence)
		})
	}
}

// The steps of the definition of PodSequence.
var (
	defined      = definedAs("podsequences.scheduling.example.com", false)
	installed    = definedAs("podsequences.scheduling.example.com", true)
	uninstalling = func(s *story) {
		object := definitionOf("podsequences.scheduling.example.com", true)
		object.SetDeletionTimestamp(&metav1.Time{Time: storyBegin})
		s.changed(readDefinition(object), false)
	}
	uninstalled = func(s *story) {
		s.changed(readDefinition(definitionOf("podsequences.scheduling.example.com", true)), true)
	}
)

func definedAs(name string, established bool) step {
	return func(s *story) { s.changed(readDefinition(definitionOf(name, established)), false) }
}

func definitionOf(name string, established bool) *unstructured.Unstructured {
	status := "False"
	if established {
		status = "True"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "NamesAccepted", "status": "True"}, map[string]any{"type": "Established", "status": status},
		}},
	}}
}

func naming(sequence string) podEdit { return alsoLabelled(v1alpha1.SequenceLabel, sequence) }

func alsoLabelled(key, value string) podEdit {
	return func(p *corev1.Pod) { metav1.SetMetaDataLabel(&p.ObjectMeta, key, value) }
}

func ungated(p *corev1.Pod) { p.Spec.SchedulingGates = nil }

// recreatedLate deletes a sequence and creates it again, as if the event of the deletion came late.
func recreatedLate(name string) step {
	return func(s *story) {
		before := s.sequences[name]
		order(name, named("app"))(s)
		s.sequenceChanged(before, true)
	}
}

// requiring makes a namespace require sequences, and gives it other annotations.
func requiring(namespace, value string, annotations ...string) step {
	return func(s *story) {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: namespace, Annotations: map[string]string{v1alpha1.RequireSequenceAnnotation: value},
		}}
		for i := 0; i < len(annotations); i += 2 {
			object.Annotations[annotations[i]] = annotations[i+1]
		}
		s.changed(factsOfNamespace(object), false)
	}
}

// namespaceThat gives a namespace labels, and makes it require sequences or not.
func namespaceThat(name string, requires bool, keysAndValues ...string) step {
	return func(s *story) {
		namespaceWith(name, keysAndValues...)(s)
		if requires {
			s.events[len(s.events)-1].home.required = true
		}
	}
}
