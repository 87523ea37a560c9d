package sequence

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/slow"
)

// cloudNode is a name as a cloud gives it.
func cloudNode(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-west-1.compute.internal", i/62500, i/250%250, i%250)
}

// longNode is a name as long as the label of the host name may be.
func longNode(i int) string { return fmt.Sprintf("%s-%05d", strings.Repeat("n", 57), i) }

// fleetOfDrivers is an engine with 5,000 nodes and a driver on each, ready or not, and applications that wait for it.
type fleetOfDrivers struct {
	recording
	name     func(int) string
	sequence *v1alpha1.PodSequence
	pods     []*corev1.Pod
	version  int
	now      time.Time
}

const manyNodes = 5000

func newFleetOfDrivers(name func(int) string, timeout v1alpha1.Duration, groups int) *fleetOfDrivers {
	f := &fleetOfDrivers{name: name, now: time.Unix(1_800_000_000, 0), pods: make([]*corev1.Pod, manyNodes)}
	w := MakeSequence(oracleNamespace, "csi").UID("csi").NodeScope().Label("Driver", "app", "driver")
	if timeout != "" {
		w.Timeout(string(timeout), v1alpha1.TimeoutContinue)
	}
	for i := range groups - 1 {
		w.Label(fmt.Sprintf("%s-%d", strings.Repeat("a", 60), i), "tier", fmt.Sprint("app-", i))
	}
	w.CreationTimestamp = metav1.NewTime(f.now)
	f.sequence = w.Obj()
	f.start()
	return f
}

// start starts an engine that is told of everything there is.
func (f *fleetOfDrivers) start() {
	created := f.sequence.CreationTimestamp
	f.recording = newEngine()
	f.Tick(f.now)
	for i := range manyNodes {
		node := fleetNode(i, "1")
		node.Name, node.CreationTimestamp = f.name(i), created
		f.ApplyNode(node)
		if f.pods[i] != nil {
			f.ApplyPod(f.pods[i])
		}
	}
	f.ApplySequence(f.sequence)
}

func (f *fleetOfDrivers) drivers(ready corev1.ConditionStatus, nodes int) {
	f.version++
	for i := range nodes {
		p := driver(i, fmt.Sprint(f.version), ready)
		p.Spec.NodeName, p.CreationTimestamp = f.name(i), f.sequence.CreationTimestamp
		p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(f.now)
		f.pods[i] = p
		f.ApplyPod(p)
	}
}

func (f *fleetOfDrivers) pass(d time.Duration) {
	f.now = f.now.Add(d)
	f.Tick(f.now)
}

// What status says of 5,000 nodes stays small, whatever their state. docs/proof/figures.md has these sizes.
func TestStatusOfFiveThousandNodesIsSmallWhateverTheirState(t *testing.T) {
	slow.Test(t)
	const completed, waiting = 0, v1alpha1.MaxListedNodes
	states := map[string]struct {
		bring   func(f *fleetOfDrivers)
		timeout v1alpha1.Duration
		listed  int
		most    [2]int // bytes with 2 groups, and with 64 and long names
	}{
		"all completed": {func(f *fleetOfDrivers) { f.drivers(corev1.ConditionTrue, manyNodes) }, "", completed, [2]int{1500, 13_000}},
		"all completed but one": {func(f *fleetOfDrivers) {
			f.drivers(corev1.ConditionTrue, manyNodes)
			f.drivers(corev1.ConditionFalse, 1)
		}, "", 1, [2]int{2000, 13_500}},
		"all waiting": {func(f *fleetOfDrivers) { f.drivers(corev1.ConditionFalse, manyNodes) }, "", waiting, [2]int{71_000, 88_000}},
		"all timed out": {func(f *fleetOfDrivers) {
			f.drivers(corev1.ConditionFalse, manyNodes)
			f.pass(time.Hour)
		}, "1m", waiting, [2]int{135_000, 150_000}},
		"all ready before": {func(f *fleetOfDrivers) {
			f.drivers(corev1.ConditionTrue, manyNodes)
			f.pass(time.Minute)
			f.drivers(corev1.ConditionFalse, manyNodes)
		}, "9h", waiting, [2]int{117_000, 133_000}},
	}
	for name, state := range states {
		for i, fleet := range []*fleetOfDrivers{newFleetOfDrivers(cloudNode, state.timeout, 2), newFleetOfDrivers(longNode, state.timeout, 64)} {
			t.Run(fmt.Sprint(name, []string{"", ", 64 groups, and long names"}[i]), func(t *testing.T) {
				state.bring(fleet)
				status, size := statusSize(t, fleet.recording, "csi")
				assert.LessOrEqual(t, size, state.most[i])
				assert.EqualValues(t, manyNodes, status.NodeSummary.Total)
				assert.Len(t, status.NodeStatus, state.listed)
			})
		}
	}
}
