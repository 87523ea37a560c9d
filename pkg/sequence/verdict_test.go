package sequence

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
	. "example.com/podsequence/test/harness/builders"
)

// publishedPods are what is published of pods.
func publishedPods(e *Engine) map[types.NamespacedName]*publishedPod {
	pods := map[types.NamespacedName]*publishedPod{}
	for key, pod := range e.published.pods.Range {
		pods[key.(types.NamespacedName)] = pod.(*publishedPod)
	}
	return pods
}

// checkPublished sees that what the scheduler reads is what the engine says: for every pod without a node, and for no other.
// It is called after every event of the random histories.
func checkPublished(e *Engine) error {
	published := publishedPods(e)
	for name, ns := range e.namespaces {
		for _, p := range ns.pods {
			key := types.NamespacedName{Namespace: name, Name: p.Name}
			got := published[key]
			delete(published, key)
			switch {
			case p.Bound() && got == nil:
			case p.Bound():
				return fmt.Errorf("%s has a node, and a verdict on it is published", p.Name)
			case got == nil:
				return fmt.Errorf("%s: no verdict is published", p.Name)
			case got.held.Load() == e.mayBeScheduled(p):
				return fmt.Errorf("%s: the published verdict is held %t, and that of the engine is not", p.Name, got.held.Load())
			case got.Pod != p.Pod:
				return fmt.Errorf("%s: what is published is of version %s of %s, want %s of %s", p.Name, got.ResourceVersion, got.UID, p.ResourceVersion, p.UID)
			case !slices.Equal(got.memberships(), p.memberships()):
				return fmt.Errorf("%s: published memberships are %v, want %v", p.Name, got.memberships(), p.memberships())
			case !slices.Equal(got.needs(), e.settings.needs(p)):
				return fmt.Errorf("%s: published needs are %v, want %v", p.Name, got.needs(), e.settings.needs(p))
			}
			if got != nil {
				if err := checkVerdict(e, p, got); err != nil {
					return fmt.Errorf("%s: %w", p.Name, err)
				}
			}
		}
	}
	if !reflect.DeepEqual(*bound, unbound{}) {
		return fmt.Errorf("pods that have a node share what is known of one: %v", *bound)
	}
	for key := range published {
		return fmt.Errorf("%s: a verdict is published, and the engine does not know the pod", key)
	}
	return checkPublishedSequences(e)
}

// checkVerdict sees that the next event will be compared with what is true now.
func checkVerdict(e *Engine, p *pod, published *publishedPod) error {
	said, is := e.settings.published(published, p.UID), e.judge(p)
	if said.held != is.held || said.reason != is.reason || !slices.Equal(said.needs, is.needs) || said.opened != is.opened || !slices.Equal(said.lift, is.lift) {
		return fmt.Errorf("the published verdict is %+v, want %+v", said, is)
	}
	return nil
}

func checkPublishedSequences(e *Engine) error {
	want := map[string]map[*sequence]order.GroupSet{}
	reaches := func(s *sequence, name string) {
		if groups := e.consents.groupsIn(s, name); groups != 0 {
			if want[name] == nil {
				want[name] = map[*sequence]order.GroupSet{}
			}
			want[name][s] = groups
		}
	}
	for _, s := range e.sequences {
		if !s.refused() {
			for name := range s.NamedNamespaces() {
				reaches(s, name)
			}
			for name := range e.consents.facts {
				reaches(s, name)
			}
		}
		for name, d := range s.domains {
			if d.published != d.toPublish() || s.publishedOn(name) != d.published {
				return fmt.Errorf("%s: what is published of node %q is %v, want %v", s.Key, name, s.publishedOn(name), d.toPublish())
			}
		}
	}
	for s := range e.perNode {
		for name := range e.nodes.byName {
			if s.domains[name] == nil {
				return fmt.Errorf("%s has no domain for node %q", s.Key, name)
			}
		}
	}
	var err error
	e.published.namespaces.Range(func(key, value any) bool {
		view, all := value.(*publishedNamespace), want[key.(string)]
		delete(want, key.(string))
		cost := 0
		for s := range all {
			cost += s.MatchCost()
		}
		same := maps.Equal(view.sequences, all)
		if view.tooMany != (cost > MaxMatchCost) || (!view.tooMany && !same) {
			err = fmt.Errorf("namespace %s: %d sequences are published of %d", key, len(view.sequences), len(all))
		}
		return err == nil
	})
	for name, all := range want {
		return fmt.Errorf("namespace %s: none of its %d sequences is published", name, len(all))
	}
	return err
}

