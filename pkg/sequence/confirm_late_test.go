package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	. "example.com/podsequence/test/harness/builders"
)

// inStep tells an engine of what happened in the order of versions, but for what is late: that is told before the first answer that
// says that nothing is missing from before it.
type inStep struct {
	*testing.T
	*Engine
	version string // of what is late
	kinds   Kinds
	where   string
	tell    func() Changes // of what is late; nil once that was told
}

// settle answers all questions that changes ask.
func (s *inStep) settle(changes Changes) {
	s.Helper()
	for range 20 {
		if len(changes.Questions) == 0 {
			return
		}
		asked := changes.Questions
		changes = Changes{}
		for subject, question := range asked {
			if s.tell != nil && subject.Namespace == s.where && subject.Kinds >= s.kinds && !inventory.Newer(s.version, question.Version) {
				changes = changes.with(s.tell())
				s.tell = nil
			}
			changes = changes.with(s.Confirm(subject, question.Moment))
		}
	}
	require.Fail(s, "it asks for ever")
}

// eitherWay runs a test with something told in order, by calling tell, and told late.
func eitherWay(t *testing.T, late inStep, test func(s *inStep, tell func())) {
	for _, name := range []string{"told in order", "told late"} {
		t.Run(name, func(t *testing.T) {
			s := late
			s.T, s.Engine = t, NewEngine(Config{SchedulerNames: []string{oracleScheduler}})
			test(&s, func() {
				if name == "told in order" {
					s.settle(s.tell())
					s.tell = nil
				}
			})
		})
	}
}

func readyPod(namespace, name, tier, version string) *corev1.Pod {
	return makePod(name, version).Namespace(namespace).Label("tier", tier).Node("node").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj()
}

func TestAGroupThatWasSatisfiedBeforeItWasReachedOnlyIsNotPassed(t *testing.T) {
	var s *inStep
	late := inStep{version: "40", kinds: OfWorkloads, where: oracleNamespace, tell: func() Changes {
		return s.ApplyWorkload(statefulSet(1, "40")).with(s.ApplyWorkload(statefulSet(2, "45"))) // one is enough until 45
	}}
	eitherWay(t, late, func(story *inStep, tell func()) {
		s = story
		s.ApplyWorkload(statefulSet(2, "2"))
		s.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").
			Pods("config", "config").Label("db", "tier", "db").Label("app", "tier", "app").Obj())
		s.ApplyPod(app("app", "3"))
		s.ApplyPod(db("db-0", "4"))
		tell()
		s.settle(s.ApplyPod(readyPod(oracleNamespace, "config", "", "50")))
		if s.tell != nil {
			s.settle(s.tell())
		}
		assert.True(s, s.Decide(app("app", "3")).Held)
	})
}

func TestAWaitIsConfirmedAsOfItsEnd(t *testing.T) {
	for name, answered := range map[string]bool{"what was asked at its begin was answered": true, "it was not answered yet": false} {
		t.Run(name, func(t *testing.T) {
			d := newEmptyConfirming(t)
			d.Tick(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
			d.ApplyWorkload(statefulSet(1, "2"))
			d.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("db", "tier", "db").Wait("10s").Label("app", "tier", "app").Obj())
			d.ApplyPod(app("app", "3"))
			d.expect(d.ApplyPod(db("db-0", "10")), about("10"))
			if answered {
				d.expect(d.confirm("10"), nil)
			}
			d.ApplyPod(app("another", "20")) // and at 15 the StatefulSet asked for two
			d.expect(d.Tick(d.NextWake()), about("20"))
			d.confirm("10")
			d.expectHeld(app("app", "3"), `"db"`)
			d.expect(d.confirm("20"), nil, "another", "app")
		})
	}
}

