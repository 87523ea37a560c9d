package sequence

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/report"
)

// A decision is a function of what the API says now, recorded status included, and of the time. So after every event an
// engine is started afresh from the objects that there are, and must say what the running one says.

// With the statuses that the controller writes, both say the same.
func TestARestartChangesNothing(t *testing.T)         { compareRestarts(t, everything, true) }
func TestARestartChangesNothingOnNodes(t *testing.T)  { compareRestarts(t, nodesOnly, true) }
func TestARestartChangesNothingOverTime(t *testing.T) { compareRestarts(t, overTime, true) }
func TestARestartChangesNothingOnWorkloads(t *testing.T) {
	compareRestarts(t, workloadsInCluster, true)
}

func TestARestartChangesNothingAcrossNamespaces(t *testing.T) {
	compareRestarts(t, acrossNamespacesOverTime, true)
}

// While the controller is down, what a running engine has seen may be recorded nowhere. Then the new one releases later, but
// never earlier. These worlds have no waits and no time-outs: for those, see TestWhatNoStatusRecorded.
func TestARestartReleasesNothingEarlier(t *testing.T)        { compareRestarts(t, workloadsInCluster, false) }
func TestARestartReleasesNothingEarlierOnNodes(t *testing.T) { compareRestarts(t, nodesOnly, false) }

func TestARestartReleasesNothingEarlierAcrossNamespaces(t *testing.T) {
	compareRestarts(t, acrossNamespaces, false)
}

func compareRestarts(t *testing.T, theme theme, recorded bool) {
	t.Parallel()
	steps := oracleSteps(t) / 200
	const perWorld = 100
	for seed := range uint64(max(1, steps/perWorld)) {
		if only := envInt(t, "PODSEQUENCE_ORACLE_SEED", -1); only >= 0 && seed != uint64(only) {
			continue
		}
		r := &restarts{randomWorld: newRandomWorld(seed, theme), comparison: newComparison(counters{}), recorded: recorded}
		r.truthful = true
		for range perWorld {
			if err := r.step(); err != nil {
				t.Fatalf("seed %d: %v\nafter:\n%s", seed, err, r.log)
			}
		}
	}
}

// restarts is a world whose controller writes status, and whose programs are restarted after every event.
type restarts struct {
	*randomWorld
	*comparison
	recorded bool // the controller is always up
	log      string
}

func (r *restarts) step() error {
	events := r.happen()
	for _, kind := range slices.Sorted(maps.Keys(r.queues)) {
		events = append(events, r.queues[kind]...)
		delete(r.queues, kind)
	}
	events = slices.DeleteFunc(events, func(e event) bool { return e.object != nil && e.object.GetUID() == "uid-of-another" })
	slices.SortStableFunc(events, func(a, b event) int { return a.version() - b.version() })
	for _, e := range events {
		e.askFirst = false
		if err := r.tell(e); err != nil {
			return err
		}
		if r.recorded || r.oneIn(3) {
			if err := r.writeStatuses(); err != nil {
				return err
			}
		}
		if err := r.compare(); err != nil {
			return err
		}
	}
	return nil
}

// happen does one random thing. Watches are left out: they are never behind here.
func (r *restarts) happen() []event {
	if r.clock.Equal(worldEpoch) {
		return r.begin(time.Second)
	}
	n := r.IntN(r.theme.pods + r.workloads + r.nodes + r.sequences + r.theme.time + r.theme.namespaces)
	for _, what := range []struct {
		weight int
		happen func(*comparison) []event
	}{
		{r.theme.pods, r.stepPods}, {r.workloads, r.stepWorkloads}, {r.nodes, r.stepNodes}, {r.sequences, r.stepSequences}, {r.theme.time, r.stepTime}, {r.theme.namespaces, r.stepNamespaces},
	} {
		if n -= what.weight; n < 0 {
			return what.happen(r.comparison)
		}
	}
	return nil
}

func (r *restarts) tell(e event) error {
	r.log += e.String() + "\n"
	return r.do(e)
}

