package ordercheck

import (
	"math"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readySince makes a pod ready as of a time after the story began; the API server writes it now.
func readySince(name string, after time.Duration) step {
	return edit(name, func(p *corev1.Pod) {
		setCondition(p, corev1.PodReady, corev1.ConditionTrue, metav1.NewTime(storyBegin.Add(after)))
	})
}

func completedAt(after time.Duration) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		completeJob(j)
		j.Status.CompletionTime = &metav1.Time{Time: storyBegin.Add(after)}
	}
}

func TestJudgeSeesABreakByItsEnd(t *testing.T) {
	waits := order("s", tier("db", waiting("10s")), named("app"))
	quorum := order("s", tier("db", enoughOf("1"), waiting("10s")), named("app"))
	db := func(name string) step { return create(name, labelled("tier", "db")) }
	dbIsReady := several(db("db"), ready("db"), create("app"))
	checkAll(t, map[string]judgement{
		"a pod that turned ready again begins the wait again": {
			steps:     []step{waits, dbIsReady, passing(8 * time.Second), ready("db"), passing(4 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod that turned ready again by a clock that is behind counts since when it says": {
			steps: []step{waits, dbIsReady, passing(5 * time.Second), unready("db"), passing(4 * time.Second), readySince("db", 0),
				passing(3 * time.Second), bind("app")},
			wantBindings: 1,
		},
		"it may be bound when that wait is over": {
			steps:        []step{waits, dbIsReady, passing(8 * time.Second), ready("db"), passing(11 * time.Second), bind("app")},
			wantBindings: 1,
		},
		"a pod that was replaced by a ready one begins the wait again": {
			steps: []step{waits, dbIsReady, passing(8 * time.Second), create("db", labelled("tier", "db"), isNow(corev1.ConditionTrue)),
				passing(4 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a named pod that turned ready again does, also if an earlier group has it": {
			steps: []step{order("s", tier("db"), group(namedAndWaiting("10s", "db")), named("app")), dbIsReady,
				passing(8 * time.Second), ready("db"), passing(4 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod that turns ready again while others are enough does not": {
			steps: []step{quorum, dbIsReady, db("db-2"), ready("db-2"), passing(8 * time.Second), ready("db"),
				passing(3 * time.Second), bind("app")},
			wantBindings: 1,
		},
		"a pod that completes does not": {
			steps:        []step{waits, dbIsReady, passing(8 * time.Second), edit("db", succeeded), passing(3 * time.Second), bind("app")},
			wantBindings: 1,
		},
		"the wait begins again when the pod says, not when it is heard of": {
			steps:        []step{waits, dbIsReady, passing(8 * time.Second), readySince("db", 3*time.Second), passing(6 * time.Second), bind("app")},
			wantBindings: 1,
		},
		"a break before the mode became continuous counts": {
			steps: []step{waits, dbIsReady, passing(11 * time.Second), unready("db"), passing(4 * time.Second), ready("db"),
				reorder("s", continuously, tier("db", waiting("10s")), named("app")), create("app"), passing(4 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
	})
}

func TestJudgeDatesAWaitFromWhatCompletedTheGroup(t *testing.T) {
	waits := order("s", tier("db", waiting("10s")), named("app"))
	app := several(create("app"), passing(3*time.Second), bind("app"))
	later := several(create("app"), passing(11*time.Second), bind("app"))
	oneOfTwo := several(waits, deployment("db", "db", 2), replicaSet("db-1", "db", "db", "v1", 2),
		create("b", labelled("tier", "db"), of("db-1")), create("a", labelled("tier", "db"), of("db-1")), ready("a"), passing(9*time.Second))
	stuckRollout := several(waits, deployment("db", "db", 1, imageOfDeployment("v2")), replicaSet("db-1", "db", "db", "v1", 1),
		replicaSet("db-2", "db", "db", "v2", 1), create("a", labelled("tier", "db"), of("db-1")), ready("a"),
		create("b", labelled("tier", "db"), of("db-2")), passing(9*time.Second))
	beside := several(waits, create("a", labelled("tier", "db")), ready("a"), create("b", labelled("tier", "db")), passing(9*time.Second))
	driver := func(steps ...step) step {
		return several(append([]step{node("node-1"), order("s", perNode, tier("csi", on("disk", "ssd"), waiting("10s")), named("app")),
			daemonSet("csi", "csi", 1), create("csi-1", labelled("tier", "csi"), of("csi"), at("node-1"))}, steps...)...)
	}
	checkAll(t, map[string]judgement{
		"a scale-down": {
			steps: []step{oneOfTwo, deployment("db", "db", 1), app}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"when the wait after a scale-down is over": {
			steps: []step{oneOfTwo, deployment("db", "db", 1), later}, wantBindings: 1,
		},
		"a scale-down after which another pod changes": {
			steps:     []step{oneOfTwo, deployment("db", "db", 1), edit("b", labelled("tier", "db", "x", "y")), app},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a rollback": {
			steps:     []step{stuckRollout, deployment("db", "db", 1), app},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"an unready pod that is relabelled": {
			steps: []step{beside, edit("b", labelled()), app}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"an unready pod that is deleted": {
			steps: []step{beside, remove("b"), app}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"an old ready pod that joins a quorum late": {
			steps: []step{order("s", tier("db", enoughOf("1"), waiting("10s")), named("app")), create("a"), ready("a"), create("app"),
				create("b", labelled("tier", "db")), passing(8 * time.Second), ready("b"), edit("a", labelled("tier", "db")),
				passing(4 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"the last pod that is needed, though another workload has more than it needs": {
			steps: []step{waits, ownReplicaSet("a", "db", 1), ownReplicaSet("b", "db", 1),
				create("a-1", labelled("tier", "db"), of("a")), ready("a-1"), create("a-2", labelled("tier", "db"), of("a")), ready("a-2"),
				create("b-1", labelled("tier", "db"), of("b")), passing(9 * time.Second), ready("b-1"), app},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"the last to turn ready, and not the last that is heard of": {
			steps: []step{beside, ready("a"), readySince("b", 0), app}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"the completion of a Job, when it is heard of late": {
			steps:        []step{waits, job("db", "db", 1, 1), passing(9 * time.Second), job("db", "db", 1, 1, completedAt(time.Second)), app},
			wantBindings: 1,
		},
		"the completion of a Job, however many pods somebody writes that it runs": {
			steps: []step{waits, job("db", "db", math.MaxInt32, math.MaxInt32), passing(9 * time.Second),
				job("db", "db", math.MaxInt32, math.MaxInt32, completedAt(time.Second)), app},
			wantBindings: 1,
		},
		"the creation of the sequence, for what asks for no pods": {
			steps: []step{order("s", tier("db", enoughOf("0"), waiting("10s")), named("app")), passing(9 * time.Second),
				create("app"), watchBegins, passing(3 * time.Second), bind("app")},
			wantBindings: 1,
		},
		"on a node, the deletion of a DaemonSet that was stuck": {
			steps: []step{driver(node("node-1", "disk", "ssd"), daemonSet("stuck", "csi", 1), ready("csi-1"), passing(9*time.Second),
				daemonSet("stuck", "csi", 1, leaving)), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"on a node that the group comes to apply to, the Ready time of its pods": {
			steps: []step{driver(ready("csi-1"), passing(11*time.Second), node("node-1", "disk", "ssd")), app}, wantBindings: 2,
		},
	})
}
