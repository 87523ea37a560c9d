package ordercheck

import (
	"fmt"
	"testing"
	"time"

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

func TestJudgeTakesNoBoundPodForProof(t *testing.T) {
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