// writeStatuses writes what the controller would, until there is nothing to write.
func (r *restarts) writeStatuses() error {
	for range 5 {
		written := false
		for _, object := range slices.Concat(all[metav1.Object](r.oracle, "PodSequence"), all[metav1.Object](r.oracle, "ClusterPodSequence")) {
			kind, ps := sequenceOf(object)
			if now := r.randomWorld.objects[kind][ps.Name]; now == nil || now.GetResourceVersion() != ps.ResourceVersion {
				continue // it has changed: the API server refuses what is written
			}
			report, ok := r.engine.Report(types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name})
			if !ok || report.UID != ps.UID || report.Generation != ps.Generation {
				continue
			}
			status, err := stored(report.Status(ps, r.oracle.now.Truncate(time.Second)))
			if err != nil {
				return err
			}
			if reflect.DeepEqual(status, ps.Status) {
				continue
			}
			written = true
			next := withStatus(object, status, []metav1.ManagedFieldsEntry{{Subresource: "status", Time: &metav1.Time{Time: r.oracle.now.Truncate(time.Second)}}})
			r.put(kind, next)
			delete(r.queues, kind)
			if err := r.tell(event{verb: verbApply, kind: kind, object: next}); err != nil {
				return fmt.Errorf("when status is written: %w", err)
			}
		}
		if !written {
			return nil
		}
	}
	return fmt.Errorf("status is written again and again")
}

// nextWakeButForRetries is when the engine wakes: a new scheduler tries all pods anyway.
func nextWakeButForRetries(e recording) time.Time {
	retries := e.retries
	defer func() { e.retries = retries }()
	e.retries = progress.Alarms[*sequence]{}
	return e.NextWake()
}

// stored is the status as the API server gives it back.
func stored(status v1alpha1.PodSequenceStatus) (read v1alpha1.PodSequenceStatus, err error) {
	text, err := json.Marshal(status)
	if err != nil {
		return read, err
	}
	err = json.Unmarshal(text, &read)
	utc := func(t *metav1.Time) {
		if t != nil {
			t.Time = t.UTC()
		}
	}
	for i := range read.Groups {
		g := &read.Groups[i]
		for _, t := range []*metav1.Time{g.ChangedAt, g.ReleasedAt, g.FirstSatisfiedAt, g.SatisfiedAt, g.PassedAt} {
			utc(t)
		}
		for j := range g.Objects {
			utc(g.Objects[j].Since)
		}
	}
	if read.Memory != nil {
		for i := range read.Memory.Groups {
			utc(read.Memory.Groups[i].ChangedAt)
		}
	}
	for i := range read.Failures {
		utc(&read.Failures[i].CreatedAt)
		utc(read.Failures[i].FailedAt)
	}
	for i := range read.Conditions {
		utc(&read.Conditions[i].LastTransitionTime)
	}
	for i := range read.NodeStatus {
		for j := range read.NodeStatus[i].Conditions {
			utc(&read.NodeStatus[i].Conditions[j].LastTransitionTime)
		}
	}
	return read, err
}

// afresh is an engine that is told of everything there is.
func (r *restarts) afresh() recording {
	engine := newEngineWith(oracleUnprobedReady).after(r.engine)
	engine.Tick(r.oracle.now)
	engine.KindInstalled(!r.oracle.uninstalled)
	for _, kind := range append(append([]string{"Node", "Namespace"}, workloadKinds...), "Pod", "PodSequence", "ClusterPodSequence") {
		event{verb: verbReplace, kind: kind, objects: all[metav1.Object](r.oracle, kind)}.tellEngine(engine)
	}
	return engine
}

