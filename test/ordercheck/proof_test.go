package ordercheck

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// hashOf stands for the hash that the controller records of the groups up to one.
func hashOf(group int) string { return fmt.Sprintf("hash%d", group) }

// recordedHashes writes what the controller records of every group, passed or not.
func recordedHashes(s *v1alpha1.PodSequence) {
	s.Status.ObservedGeneration = s.Generation
	s.Status.Groups = make([]v1alpha1.GroupStatus, len(s.Spec.PodGroups))
	for i := range s.Status.Groups {
		s.Status.Groups[i].Hash = hashOf(i)
	}
}

// provenBy leaves the proof on a pod that a sequence released it in a group.
func provenBy(sequence string, group int, pod string) step {
	return func(s *story) {
		mark := string(s.sequences[sequence].UID) + "/" + hashOf(group)
		edit(pod, annotated(string(s.pods[pod].UID)+" another/"+hashOf(0)+" "+mark))(s)
	}
}

func annotated(proof string) podEdit {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{v1alpha1.ReleasedAnnotation: proof} }
}

func TestJudgeTakesOnlyAReleaseInOrderForProof(t *testing.T) {
	tiers := order("tiers", tier("db"), tier("app"))
	db := create("db", labelled("tier", "db"))
	app := create("app", labelled("tier", "app"))
	second := several(create("app-2", labelled("tier", "app"), gated), release("app-2"), bind("app-2"))
	const late = 3 * time.Second
	checkAll(t, map[string]judgement{
		"a pod bound before its sequence exists proves nothing": {
			steps:     []step{db, app, bind("app"), tiers, bind("db"), second, passing(late), ready("db")},
			wantEarly: []string{"shop/app-2"}, wantBindings: 2,
		},
		"nor does one that carries a proof, of which the referee saw the binding": {
			steps: []step{db, app, bind("app"), tiers, report("tiers", recordedHashes), provenBy("tiers", 1, "app"),
				bind("db"), second, passing(late), ready("db")},
			wantEarly: []string{"shop/app-2"}, wantBindings: 2,
		},
		"a pod created with a node proves nothing": {
			steps:     []step{create("app", labelled("tier", "app"), onNode), tiers, db, bind("db"), second},
			wantEarly: []string{"shop/app-2"}, wantBindings: 2,
		},
		"a pod that races with its sequence proves nothing": {
			steps:     []step{app, tiers, bind("app"), passing(late), second},
			wantEarly: []string{"shop/app-2"}, wantBindings: 2, wantExcused: 1,
		},
		"a bound pod that is relabelled into a later group proves nothing": {
			steps: []step{tiers, db, bind("db"), create("other", labelled("tier", "db")), bind("other"),
				edit("other", labelled("tier", "app")), second},
			wantEarly: []string{"shop/app-2"}, wantBindings: 3,
		},
		"a bound pod does not show that a suspended sequence has released its group": {
			steps: []step{app, bind("app"), order("tiers", suspended, tier("app")), create("app-2", labelled("tier", "app")),
				passing(late), bind("app-2")},
			wantEarly: []string{"shop/app-2"}, wantBindings: 1,
		},
		"what was passed is passed again when an edit is taken back": {
			steps: []step{tiers, db, ready("db"), app, bind("app"), reorder("tiers", tier("cache"), tier("app")), passing(late),
				unready("db"), reorder("tiers", tier("db"), tier("app")), second},
			wantBindings: 2,
		},
		"so is what was passed while the edit was racing with it": {
			steps: []step{tiers, db, app, passing(late), reorder("tiers", tier("cache"), tier("app")), ready("db"), bind("app"),
				unready("db"), reorder("tiers", tier("db"), tier("app")), second},
			wantBindings: 2, wantExcused: 1,
		},
		"nor is what would have been passed long after the edit": {
			steps: []step{tiers, db, app, reorder("tiers", tier("cache"), tier("app")), passing(late), ready("db"), passing(late), unready("db"),
				reorder("tiers", tier("db"), tier("app")), second},
			wantEarly: []string{"shop/app-2"}, wantBindings: 1,
		},
		"what was never passed is not when an edit is taken back": {
			steps: []step{tiers, db, reorder("tiers", tier("cache"), tier("app")), create("cache", labelled("tier", "cache")),
				ready("cache"), app, bind("app"), passing(late), reorder("tiers", tier("db"), tier("app")), second},
			wantEarly: []string{"shop/app-2"}, wantBindings: 2,
		},
	})
}