// The scheduler asks under the lock of its queue. An event of another namespace may take as long as it likes.
func TestTheSchedulerWaitsForNoEvent(t *testing.T) {
	node := fleetNode(1, "1")
	held := makePod("held", "5").Label("of", "shop").Obj()
	free := makePod("free", "6").Obj()
	placed := makePod("placed", "7").Label("tier", "app").Obj()
	engine := newEngine()
	engine.ApplyNode(node)
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("One", "one").Label("Two", "of", "shop").Obj())
	engine.ApplySequence(MakeSequence(oracleNamespace, "csi").UID("csi").Label("Driver", "app", "driver").Label("App", "tier", "app").NodeScope().Obj())
	for _, pod := range []*corev1.Pod{held, free, placed} {
		engine.ApplyPod(pod)
	}

	engine.mu.Lock() // as during an event
	defer engine.mu.Unlock()
	assert.True(t, engine.Verdict(held).Held)
	assert.False(t, engine.Verdict(free).Held)
	assert.False(t, engine.Verdict(makePod("unseen", "8").Obj()).Held)
	assert.True(t, engine.Verdict(makePod("unseen", "8").Label("of", "shop").Obj()).Held)
	assert.True(t, engine.Verdict(makePod("free", "9").Label("of", "shop").Obj()).Held)
	placement := engine.Placement(placed)
	require.NotNil(t, placement)
	assert.True(t, placement.Open(node.Name).Held)
	assert.Contains(t, placement.Open(node.Name).FilterMessage(), `group 1/2 "Driver" of PodSequence`)
	assert.Equal(t, `1 node(s) waiting for group 1/2 "Driver" of PodSequence `+oracleNamespace+"/csi", placement.OpenNodes().Why)
}

