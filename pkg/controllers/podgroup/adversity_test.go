package podgroup

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"example.com/podsequence/internal/podgroups"
)

// TestAdversity plays what happens to a gang in production.
func TestAdversity(t *testing.T) {
	native := podgroups.Reference{Kind: podgroups.Native, NamespacedName: types.NamespacedName{Namespace: "train", Name: "g"}}
	ofJob := func(name string, edits ...podEdit) *corev1.Pod {
		return pod(name, append([]podEdit{ownedBy("1")}, edits...)...)
	}
	ofSet := func(name string, edits ...podEdit) *corev1.Pod {
		return pod(name, append([]podEdit{inReplicaSet("1")}, edits...)...)
	}
	for name, tc := range map[string]struct {
		objects []client.Object
		happens func(s *stage)
	}{
		"a pod is evicted and replaced while half of the gang runs": {
			objects: []client.Object{makes(job("1", 4)), ofJob("a"), ofJob("b"), ofJob("c", phase(pending)), ofJob("d", phase(pending))},
			happens: func(s *stage) {
				s.expect("")
				s.set("b", phase(failed))
				s.runs("c", "d")
				s.expect("")
				s.put(ofJob("b-again", phase(pending)))
				s.expect("")
				s.runs("b-again")
				s.expect("a b-again c d")
			},
		},
		"a quota leaves room for one pod of the second wave of a Job": {
			objects: []client.Object{func() *batchv1.Job {
				j := makes(job("1", 4))
				j.Spec.Completions = new(int32(10))
				return j
			}(), ofJob("a"), ofJob("b"), ofJob("c"), ofJob("d")},
			happens: func(s *stage) {
				s.expect("a b c d")
				succeeds := func(count int32, names ...string) {
					for _, name := range names {
						s.set(name, phase(succeeded))
					}
					s.edit(job("1", 4), func(o client.Object) { o.(*batchv1.Job).Status.Succeeded = count })
				}
				succeeds(4, "a", "b", "c", "d")
				s.put(ofJob("e"))
				s.expect("a b c d")
				for _, name := range []string{"f", "g", "h"} {
					s.put(ofJob(name))
				}
				s.expect("a b c d e f g h")
				succeeds(8, "e", "f", "g", "h")
				s.put(ofJob("i"))
				s.expect("a b c d e f g h")
				s.put(ofJob("j")) // there are no more
				s.expect("a b c d e f g h i j")
			},
		},
		"two indexes of a Job failed for good: the last pods are all that there will be": {
			objects: []client.Object{func() *batchv1.Job {
				j := makes(job("1", 4))
				j.Spec.Completions, j.Spec.BackoffLimitPerIndex = new(int32(10)), new(int32(0))
				j.Status.Succeeded, j.Status.FailedIndexes = 6, new("1,3")
				return j
			}(), ofJob("i"), ofJob("j")},
			happens: func(s *stage) { s.expect("i j") },
		},
		"a node is drained after the gang ran: the replacements get the label together": {
			objects: []client.Object{makes(job("1", 3)), ofJob("a"), ofJob("b"), ofJob("c")},
			happens: func(s *stage) {
				s.expect("a b c")
				s.terminate(pod("b"))
				s.terminate(pod("c"))
				s.put(ofJob("b-again"))
				s.put(ofJob("c-again", phase(pending)))
				s.expect("a b c")
				s.remove(pod("b"))
				s.remove(pod("c"))
				s.expect("a")
				s.pass(time.Minute)
				s.expect("a", "GroupNotReady|2 of 3 pods run|Pod c-again is Pending")
				s.runs("c-again")
				s.expect("a b-again c-again")
			},
		},
		"a disruption budget stops a drain halfway: a pod that terminates for an hour is not waited for": {
			objects: []client.Object{makes(job("1", 3)), ofJob("a"), ofJob("b"), ofJob("c", phase(pending))},
			happens: func(s *stage) {
				s.terminate(pod("c"))
				s.expect("")
				s.pass(time.Hour)
				s.expect("", "GroupNotReady|2 of 2 pods run, 1 more is missing")
				s.put(ofJob("d"))
				s.expect("a b d")
			},
		},
		"a Job that needs fewer pods is shrunk: its pods get the label once the surplus terminates": {
			objects: []client.Object{makes(job("1", 4)), ofJob("a"), ofJob("b"), ofJob("c", phase(pending))},
			happens: func(s *stage) {
				s.edit(job("1", 4), parallelism(2))
				s.expect("")
				s.terminate(pod("c"))
				s.expect("a b")
			},
		},
		"an autoscaler scales up before the label is decided": {
			objects: []client.Object{replicaSet("1", 5), ofSet("a"), ofSet("b"), ofSet("c")},
			happens: func(s *stage) {
				s.expect("")
				s.put(ofSet("d"))
				s.put(ofSet("e", phase(pending)))
				s.expect("")
				s.edit(replicaSet("1", 5), replicas(4))
				s.expect("")
				s.terminate(pod("e"))
				s.expect("a b c d")
			},
		},
		"an autoscaler scales up after the label was decided and before it is written": {
			objects: []client.Object{replicaSet("1", 2), ofSet("a"), ofSet("b")},
			happens: func(s *stage) {
				down := errors.New("the server is down")
				s.refused = map[string]error{"a": down, "b": down}
				s.expect("")
				s.edit(replicaSet("1", 2), replicas(4))
				s.put(ofSet("c", phase(pending)))
				s.refused = nil
				for _, name := range []string{"a", "b"} { // as it is when the time for another attempt has come
					s.labels.queue.Add(types.NamespacedName{Namespace: "train", Name: name})
				}
				s.expect("a b")
				s.runs("c")
				s.expect("a b")
				s.put(ofSet("d"))
				s.expect("a b c d")
			},
		},
		"a pod is replaced under its own name before the label is written": {
			objects: []client.Object{pod("a", sized("2")), pod("b", sized("2"))},
			happens: func(s *stage) {
				s.refused["b"] = errors.New("the server is down")
				s.expect("a")
				s.put(pod("b", sized("2"), phase(pending), func(p *corev1.Pod) { p.UID = "another" }))
				s.refused = nil
				s.labels.queue.Add(types.NamespacedName{Namespace: "train", Name: "b"})
				s.expect("a")
				s.runs("b")
				s.expect("a b")
			},
		},
		"a Job is deleted in the foreground before the label": {
			objects: []client.Object{makes(job("1", 2)), ofJob("a"), ofJob("b", phase(pending))},
			happens: func(s *stage) {
				s.terminate(job("1", 2))
				s.runs("b")
				s.expect("")
				s.terminate(pod("a"))
				s.expect("")
				s.pass(time.Hour)
				s.expect("")
				s.remove(pod("a"))
				s.remove(pod("b"))
				s.remove(job("1", 2))
				s.expect("")
			},
		},
		"a Job is deleted in the foreground after the label": {
			objects: []client.Object{makes(job("1", 2)), ofJob("a"), ofJob("b")},
			happens: func(s *stage) {
				s.expect("a b")
				s.terminate(job("1", 2))
				s.expect("a b")
				s.terminate(pod("a"))
				s.pass(time.Hour)
				s.expect("a b")
			},
		},
		"a Job that terminates keeps nobody waiting, even if its pods are pending": {
			objects: []client.Object{
				makes(job("1", 2)), ofJob("a"), ofJob("b", phase(pending)), makes(job("2", 1)), pod("c", ownedBy("2")),
			},
			happens: func(s *stage) {
				s.expect("")
				s.terminate(job("1", 2))
				s.expect("c")
			},
		},
		"a Job is deleted without its pods: they are bare pods from then on": {
			objects: []client.Object{makes(job("1", 3)), ofJob("a"), ofJob("b")},
			happens: func(s *stage) {
				s.expect("")
				s.deleteWith(metav1.FinalizerOrphanDependents, job("1", 3))
				s.expect("")
				s.set("a", orphaned)
				s.expect("")
				s.set("b", orphaned)
				s.remove(job("1", 3))
				s.expect("a b")
			},
		},
		"a Job is deleted without its pods: while it terminates, those that run get no label": {
			objects: []client.Object{makes(job("1", 2)), ofJob("a"), ofJob("b", phase(pending))},
			happens: func(s *stage) {
				s.deleteWith(metav1.FinalizerOrphanDependents, job("1", 2))
				s.set("a", orphaned)
				s.expect("")
				s.set("b", orphaned)
				s.remove(job("1", 2))
				s.expect("")
				s.runs("b")
				s.expect("a b")
			},
		},
		"a Job is collected after it completed: a replacement waits only for those that are left": {
			objects: []client.Object{makes(job("1", 1)), ofJob("a"), makes(job("2", 2)), pod("b", ownedBy("2")), pod("c", ownedBy("2"), phase(pending))},
			happens: func(s *stage) {
				s.set("a", phase(succeeded))
				s.edit(job("1", 1), completed(1000))
				s.expect("")
				s.remove(pod("a"))
				s.remove(job("1", 1))
				s.expect("")
				s.runs("c")
				s.expect("b c")
			},
		},
		"a pod succeeds before the last one starts": {
			objects: []client.Object{makes(job("1", 3)), ofJob("a", phase(succeeded)), ofJob("b"), ofJob("c", phase(pending))},
			happens: func(s *stage) {
				s.expect("")
				s.runs("c")
				s.expect("a b c")
			},
		},
		"a quota has room for two of three": {
			objects: []client.Object{makes(job("1", 3)), ofJob("a"), ofJob("b")},
			happens: func(s *stage) {
				s.expect("")
				s.pass(time.Minute)
				s.expect("", "GroupNotReady|2 of 2 pods run, 1 more is missing")
				s.pass(time.Hour)
				s.expect("")
				s.put(ofJob("c", phase(pending)))
				s.expect("")
				s.runs("c")
				s.expect("a b c")
			},
		},
		"pods are restored with the label and an owner of another cluster": {
			objects: []client.Object{
				makes(job("1", 2)), pod("old-a", ownedBy("gone"), labelled), pod("old-b", ownedBy("gone")), ofJob("c"), ofJob("d", phase(pending)),
			},
			happens: func(s *stage) {
				s.expect("old-a")
				s.runs("d")
				s.expect("c d old-a")
			},
		},
		"a namespace is restored under another name, and the PodGroup is not": {
			objects: []client.Object{pod("a", inNative("g")), pod("b", inNative("g"))},
			happens: func(s *stage) {
				elsewhere := native
				elsewhere.Namespace = "train-before"
				s.podGroups = asked{elsewhere: 4}
				s.expect("a b")
			},
		},
		"a PodGroup is deleted while pods run, and created again": {
			objects: []client.Object{pod("a", inNative("g")), pod("b", inNative("g"))},
			happens: func(s *stage) {
				s.podGroups = asked{native: 4}
				s.expect("")
				s.podGroups = asked{}
				s.expect("a b")
				s.podGroups = asked{native: 4}
				s.put(pod("c", inNative("g")))
				s.expect("a b")
				s.put(pod("d", inNative("g")))
				s.expect("a b c d")
			},
		},
		"the controller is down for an hour in which pods are replaced": {
			objects: []client.Object{makes(job("1", 3)), ofJob("a"), ofJob("b"), ofJob("c")},
			happens: func(s *stage) {
				s.expect("a b c")
				s.remove(pod("b"))
				s.remove(pod("c"))
				s.put(ofJob("c", phase(pending), func(p *corev1.Pod) { p.UID = "another" }))
				s.put(ofJob("b-again"))
				s.pass(time.Hour)
				s.restart()
				s.expect("a", "GroupNotReady|2 of 3 pods run")
				s.runs("c")
				s.expect("a b-again c")
			},
		},
		"the controller restarts while a group waits: it reports that once more": {
			objects: []client.Object{pod("a", sized("2"))},
			happens: func(s *stage) {
				s.pass(time.Hour)
				s.expect("", "GroupNotReady|1 more is missing")
				s.expect("")
				s.restart()
				s.expect("", "GroupNotReady|1 more is missing")
				s.expect("")
			},
		},
		"the clock of the controller is an hour ahead, and then corrected": {
			objects: []client.Object{pod("a", sized("2"))},
			happens: func(s *stage) {
				s.pass(time.Hour)
				s.expect("", "GroupNotReady|1 more is missing")
				s.pass(-time.Hour)
				s.expect("")
				s.pass(2 * time.Hour)
				s.expect("")
				s.put(pod("b"))
				s.expect("a b")
			},
		},
		"the clock of the controller is a year behind": {
			objects: []client.Object{makes(job("1", 2)), ofJob("a"), ofJob("b", phase(pending))},
			happens: func(s *stage) {
				s.pass(-365 * 24 * time.Hour)
				s.expect("")
				s.runs("b")
				s.expect("a b")
			},
		},
		"a node is lost: its pod is unknown, and terminates for ever": {
			objects: []client.Object{makes(job("1", 2)), ofJob("a"), ofJob("b", phase(corev1.PodUnknown))},
			happens: func(s *stage) {
				s.expect("")
				s.terminate(pod("b"))
				s.expect("")
				s.put(ofJob("b-again"))
				s.expect("a b-again")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, tc.objects)
			tc.happens(s)
		})
	}
}