// What is lost when a group breaks must be there at one time: that one group is satisfied is confirmed together with those before it,
// which other kinds of objects may decide on, or objects of other namespaces.
func TestGroupsThatMayBeLostAreConfirmedTogether(t *testing.T) {
	across := func(scope v1alpha1.Scope, first, second string) *v1alpha1.ClusterPodSequence {
		c := site(v1alpha1.Continuous, tierIn(first, first), tierIn(second, second), tierIn("app", "app"))
		c.Spec.Scope = scope
		return c
	}
	var s *inStep

	t.Run("named pods after pods of a StatefulSet", func(t *testing.T) {
		late := inStep{version: "40", kinds: OfWorkloads, where: oracleNamespace, tell: func() Changes { return s.ApplyWorkload(statefulSet(2, "40")) }}
		eitherWay(t, late, func(story *inStep, tell func()) {
			s = story
			s.settle(s.ApplyWorkload(statefulSet(1, "2")))
			s.settle(s.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Mode(v1alpha1.Continuous).
				Label("db", "tier", "db").Pods("config", "config").Label("app", "tier", "app").Obj()))
			s.settle(s.ApplyPod(app("app", "3")))
			s.settle(s.ApplyPod(db("db-0", "10")))
			tell()
			s.settle(s.ApplyPod(readyPod(oracleNamespace, "config", "", "50")))
			assert.True(s, s.Decide(app("app", "3")).Held)
		})
	})
	t.Run("pods of two namespaces", func(t *testing.T) {
		late := inStep{version: "40", kinds: OfPods, where: "db", tell: func() Changes {
			return s.ApplyPod(makePod("db-1", "40").Namespace("db").Label("tier", "db").Node("node").Obj())
		}}
		eitherWay(t, late, func(story *inStep, tell func()) {
			s = story
			s.settle(s.ApplyClusterSequence(across(v1alpha1.ScopeCluster, "db", "cache")))
			waits := makePod("app", "3").Namespace("app").Label("tier", "app").Obj()
			s.settle(s.ApplyPod(waits))
			s.settle(s.ApplyPod(readyPod("db", "db-0", "db", "10")))
			tell()
			s.settle(s.ApplyPod(readyPod("cache", "cache", "cache", "50")))
			assert.True(s, s.Decide(waits).Held)
		})
	})
	t.Run("drivers of two namespaces on a node", func(t *testing.T) {
		daemonSet := func(namespace, name, version string) *appsv1.DaemonSet {
			d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, UID: types.UID(name), ResourceVersion: version, Generation: 1,
			}}
			d.Spec.Template.Labels = map[string]string{"tier": namespace}
			d.Status.ObservedGeneration, d.Status.DesiredNumberScheduled = 1, 1
			return d
		}
		driver := func(name, version string) *corev1.Pod {
			pod := readyPod(name, name, name, version)
			pod.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "DaemonSet", Name: name, UID: types.UID(name), Controller: ptr.To(true)},
			}
			return pod
		}
		late := inStep{version: "40", kinds: OfDaemonSets, where: "net", tell: func() Changes { return s.ApplyWorkload(daemonSet("net", "net-2", "40")) }}
		eitherWay(t, late, func(story *inStep, tell func()) {
			s = story
			s.ApplyNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "node", ResourceVersion: "1"}})
			s.settle(s.ApplyWorkload(daemonSet("net", "net", "2")))
			s.settle(s.ApplyWorkload(daemonSet("disk", "disk", "3")))
			s.settle(s.ApplyClusterSequence(across(v1alpha1.ScopeNode, "net", "disk")))
			waits := makePod("app", "4").Namespace("app").Label("tier", "app").Obj()
			s.settle(s.ApplyPod(waits))
			s.settle(s.ApplyPod(driver("net", "10")))
			tell()
			s.settle(s.ApplyPod(driver("disk", "50")))
			placement := s.Placement(waits)
			require.NotNil(s, placement)
			assert.True(s, placement.Open("node").Held)
		})
	})
}

func TestAGroupOfTwoNamespacesIsConfirmedInBoth(t *testing.T) {
	for _, first := range []string{"cache", "db"} {
		t.Run(first+" first", func(t *testing.T) {
			s := &inStep{T: t, Engine: NewEngine(Config{SchedulerNames: []string{oracleScheduler}})}
			s.settle(s.ApplyClusterSequence(site(v1alpha1.BootstrapOnly,
				tierIn("store", "cache", "db"), tierIn("app", "app"))))
			waits := makePod("app", "3").Namespace("app").Label("tier", "app").Obj()
			s.settle(s.ApplyPod(waits))
			asked := s.ApplyPod(readyPod("db", "db-0", "store", "10")).Questions
			require.Len(s, asked, 3, "about both namespaces, and about which there are")
			for subject, question := range asked {
				if subject.Namespace == first {
					s.Confirm(subject, question.Moment)
				}
			}
			assert.True(s, s.Decide(waits).Held)
			for subject, question := range asked {
				s.Confirm(subject, question.Moment)
			}
			assert.False(s, s.Decide(waits).Held)
		})
	}
}