func TestWhatIsPublishedOfAPod(t *testing.T) {
	shop := MakeSequence(oracleNamespace, "shop").UID("shop").Pods("One", "one").Label("Two", "tier", "two").Obj()
	remembered := func(e recording, uid types.UID) bool {
		_, noted := e.unseen.versions[uid]
		return noted
	}
	tests := map[string]func(t *testing.T, e recording){
		"a pod that no sequence can have passes unseen": func(t *testing.T, e recording) {
			assert.False(t, e.Verdict(makePod("p", "5").Obj()).Held)
			assert.False(t, remembered(e, "p"))
		},
		"a pod of a group that is released permanently passes unseen": func(t *testing.T, e recording) {
			first := makePod("one", "5").Obj()
			assert.Equal(t, Verdict{Ordered: true}, e.Verdict(first))
			e.ApplyPod(first)
			assert.Equal(t, Verdict{Ordered: true}, e.Verdict(first))
		},
		"a dry run orders nothing": func(t *testing.T, e recording) {
			trial := MakeSequence(oracleNamespace, "trial").UID("trial").Pods("Zero", "zero").Label("", "tier", "trial").Obj()
			trial.Spec.DryRun = true
			e.ApplySequence(trial)
			assert.Equal(t, Verdict{}, e.Verdict(makePod("p", "5").Label("tier", "trial").Obj()))
		},
		"a pod of a later group waits unseen, and its release is reported when the engine knows it": func(t *testing.T, e recording) {
			second := makePod("two", "6").Label("tier", "two").Obj()
			assert.True(t, e.Verdict(second).Held)
			e.ApplyPod(makePod("one", "5").Phase(corev1.PodSucceeded).Node("n").Obj())
			assert.Len(t, e.ApplyPod(second).Released, 1)
			assert.False(t, e.Verdict(second).Held)
		},
		"a pod of a group that may stop being released goes by what is known": func(t *testing.T, e recording) {
			e.ApplySequence(MakeSequence(oracleNamespace, "again").UID("again").Mode(v1alpha1.Continuous).
				Pods("Zero", "zero").Label("", "tier", "again").Obj())
			e.ApplyPod(makePod("zero", "5").Phase(corev1.PodSucceeded).Node("n").Obj())
			late := makePod("late", "6").Label("tier", "again").Obj()
			assert.False(t, e.Verdict(late).Held)
		},
		"a newer version in the same groups is known": func(t *testing.T, e recording) {
			e.ApplyPod(makePod("p", "5").Obj())
			p := makePod("p", "6").Annotation("a", "b").Obj()
			assert.False(t, e.Verdict(p).Held)
		},
		"a newer version in another group waits until the engine knows it": func(t *testing.T, e recording) {
			e.ApplyPod(makePod("p", "5").Obj())
			assert.True(t, e.Verdict(makePod("p", "6").Label("tier", "two").Obj()).Held)
			assert.True(t, remembered(e, "p"))
		},
		"another pod of the same name is not known": func(t *testing.T, e recording) {
			e.ApplyPod(makePod("p", "5").Obj())
			another := makePod("p", "6").UID("another").Label("tier", "two").Obj()
			assert.True(t, e.Verdict(another).Held)
		},
		"an older version is judged by what the engine knows": func(t *testing.T, e recording) {
			e.ApplyPod(makePod("p", "6").Label("tier", "two").Obj())
			assert.True(t, e.Verdict(makePod("p", "5").Obj()).Held)
			assert.False(t, remembered(e, "p"))
		},
		"a pod with a node, and one that is gone, are forgotten": func(t *testing.T, e recording) {
			e.ApplyPod(makePod("p", "5").Obj())
			e.ApplyPod(makePod("q", "5").Obj())
			e.ApplyPod(makePod("p", "6").Node("n").Obj())
			e.RemovePod(makePod("q", "6").Obj())
			require.NoError(t, checkPublished(e.Engine))
			assert.Empty(t, publishedPods(e.Engine))
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			engine.ApplyNamespace(allowing("", "1"))
			engine.ApplySequence(shop)
			test(t, engine)
		})
	}
}

// To match a pod with all sequences of its namespace would take as long as there are sequences.
func TestAPodThatIsNotSeenYetIsMatchedWithFewSequences(t *testing.T) {
	engine := newEngine()
	unseen := makePod("unseen", "5").Obj()
	name := func(i int) string { return fmt.Sprintf("s-%d", i) }
	sequence := func(i int) *v1alpha1.PodSequence {
		return MakeSequence(oracleNamespace, name(i)).UID(name(i)).Pods("One", name(i)).Label("Two", "of", name(i)).Obj()
	}
	many := 0
	for ; !engine.Verdict(unseen).Held; many++ {
		require.Less(t, many, MaxMatchCost, "it is matched with all sequences")
		engine.ApplySequence(sequence(many))
	}
	assert.GreaterOrEqual(t, many, 32)
	require.NoError(t, checkPublished(engine.Engine))
	assert.Len(t, engine.ApplyPod(unseen).Released, 1, "the engine knows that no sequence has it")
	assert.False(t, engine.Verdict(unseen).Held)

	engine.RemoveSequence(types.NamespacedName{Namespace: oracleNamespace, Name: name(0)}, "99")
	assert.False(t, engine.Verdict(makePod("another", "6").Obj()).Held)
}