// compare sees that an engine started afresh says the same, or, while the controller is down, nothing earlier.
func (r *restarts) compare() error {
	fresh := r.afresh()
	for _, p := range all[*corev1.Pod](r.oracle, "Pod") {
		if p.Spec.NodeName != "" || p.DeletionTimestamp != nil {
			continue
		}
		was, is := r.engine.Decide(p), fresh.Decide(p)
		if was.Held != is.Held && (r.recorded || was.Held) && !r.mayBeLater(p, was, is) {
			return fmt.Errorf("%s: a new engine says %q, the running one %q", p.Name, is.Message(), was.Message())
		}
		if r.recorded && was.Message() != is.Message() && !r.mayBeLater(p, was, is) {
			return fmt.Errorf("%s: a new engine says %q, the running one %q", p.Name, is.Message(), was.Message())
		}
		for _, node := range all[*corev1.Node](r.oracle, "Node") {
			was, is := open(r.engine, p, node.Name), open(fresh, p, node.Name)
			if was != is && (r.recorded || is) && !r.mayBeLater(p, report.Decision{Held: !was}, report.Decision{Held: !is}) {
				return fmt.Errorf("%s: node %s is open to it is %t to a new engine, and %t to the running one", p.Name, node.Name, is, was)
			}
		}
	}
	if !r.recorded {
		return nil
	}
	if was, is := nextWakeButForRetries(r.engine), nextWakeButForRetries(fresh); !was.Equal(is) && !r.anythingLater() {
		return fmt.Errorf("the next wake is %s to a new engine, %s to the running one", is, was)
	}
	for _, object := range slices.Concat(all[metav1.Object](r.oracle, "PodSequence"), all[metav1.Object](r.oracle, "ClusterPodSequence")) {
		name := object.GetName()
		key := types.NamespacedName{Namespace: object.GetNamespace(), Name: name}
		was, _ := r.engine.Report(key)
		is, _ := fresh.Report(key)
		if diff := cmp.Diff(withoutTimes(was), withoutTimes(is)); diff != "" && !r.anythingLater() {
			return fmt.Errorf("%s: the report of a new engine differs: %s", name, diff)
		}
	}
	return nil
}

func open(engine recording, p *corev1.Pod, node string) bool {
	placement := engine.Placement(p)
	return placement == nil || !placement.Open(node).Held
}

// mayBeLater reports whether a restart may make the pod wait longer, or its wait be described otherwise, by a rule of
// isLaterAfterRestart. Nothing may be earlier.
func (r *restarts) mayBeLater(p *corev1.Pod, was, is report.Decision) bool {
	if !is.Held && was.Held {
		return false
	}
	for _, v := range r.oracle.views {
		if groupOf(v, p) >= 0 && isLaterAfterRestart(v.PodSequence) {
			return true
		}
	}
	return false
}

// anythingLater reports whether a restart may make anything later.
func (r *restarts) anythingLater() bool {
	for _, v := range r.oracle.views {
		if isLaterAfterRestart(v.PodSequence) {
			return true
		}
	}
	return false
}

// isLaterAfterRestart reports whether the sequence has what a restart makes later, because nothing records it:
//   - a wait with minAvailable: which of the pods were ready all the time nothing says, so it counts from the last of them;
//   - on nodes, what had been released when the sequence was suspended;
//   - on nodes, a wait of a group that comes after the current one, the only one of which status speaks;
//   - a time-out on a node of which status does not speak, because nothing of the sequence is there.
func isLaterAfterRestart(ps *v1alpha1.PodSequence) bool {
	perNode := ps.Spec.Scope == v1alpha1.ScopeNode
	return perNode && ps.Spec.Suspend || slices.ContainsFunc(ps.Spec.PodGroups, func(g v1alpha1.PodGroup) bool {
		return (g.MinAvailable != nil || perNode) && oracleDuration(g.WaitDuration) > 0 || perNode && g.Timeout != ""
	})
}

// withoutTimes leaves out of a report what only says when the engine came to know something.
func withoutTimes(report report.Report) report.Report {
	report.Resumed = false // status says it from the next time on that it is written
	report.DryRun = nil    // what would have been held, and how long, is noted by who sees it
	report.Ungoverned = nil
	report.Problems = slices.DeleteFunc(slices.Clone(report.Problems), func(p order.Problem) bool {
		return p.Reason == v1alpha1.ReasonUngovernedPods // that a gate was lifted is noted by who sees it, too
	})
	if len(report.Problems) == 0 {
		report.Problems = nil
	}
	report.Object, report.Cluster, report.Groups, report.Nodes = nil, nil, slices.Clone(report.Groups), slices.Clone(report.Nodes)
	for i, node := range report.Nodes {
		if node.Group != nil {
			group := *node.Group
			group.SatisfiedAt = time.Time{} // of a node that is gone nothing is compared but that
			group.EditedAt, group.ReleasedAt = time.Time{}, time.Time{}
			group.SatisfiedOnce = false // of nodes it is not recorded
			report.Nodes[i].Group = &group
		}
	}
	for i := range report.Groups {
		g := &report.Groups[i]
		g.EditedAt, g.ReleasedAt, g.PassedAt = time.Time{}, time.Time{}, time.Time{}
	}
	return report
}
