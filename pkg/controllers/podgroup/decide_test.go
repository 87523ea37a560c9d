package podgroup

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/internal/podgroups"
)

func TestDecide(t *testing.T) {
	const pending, succeeded, failed = corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed
	for name, tc := range map[string]struct {
		world     world
		wantLabel []string
		wantWhy   string
	}{
		"nothing says how many: those there are": {
			world:     worldOf(pod("a"), pod("b")),
			wantLabel: []string{"a", "b"},
		},
		"one does not run": {
			world:   worldOf(pod("a"), pod("b", phase(pending))),
			wantWhy: "1 of 2 pods run (size by existing pods)",
		},
		"one has succeeded": {
			world:     worldOf(pod("a"), pod("b", phase(succeeded))),
			wantLabel: []string{"a", "b"},
		},
		"those that have their label are left alone": {
			world:     worldOf(pod("a", labelled), pod("b")),
			wantLabel: []string{"b"},
		},
		"one that joined does not run yet": {
			world:   worldOf(pod("a", labelled), pod("b"), pod("c", phase(pending))),
			wantWhy: "2 of 3 pods run (size by existing pods)",
		},
		"fewer than the annotation says": {
			world:   worldOf(pod("a", sized("3")), pod("b")),
			wantWhy: "2 of 2 pods run, 1 more is missing (size by annotation podgroup.jhwagner.github.io/size)",
		},
		"as many as the annotation says": {
			world:     worldOf(pod("a", sized("2")), pod("b")),
			wantLabel: []string{"a", "b"},
		},
		"more than the annotation says, all of which run": {
			world:     worldOf(pod("a", sized("1")), pod("b")),
			wantLabel: []string{"a", "b"},
		},
		"more than the annotation says, of which one does not run": {
			world:   worldOf(pod("a", sized("1")), pod("b", phase(pending))),
			wantWhy: "1 of 2 pods run (size by annotation podgroup.jhwagner.github.io/size)",
		},
		"an annotation that is no size is left out of account": {
			world:     worldOf(pod("a", sized("many")), pod("b", sized("0")), pod("c", sized("-1")), pod("d", sized("99999999999"))),
			wantLabel: []string{"a", "b", "c", "d"},
		},
		"the annotation comes before a PodGroup": {
			world:     worldOf(pod("a", sized("1"), inCoscheduling("g"))).minimum(podgroups.Coscheduling, "g", 4),
			wantLabel: []string{"a"},
		},
		"Coscheduling's PodGroup comes before Kubernetes' own": {
			world: worldOf(pod("a", inCoscheduling("g"), inNative("g"))).
				minimum(podgroups.Coscheduling, "g", 2).minimum(podgroups.Native, "g", 1),
			wantWhy: "1 of 1 pods run, 1 more is missing (size by podgroups.scheduling.x-k8s.io)",
		},
		"a PodGroup comes before workloads": {
			world:     worldOf(pod("a", inNative("g"), ownedBy("job"))).minimum(podgroups.Native, "g", 1).workload("job", 2),
			wantLabel: []string{"a"},
		},
		"a PodGroup that asks for no number says nothing": {
			world:   worldOf(pod("a", inNative("g"), ownedBy("job"))).minimum(podgroups.Native, "g", 0).workload("job", 2),
			wantWhy: "1 of 1 pods run, 1 more is missing (size by Jobs, StatefulSets and ReplicaSets)",
		},
		"each PodGroup is counted by itself": {
			world: worldOf(pod("a", inNative("g")), pod("b", inNative("g")), pod("c", inNative("h"))).
				minimum(podgroups.Native, "g", 1).minimum(podgroups.Native, "h", 2),
			wantWhy: "3 of 3 pods run, 1 more is missing (size by podgroups.scheduling.k8s.io)",
		},
		"each workload is counted by itself": {
			world: worldOf(pod("a", ownedBy("one")), pod("b", ownedBy("one")), pod("c", ownedBy("two"))).
				workload("one", 1).workload("two", 2),
			wantWhy: "3 of 3 pods run, 1 more is missing (size by Jobs, StatefulSets and ReplicaSets)",
		},
		"a workload that has no pods yet": {
			world:   worldOf(pod("a", ownedBy("one"))).workload("one", 1).workload("two", 2),
			wantWhy: "1 of 1 pods run, 2 more are missing (size by Jobs, StatefulSets and ReplicaSets)",
		},
		"pods of no workload come on top": {
			world:     worldOf(pod("a", ownedBy("job")), pod("b", ownedBy("job")), pod("driver")).workload("job", 2),
			wantLabel: []string{"a", "b", "driver"},
		},
		"a Job that is complete wants no more pods, be they there or not": {
			world:     worldOf(pod("a", ownedBy("one"))).workload("one", 1).workload("two", 2, func(w *workload) { w.complete = true }),
			wantLabel: []string{"a"},
		},
		"pods that have succeeded count though they were removed": {
			world:     worldOf(pod("a", ownedBy("job"))).workload("job", 2, func(w *workload) { w.succeeded = 3 }),
			wantLabel: []string{"a"},
		},
		"of a CronJob's Jobs only the newest counts: one that failed before is not waited for": {
			world: worldOf(pod("a", ownedBy("new")), pod("b", ownedBy("old"), phase(failed))).
				workload("old", 4, nightly(1)).workload("new", 1, nightly(2)),
			wantLabel: []string{"a"},
		},
		"nor do its pods make up for those of the newest": {
			world: worldOf(pod("a", ownedBy("new"), sized("2")), pod("b", ownedBy("old"), phase(succeeded)), pod("c", ownedBy("old"), phase(succeeded))).
				workload("old", 2, nightly(1)).workload("new", 2, nightly(2)),
			wantWhy: "1 of 1 pods run, 1 more is missing (size by annotation podgroup.jhwagner.github.io/size)",
		},
		"a Job that failed is waited for": {
			world:   worldOf(pod("a", ownedBy("driver"))).workload("driver", 1, made(8)).workload("old", 2, made(1), ended(9)),
			wantWhy: "1 of 1 pods run, 2 more are missing (size by Jobs, StatefulSets and ReplicaSets)",
		},
		"a Job that failed does not count once another was created after it": {
			world: worldOf(pod("a", ownedBy("new")), pod("b", ownedBy("old"), phase(failed)), pod("c", ownedBy("old"), phase(succeeded))).
				workload("old", 2, made(1), ended(9)).workload("new", 1, made(9)),
			wantLabel: []string{"a"},
		},
		"nor do pods of a Job that completed before: they are of an earlier run": {
			world: worldOf(pod("a", ownedBy("new"), sized("2")), pod("b", ownedBy("old"), phase(succeeded)), pod("c", ownedBy("old"), phase(succeeded))).
				workload("old", 2, made(1), ended(9), complete).workload("new", 2, made(12)),
			wantWhy: "1 of 1 pods run, 1 more is missing (size by annotation podgroup.jhwagner.github.io/size)",
		},
		"of several earlier runs none counts": {
			world: worldOf(pod("a", ownedBy("new")), pod("b", ownedBy("second"), phase(failed)), pod("c", ownedBy("first"), phase(failed))).
				workload("first", 2, made(1), ended(3)).workload("second", 2, made(3), ended(5)).workload("new", 1, made(6)),
			wantLabel: []string{"a"},
		},
		"a Job that completed while another was there is of the same run": {
			world: worldOf(pod("a", ownedBy("long"), sized("2")), pod("b", ownedBy("short"), phase(succeeded))).
				workload("short", 1, made(1), ended(9), complete).workload("long", 1, made(8)),
			wantLabel: []string{"a", "b"},
		},
		"Jobs of one owner are of the same run, one after another": {
			world: worldOf(pod("a", ownedBy("workers"), sized("2")), pod("b", ownedBy("first"), phase(succeeded))).
				workload("first", 1, made(1), ended(5), complete, inRun("set")).workload("workers", 1, made(6), inRun("set")),
			wantLabel: []string{"a", "b"},
		},
		"and a run has not ended while one of its Jobs has not": {
			world: worldOf(pod("a", ownedBy("new"))).
				workload("first", 1, made(1), ended(5), complete, inRun("set")).workload("workers", 2, made(2), inRun("set")).workload("new", 1, made(9)),
			wantWhy: "1 of 1 pods run, 2 more are missing (size by Jobs, StatefulSets and ReplicaSets)",
		},
		"a JobSet has yet to create Jobs like one that is there": {
			world:   worldOf(pod("a", ownedBy("w-0"))).workload("w-0", 1, inSet(3, "workers", 3)).workload("w-1", 2, inSet(3, "workers", 3)).created(2),
			wantWhy: "1 of 1 pods run, 4 more are missing (size by Jobs, StatefulSets and ReplicaSets)",
		},
		"a JobSet has yet to create Jobs of which none is there": {
			world:   worldOf(pod("a", ownedBy("driver"))).workload("driver", 1, inSet(5, "driver", 1)).created(1),
			wantWhy: "1 of 1 pods run, 4 more are missing (size by Jobs, StatefulSets and ReplicaSets)",
		},
		"a JobSet whose other Jobs are in other groups": {
			world:     worldOf(pod("a", ownedBy("driver"))).workload("driver", 1, inSet(5, "driver", 1)).created(5),
			wantLabel: []string{"a"},
		},
		"a JobSet that has created its Jobs": {
			world: worldOf(pod("a", ownedBy("driver")), pod("b", ownedBy("w-0")), pod("c", ownedBy("w-0"))).
				workload("driver", 1, inSet(2, "driver", 1)).workload("w-0", 2, inSet(2, "workers", 1)).created(2),
			wantLabel: []string{"a", "b", "c"},
		},
		"a JobSet that does not say how many Jobs it has": {
			world:     worldOf(pod("a", ownedBy("driver"))).workload("driver", 1, inSet(0, "driver", 0)).created(1),
			wantLabel: []string{"a"},
		},
		"a JobSet that says it has more Jobs than can be": {
			world: worldOf(pod("a", ownedBy("w"))).
				workload("w", math.MaxInt32, inSet(math.MaxInt32, "workers", math.MaxInt32), complete).created(1),
			wantWhy: "1 of 1 pods run, 2147483647 more are missing (size by Jobs, StatefulSets and ReplicaSets)",
		},
		"a JobSet that completed by its driver, and deleted the Jobs that ran, is an earlier run": {
			world: worldOf(pod("a", ownedBy("new"))).
				workload("driver", 1, made(1), ended(5), complete, inSet(5, "driver", 1)).workload("new", 1, made(9)).created(1),
			wantLabel: []string{"a"},
		},
		"a JobSet that failed, and deleted the Jobs that ran, is an earlier run": {
			world: worldOf(pod("a", ownedBy("new"))).
				workload("driver", 1, made(1), ended(5), inSet(5, "driver", 1)).workload("new", 1, made(9)).created(1),
			wantLabel: []string{"a"},
		},
		"a JobSet of which a Job has not ended is none": {
			world: worldOf(pod("a", ownedBy("new"))).workload("first", 1, made(1), ended(5), complete, inSet(3, "first", 1)).
				workload("second", 1, made(2), inSet(3, "second", 1)).workload("new", 1, made(9)).created(2),
			wantWhy: "1 of 1 pods run, 2 more are missing (size by Jobs, StatefulSets and ReplicaSets)",
		},
		"workloads scaled to nothing say nothing": {
			world:   worldOf(pod("a"), pod("b", ownedBy("unknown"), phase(failed))).workload("old", 0),
			wantWhy: "1 of 2 pods run (size by existing pods)",
		},
		"one that failed is missed until its controller has replaced it": {
			world:   worldOf(pod("a", ownedBy("job")), pod("b", ownedBy("job"), phase(failed))).workload("job", 2),
			wantWhy: "1 of 1 pods run, 1 more is missing (size by Jobs, StatefulSets and ReplicaSets)",
		},
		"one that failed and was replaced": {
			world:     worldOf(pod("a", ownedBy("job")), pod("b", ownedBy("job"), phase(failed)), pod("c", ownedBy("job"))).workload("job", 2),
			wantLabel: []string{"a", "c"},
		},
		"one that failed and has no controller": {
			world:   worldOf(pod("a", sized("2")), pod("b", phase(failed)), pod("c")),
			wantWhy: "2 of 3 pods run (size by annotation podgroup.jhwagner.github.io/size)",
		},
		"one that failed, and nobody knows how many there should be": {
			world:   worldOf(pod("a"), pod("b", ownedBy("unknown"), phase(failed))),
			wantWhy: "1 of 2 pods run (size by existing pods)",
		},
		"the size is on a pod that failed": {
			world:   worldOf(pod("a", ownedBy("unknown"), phase(failed), sized("2")), pod("b")),
			wantWhy: "1 of 1 pods run, 1 more is missing (size by annotation podgroup.jhwagner.github.io/size)",
		},
		"all failed": {
			world:   worldOf(pod("a", ownedBy("job"), phase(failed))).workload("job", 1),
			wantWhy: "0 of 0 pods run, 1 more is missing (size by Jobs, StatefulSets and ReplicaSets)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(tc.world)
			assert.Equal(t, tc.wantLabel, names(d.label))
			assert.Equal(t, tc.wantWhy, d.why)
		})
	}
}