// An event may bring the pod between the two looks of who asks.
func TestAPodThatIsAskedAboutWhileItsEventIsUnderWayIsReported(t *testing.T) {
	engine := newEngine()
	ps := MakeSequence(oracleNamespace, "shop").UID("shop").Label("One", "", "").Obj()
	values := v1alpha1.LabelSelectorRequirement{Key: "tier", Operator: v1alpha1.LabelSelectorOpIn}
	for i := range MaxMatchCost {
		values.Values = append(values.Values, v1alpha1.LabelValue(strconv.Itoa(i)))
	}
	ps.Spec.PodGroups[0].PodSelector.MatchExpressions = append(ps.Spec.PodGroups[0].PodSelector.MatchExpressions, values)
	engine.ApplySequence(ps)
	pod := makePod("p", "5").Obj()

	engine.mu.Lock()
	tx := &transaction{version: pod.ResourceVersion}
	engine.applyPod(viewPod(pod), tx)
	require.True(t, engine.Verdict(pod).Held, "nothing is published yet, and to match it takes too long")
	changes := engine.settle(tx)
	engine.mu.Unlock()
	assert.Len(t, changes.Released, 1)
	assert.False(t, engine.Verdict(pod).Held)
}

// The rules of today would refuse it, but it may have been stored before them.
func TestASequenceWithoutMembersCanBeRemovedAfterThePodsOfItsNamespace(t *testing.T) {
	engine := newEngine()
	engine.ApplySequence(MakeSequence(oracleNamespace, "none").UID("none").Obj())
	engine.ApplyPod(makePod("p", "1").Obj())
	engine.RemovePod(makePod("p", "2").Obj())
	engine.RemoveSequence(types.NamespacedName{Namespace: oracleNamespace, Name: "none"}, "3")
	assert.Empty(t, engine.namespaces)
}

// While an event works on the pods of a namespace, a pod that must wait before it and after it must wait all the time.
func TestNoEventLetsAPodPassThatMustWaitBeforeAndAfter(t *testing.T) {
	engine, node := newEngine(), fleetNode(1, "1")
	engine.ApplyNode(node)
	cluster := func(version int) *v1alpha1.PodSequence {
		ps := MakeSequence(oracleNamespace, "shop").UID("shop").Generation(int64(version)).Pods("One", "one").Label("Two", "", "").Obj()
		ps.ResourceVersion = strconv.Itoa(version)
		ps.Spec.PodGroups[0].Pods = []string{"one", strconv.Itoa(version)}
		return ps
	}
	onNodes := func(version int) *v1alpha1.PodSequence {
		ps := cluster(version)
		ps.Name, ps.UID, ps.Spec.Scope = "csi", "csi", v1alpha1.ScopeNode
		return ps
	}
	engine.ApplySequence(cluster(1))
	engine.ApplySequence(onNodes(1))
	var pods []*corev1.Pod
	for i := range 20 {
		pods = append(pods, makePod("app-"+strconv.Itoa(i), "1").Obj())
		engine.ApplyPod(pods[i])
	}

	var asking sync.WaitGroup
	done, asked, failed := make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
	asking.Go(func() {
		defer close(failed)
		placements := make([]*Placement, len(pods))
		for {
			for i, p := range pods {
				if !assert.True(t, engine.Verdict(p).Held, p.Name) {
					return
				}
				if placements[i] == nil {
					placements[i] = engine.Placement(p)
				}
				if !assert.NotNil(t, placements[i], p.Name) || !assert.True(t, placements[i].Open(node.Name).Held, p.Name) {
					return
				}
			}
			if !assert.Equal(t, len(pods), engine.HeldPods().Pods) {
				return
			}
			select {
			case asked <- struct{}{}:
			case <-done:
				return
			}
		}
	})
	for version := 2; version < 60; version++ {
		engine.ApplySequence(cluster(version))
		engine.ApplySequence(onNodes(version))
		list := make([]*corev1.Pod, len(pods))
		for i, p := range pods {
			list[i] = p.DeepCopy()
			list[i].ResourceVersion = strconv.Itoa(version * 10)
		}
		engine.ReplacePods(list, strconv.Itoa(version*10))
		for _, p := range list { // another version that differs in nothing else
			next := p.DeepCopy()
			next.ResourceVersion = strconv.Itoa(version*10 + 1)
			engine.ApplyPod(next)
		}
		if version%20 == 0 {
			select {
			case <-asked: // it has asked of all since the last time
			case <-failed:
			}
		}
	}
	close(done)
	asking.Wait()
}