// TestAdversityOfNames changes the group of pods. The managed fields say for which one a pod has its label.
func TestAdversityOfNames(t *testing.T) {
	for name, tc := range map[string]struct {
		world                 world
		wantLabel, wantRemove []string
		wantWhy               string
	}{
		"half of a Job gets the name of this group: the Job has no more pods for it": {
			world:      worldOf(pod("a", ownedBy("1"), labelledFor("before")), pod("b", ownedBy("1"))).workload("1", 4),
			wantRemove: []string{"a"},
			wantWhy:    "2 of 2 pods run, 2 more are missing (size by Jobs, StatefulSets and ReplicaSets)",
		},
		"a whole Job gets the name of this group": {
			world:      worldOf(pod("a", ownedBy("1"), labelledFor("before")), pod("b", ownedBy("1"), labelledFor("before"))).workload("1", 2),
			wantRemove: []string{"a", "b"},
		},
		"a pod comes back to its group before the label is removed": {
			world: worldOf(pod("a", labelledFor("gang"), sized("2"))), wantWhy: "1 of 1 pods run, 1 more is missing (size by annotation podgroup.jhwagner.github.io/size)",
		},
		"a pod is restored with the label and the managed fields of another group": {
			world:      worldOf(pod("a", labelledFor("before"), phase(pending)), pod("b", labelledFor("gang"))),
			wantRemove: []string{"a"}, wantWhy: "1 of 2 pods run (size by existing pods)",
		},
		"a pod is restored with the label, and its managed fields name only the restore": {
			world: worldOf(pod("a", labelled, func(p *corev1.Pod) {
				p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "restore", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:podgroup.jhwagner.github.io/ready":{}}}}`)}}
			}), pod("b")),
			wantLabel: []string{"b"},
		},
		"somebody else has taken over the label of a pod that changed its group": {
			world: worldOf(pod("a", labelled, func(p *corev1.Pod) {
				p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "podsequence-controller-podgroup/before", FieldsV1: metav1.NewFieldsV1(`{}`)}}
			})),
		},
		"the only pod that does not run changes its group: the rest is smaller than its Job": {
			world:   worldOf(pod("a", ownedBy("1")), pod("b", ownedBy("1"))).workload("1", 3),
			wantWhy: "2 of 2 pods run, 1 more is missing (size by Jobs, StatefulSets and ReplicaSets)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(tc.world)
			assert.Equal(t, tc.wantLabel, names(d.label))
			assert.Equal(t, tc.wantRemove, names(d.remove))
			assert.Equal(t, tc.wantWhy, d.why)
		})
	}
}

// TestAdversityOfEvents sends what a watch sends when something happens that asks for another look at the group.
func TestAdversityOfEvents(t *testing.T) {
	another := func(p *corev1.Pod) { p.UID, p.ResourceVersion = "another", "20" }
	terminating := makes(job("1", 2))
	terminating.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	for name, tc := range map[string]struct {
		before, after client.Object
		want          []string
	}{
		"a pod was replaced under its own name while the watch was interrupted": {
			before: pod("a"), after: pod("a", another), want: []string{"gang"},
		},
		"a Job is deleted in the foreground": {
			before: makes(job("1", 2)), after: terminating, want: []string{"gang"},
		},
		"a Job that terminates gets another status that does not matter": {before: terminating, after: terminating},
	} {
		t.Run(name, func(t *testing.T) {
			s, q := newStage(t, nil), &requested{groups: sets.New[string]()}
			handler := s.podHandler()
			if _, ok := tc.before.(*batchv1.Job); ok {
				handler = s.workloadHandler()
			}
			handler.Update(t.Context(), event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}, q)
			assert.ElementsMatch(t, tc.want, sets.List(q.groups))
		})
	}
}