// A label is taken back if it was given for another group than the pod is in, and never otherwise.
func TestLabelsThatAreTakenBack(t *testing.T) {
	for name, tc := range map[string]struct {
		world      world
		wantRemove []string
		wantLabel  []string
	}{
		"a pod that was labelled in this group, whatever became of the others": {
			world: worldOf(pod("a", labelledFor("gang"), sized("4"))),
		},
		"a pod that failed since": {
			world: worldOf(pod("a", labelledFor("gang"), phase(corev1.PodFailed)), pod("b", labelledFor("gang"))),
		},
		"a pod that was labelled in another group, in one that is not ready": {
			world:      worldOf(pod("a", labelledFor("other"), sized("2"))),
			wantRemove: []string{"a"},
		},
		"a pod that was labelled in another group, in one that is ready: it is labelled anew when the label is gone": {
			world:      worldOf(pod("a", labelledFor("other")), pod("b")),
			wantRemove: []string{"a"}, wantLabel: []string{"b"},
		},
		"a pod that was labelled by somebody else": {
			world: worldOf(pod("a", labelled, sized("2"))),
		},
		"a pod of an earlier run": {
			world: worldOf(pod("a", labelledFor("other"), ownedBy("old"), phase(corev1.PodSucceeded)), pod("b", ownedBy("new"), labelled)).
				workload("old", 1, made(1), ended(2), complete).workload("new", 1, made(3)),
			wantRemove: []string{"a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(tc.world)
			assert.Equal(t, tc.wantRemove, names(d.remove))
			assert.Equal(t, tc.wantLabel, names(d.label))
		})
	}
}

