package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// asItIs is a status as this release writes and reads it.
func asItIs(status v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus { return status }

// withoutMemory is a status as an earlier release finds it: its definition of the kind prunes what it does not know.
func withoutMemory(status v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus {
	status.Memory = nil
	return status
}

// asAnEarlierRelease is a status as an earlier release writes it.
func asAnEarlierRelease(status v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus {
	if status.Memory != nil {
		for _, m := range status.Memory.Nodes {
			for i := range status.NodeStatus { // of these tests all nodes are in the list, and of all the same is remembered
				status.NodeStatus[i].TimedOut, status.NodeStatus[i].ReadyBefore = m.TimedOut, m.ReadyBefore
			}
		}
	}
	return withoutMemory(status)
}

// A pass on record holds whichever release wrote status, though nothing of the group is left.
func TestAPassOnRecordHoldsWhicheverReleaseWroteIt(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	shop := func() *v1alpha1.PodSequence {
		w := MakeSequence(oracleNamespace, "shop").UID("shop").Label("Migration", "tier", "migrate").Label("App", "tier", "app")
		w.CreationTimestamp = metav1.NewTime(now)
		return w.Obj()
	}
	engine := newEngine()
	engine.Tick(now)
	engine.ApplySequence(shop())
	engine.ApplyPod(makePod("migrate", "1").Label("tier", "migrate").Node("node-0").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj())
	status, _ := statusSize(t, engine, "shop")
	require.NotNil(t, status.Groups[0].PassedAt)
	require.NotEmpty(t, status.Memory.Groups[0].Hash)

	cut := func(status v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus {
		status = *status.DeepCopy()
		status.Memory.Groups = nil
		return status
	}
	memoryAlone := func(status v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus {
		status = *status.DeepCopy()
		for i := range status.Groups {
			status.Groups[i].Hash = ""
		}
		return status
	}
	wiped := func(v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus { return v1alpha1.PodSequenceStatus{} }
	for name, test := range map[string]struct {
		write func(v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus
		holds bool
	}{
		"this release":                       {asItIs, true},
		"an earlier release, or a roll-back": {withoutMemory, true},
		"a release that writes memory alone": {memoryAlone, true},
		"a part of the memory is lost":       {cut, true},
		"status was wiped":                   {wiped, false},
	} {
		t.Run(name, func(t *testing.T) {
			ps := shop()
			ps.Status = test.write(status)
			engine := newEngine()
			engine.Tick(now.Add(time.Hour))
			engine.ApplySequence(ps)
			app := makePod("app", "1").Label("tier", "app").Obj()
			engine.ApplyPod(app)
			assert.Equal(t, !test.holds, engine.Decide(app).Held)
		})
	}
}

// What a restart of another release makes of time-outs on a node: nothing is released earlier, whichever wrote status.
func TestTimeOutsOnANodeWhicheverReleaseWroteStatus(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	for name, test := range map[string]struct {
		readyFirst bool
		write      func(v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus
		// held is whether the application waits right after the restart, and after another time-out.
		held, heldLater bool
	}{
		"it timed out; this release":            {false, asItIs, false, false},
		"it timed out; an earlier release":      {false, asAnEarlierRelease, false, false},
		"it timed out; a roll-back counts anew": {false, withoutMemory, true, false},
		"it was lost; this release":             {true, asItIs, true, false},
		"it was lost; an earlier release":       {true, asAnEarlierRelease, true, false},
		"it was lost; a roll-back knows it too": {true, withoutMemory, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			node := fleetNode(0, "1")
			node.CreationTimestamp = metav1.NewTime(start)
			w := MakeSequence(oracleNamespace, "csi").UID("csi").NodeScope().
				Label("Driver", "app", "driver").Timeout("1m", v1alpha1.TimeoutContinue).Label("App", "tier", "app")
			w.CreationTimestamp = metav1.NewTime(start)
			app := makePod("app", "1").Label("tier", "app").NodeSelector(map[string]string{corev1.LabelHostname: node.Name}).Obj()
			node.Labels[corev1.LabelHostname] = node.Name
			begin := func(ps *v1alpha1.PodSequence, at time.Time) answering {
				engine := newEngine()
				engine.Tick(at)
				engine.ApplyNode(node)
				engine.ApplySequence(ps)
				return engine
			}
			engine := begin(w.Obj(), start)
			ready := func(engine answering, version string, status corev1.ConditionStatus, at time.Time) {
				p := driver(0, version, status)
				p.CreationTimestamp = metav1.NewTime(start)
				p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(at)
				engine.ApplyPod(p)
			}
			if test.readyFirst {
				ready(engine, "1", corev1.ConditionTrue, start.Add(time.Second))
			}
			ready(engine, "2", corev1.ConditionFalse, start.Add(2*time.Second))
			if engine.Tick(start.Add(30 * time.Second)); !test.readyFirst {
				engine.Tick(start.Add(time.Hour))
			}
			status, _ := statusSize(t, engine, "csi")
			require.Len(t, status.Memory.Nodes, 1)
			assert.Nil(t, status.NodeStatus[0].TimedOut, "it is apart from what people read")

			ps := w.Obj().DeepCopy()
			ps.Status = test.write(*status.DeepCopy())
			engine = begin(ps, start.Add(2*time.Hour))
			ready(engine, "2", corev1.ConditionFalse, start.Add(2*time.Second))
			engine.ApplyPod(app)
			assert.Equal(t, test.held, engine.Decide(app).Held, "after the restart")
			engine.Tick(start.Add(3 * time.Hour))
			assert.Equal(t, test.heldLater, engine.Decide(app).Held, "later")
		})
	}
}