func TestJudgeBelievesTheProofOnPodsBoundBeforeTheWatch(t *testing.T) {
	recorded := several(order("tiers", named("db"), tier("app"), named("web")), report("tiers", recordedHashes))
	app := create("app", labelled("tier", "app"), onNode)
	second := several(create("app-2", labelled("tier", "app")), bind("app-2"))
	tests := map[string]struct {
		steps       []step
		wantEarly   bool
		wantAssumed int
	}{
		"a pod with the proof of its sequence and group": {
			steps: []step{recorded, app, provenBy("tiers", 1, "app"), watchBegins, second}, wantAssumed: 1,
		},
		"a pod that has left the group it was released in": {
			steps: []step{recorded, app, provenBy("tiers", 1, "app"), edit("app", labelled()), watchBegins, second}, wantAssumed: 1,
		},
		"a pod with the proof of a later group": {
			steps:       []step{recorded, create("web", onNode), provenBy("tiers", 2, "web"), watchBegins, second},
			wantAssumed: 2,
		},
		"a pod without": {steps: []step{recorded, app, watchBegins, second}, wantEarly: true},
		"a pod with the proof of a sequence that was deleted": {
			steps: []step{recorded, app, provenBy("tiers", 1, "app"), disband("tiers"), recorded, watchBegins, second}, wantEarly: true,
		},
		"a pod with the proof of groups that are defined in another way now": {
			steps: []step{recorded, app, provenBy("tiers", 1, "app"), report("tiers", func(s *v1alpha1.PodSequence) {
				s.Status.Groups[1].Hash = "other"
			}), watchBegins, second}, wantEarly: true,
		},
		"a pod with a proof that status, which is of an older spec, cannot confirm": {
			steps: []step{recorded, app, provenBy("tiers", 1, "app"),
				reorder("tiers", named("cache"), tier("app"), named("web")), watchBegins, second},
			wantEarly: true,
		},
		"a copy of a pod with the proof": {
			steps: []step{recorded, app, provenBy("tiers", 1, "app"), func(s *story) {
				proof := s.pods["app"].Annotations[v1alpha1.ReleasedAnnotation]
				remove("app")(s)
				create("app", labelled("tier", "app"), onNode, annotated(proof))(s)
			}, watchBegins, second}, wantEarly: true,
		},
		"a pod that is not bound": {
			steps: []step{recorded, create("app", labelled("tier", "app")), provenBy("tiers", 1, "app"), watchBegins, second}, wantEarly: true,
		},
		"a pod that was bound after the watch began": {
			steps: []step{recorded, watchBegins, create("app", labelled("tier", "app"), scheduledBy("default-scheduler")),
				provenBy("tiers", 1, "app"), bind("app"), second}, wantEarly: true,
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			verdict := Judge(tell(test.steps...), JudgeOptions{})
			if got := len(verdict.Violations) > 0; got != test.wantEarly {
				t.Errorf("violations: got %v, want %v: %s", got, test.wantEarly, verdict)
			}
			if verdict.AssumedPasses != test.wantAssumed {
				t.Errorf("assumed passes: got %d, want %d", verdict.AssumedPasses, test.wantAssumed)
			}
		})
	}
}

func TestJudgeBelievesWhatASuspendedSequenceReleasedBeforeTheWatch(t *testing.T) {
	halted := several(order("s", suspended, perNode, tier("csi"), named("app", "app-2")), report("s", recordedHashes))
	checkAll(t, map[string]judgement{
		"on a node with a pod that proves it": {
			steps: []step{node("node-1"), halted, create("csi", labelled("tier", "csi"), onNode), ready("csi"),
				create("app", onNode), provenBy("s", 1, "app"), watchBegins, passing(4 * time.Second), create("app-2"), bind("app-2")},
			wantBindings: 1,
		},
		"not on a node with a pod that does not": {
			steps: []step{node("node-1"), halted, create("csi", labelled("tier", "csi"), onNode), ready("csi"),
				create("app", onNode), watchBegins, passing(4 * time.Second), create("app-2"), bind("app-2")},
			wantEarly: []string{"shop/app-2"}, wantBindings: 1,
		},
	})
}

func TestAProofNamesThePodItIsOn(t *testing.T) {
	for annotation, want := range map[string]string{
		"":            "",
		"app":         "",
		"app s/1":     "s/1",
		"app s/1 z/2": "s/1 z/2",
		"other s/1":   "",
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "app"}}
		annotated(annotation)(pod)
		if got := strings.Join(factsOfPod(pod).(*podFacts).proof, " "); got != want {
			t.Errorf("proof of %q: got %q, want %q", annotation, got, want)
		}
	}
}