// site is a ClusterPodSequence of these groups.
func site(mode v1alpha1.EnforcementMode, groups ...v1alpha1.ClusterPodGroup) *v1alpha1.ClusterPodSequence {
	c := &v1alpha1.ClusterPodSequence{ObjectMeta: metav1.ObjectMeta{Name: "site", UID: "site", Generation: 1, ResourceVersion: "1"}}
	c.Spec.EnforcementMode, c.Spec.PodGroups = mode, groups
	return c
}

// tierIn selects the pods of a tier, which gives it its name, in some namespaces.
func tierIn(tier string, namespaces ...string) v1alpha1.ClusterPodGroup {
	selector := &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"tier": v1alpha1.LabelValue(tier)}}
	return v1alpha1.ClusterPodGroup{PodGroup: v1alpha1.PodGroup{Name: tier, PodSelector: selector}, Namespaces: namespaces}
}

// A Job that is deleted once it is complete is seen for a moment only.
func TestAListOfAnotherKindVoidsNoWitness(t *testing.T) {
	job := func(version string, complete bool) *batchv1.Job {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: oracleNamespace, Name: "schema", UID: "schema", ResourceVersion: version}}
		job.Spec.Template.Labels = map[string]string{"job": "schema"}
		if complete {
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}
		return job
	}
	for name, list := range map[string]func(e *Engine, version string){
		"nodes":               func(e *Engine, version string) { e.ReplaceNodes(nil, version) },
		"ClusterPodSequences": func(e *Engine, version string) { e.ReplaceClusterSequences(nil, version) },
		"namespaces":          func(e *Engine, version string) { e.ReplaceNamespaces(nil, version) },
	} {
		for when, before := range map[string]bool{"before it is complete, of a later version": true, "after it is complete": false} {
			t.Run(name+" are listed "+when, func(t *testing.T) {
				s := &inStep{T: t, Engine: NewEngine(Config{SchedulerNames: []string{oracleScheduler}})}
				s.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("schema", "job", "schema").Complete().Label("app", "tier", "app").Obj())
				s.ApplyPod(app("app", "2"))
				s.ApplyWorkload(job("3", false))
				if before {
					list(s.Engine, "8")
				}
				asked := s.ApplyWorkload(job("5", true))
				require.NotEmpty(t, asked.Questions)
				if !before {
					list(s.Engine, "8")
				}
				s.RemoveWorkload(job("7", true))
				s.settle(asked)
				decision := s.Decide(app("app", "2"))
				assert.False(t, decision.Held, decision.Message())
			})
		}
	}
}

func TestWhatWasPassedOnANodeIsNotPassedInTheCluster(t *testing.T) {
	s := &inStep{T: t, Engine: NewEngine(Config{SchedulerNames: []string{oracleScheduler}})}
	for _, name := range []string{"node", "another"} {
		s.ApplyNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"}})
	}
	drivers := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: oracleNamespace, Name: "db", UID: "db", ResourceVersion: "2", Generation: 1,
	}}
	drivers.Spec.Template.Labels = map[string]string{"tier": "db"}
	drivers.Status.ObservedGeneration, drivers.Status.DesiredNumberScheduled = 1, 2
	s.settle(s.ApplyWorkload(drivers))
	ownedByThem := func(pod *corev1.Pod) *corev1.Pod {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "db", UID: "db", Controller: ptr.To(true)}}
		return pod
	}
	definition := func() *SequenceWrapper {
		return MakeSequence(oracleNamespace, "shop").UID("shop").Label("db", "tier", "db").Label("app", "tier", "app")
	}
	s.settle(s.ApplySequence(definition().NodeScope().Obj()))
	s.settle(s.ApplyPod(ownedByThem(readyPod(oracleNamespace, "db-1", "db", "4"))))
	s.settle(s.ApplyPod(ownedByThem(makePod("db-2", "5").Label("tier", "db").Node("another").Obj())))

	released := app("app-1", "6")
	s.settle(s.ApplyPod(released))
	verdict := s.Verdict(released)
	require.False(t, verdict.Held)
	bound := app("app-1", "7")
	bound.Spec.NodeName, bound.Annotations = "node", map[string]string{v1alpha1.ReleasedAnnotation: verdict.Proof(released)}
	s.settle(s.ApplyPod(bound))

	s.settle(s.ApplySequence(definition().Generation(2).Obj()))
	s.settle(s.ApplyPod(app("app-2", "9")))
	assert.True(t, s.Decide(app("app-2", "9")).Held, "one of two drivers is ready")
}
