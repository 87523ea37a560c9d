package ordercheck

import (
	"testing"
	"time"
)

func TestJudgeLooksAtTheLiftedGateOfAnotherSchedulersPod(t *testing.T) {
	const late = 4 * time.Second
	tiers := order("s", continuously, named("db"), named("app", "app-2"))
	db := several(create("db"), ready("db"))
	app := create("app", scheduledBy("default-scheduler"), gated)
	checkAll(t, map[string]judgement{
		"a pod released in order may be bound when the group before is not ready any more": {
			steps: []step{tiers, db, app, release("app"), unready("db"), passing(late), bind("app")}, wantBindings: 1,
		},
		"a pod released in order may be bound during a suspension": {
			steps: []step{tiers, db, app, release("app"), passing(late), reorder("s", suspended, named("db", "x"), named("app")),
				passing(late), bind("app")},
			wantBindings: 1,
		},
		"a pod released in order may be bound after an edit that would hold it": {
			steps:        []step{tiers, db, app, release("app"), reorder("s", named("x"), named("app")), passing(late), bind("app")},
			wantBindings: 1,
		},
		"a pod released out of order may not": {
			steps:     []step{tiers, app, release("app"), passing(late), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod released before the sequence exists is beyond holding": {
			steps: []step{app, release("app"), tiers, passing(late), bind("app")},
		},
		"a pod released by one sequence may be held by another of that gate": {
			steps:     []step{tiers, order("other", named("x"), named("app")), db, app, release("app"), passing(late), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod made again under its name is another": {
			steps: []step{tiers, db, app, release("app"), remove("app"), unready("db"), passing(late),
				create("app", scheduledBy("default-scheduler"), gated), release("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod of our scheduler is still held without its gate": {
			steps:     []step{tiers, db, create("app", gated), release("app"), unready("db"), passing(late), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
	})
}