func names(pods []*corev1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

func TestProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		world world
		want  []string // reason, and the pod that it is reported on
	}{
		"sources that agree": {
			world: worldOf(pod("a", sized("2"), ownedBy("job")), pod("b", ownedBy("job"))).workload("job", 2),
		},
		"a group that has its size, but not all that its Job makes": {
			world: worldOf(pod("a", sized("1"), ownedBy("job"))).workload("job", 2),
			want:  []string{EventSizeConflict + " a"},
		},
		"a group that waits for more than its Job makes": {
			world: worldOf(pod("a", sized("2"), ownedBy("job"))).workload("job", 1),
			want:  []string{EventSizeConflict + " a"},
		},
		"while pods do not run yet, the rest of the Jobs may be to come": {
			world: worldOf(pod("a", sized("2"), ownedBy("job"), phase(corev1.PodPending))).workload("job", 1),
		},
		"while nobody has the group complete, too": {
			world: worldOf(pod("a", sized("4"), ownedBy("job"))).workload("job", 2),
		},
		"a Job that is complete still has its size": {
			world: worldOf(pod("a", sized("1"), ownedBy("job"), phase(corev1.PodSucceeded))).
				workload("job", 1, func(w *workload) { w.complete = true }),
		},
		"annotations that are no sizes, each once": {
			world: worldOf(pod("a", sized("x")), pod("b", sized("x")), pod("c", sized("0"))),
			want:  []string{EventInvalidSize + " a", EventInvalidSize + " c"},
		},
		"annotations that disagree, each once": {
			world: worldOf(pod("a", sized("3")), pod("b", sized("4")), pod("c", sized("4")), pod("d", sized("5"))),
			want:  []string{EventSizeConflict + " b", EventSizeConflict + " d"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range decide(tc.world).problems {
				assert.NotEmpty(t, p.note())
				if p.unconfirmed {
					continue
				}
				got = append(got, p.reason+" "+p.pod.Name)
			}
			assert.Equal(t, tc.want, got)
		})
	}
}
