package readiness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
)

func TestWhenAGroupIsSatisfied(t *testing.T) {
	byLabel := func(minAvailable *intstr.IntOrString) *order.Group {
		return &order.Group{Selector: labels.Everything(), MinAvailable: minAvailable}
	}
	byName := &order.Group{Names: map[string]struct{}{"db-0": {}, "db-1": {}}}
	ofTwo := new(intstr.FromInt32(2))
	tests := map[string]struct {
		group Group
		want  bool
		says  string
	}{
		"nothing matches yet": {
			group: Group{Group: byLabel(nil)}, says: "no pod matches it yet",
		},
		"a workload that is scaled to zero": {
			group: Group{Group: byLabel(nil), Demands: &Demands{Workloads: 1}}, want: true, says: "0 of 0 pods ready",
		},
		"a surplus of one workload covers no gap of another": {
			group: Group{Group: byLabel(nil), Demands: &Demands{Workloads: 2, Need: 4, Ready: 3, Observed: 3, Short: 1}}, says: "3 of 4 pods ready",
		},
		"every name is expected": {
			group: Group{Group: byName, Members: &Members{Ready: 1}}, says: "1 of 2 pods ready",
		},
		"all names are ready": {
			group: Group{Group: byName, Members: &Members{Ready: 2}}, want: true, says: "2 of 2 pods ready",
		},
		"a pod whose owner is not known may have siblings": {
			group: Group{Group: byLabel(nil), Members: &Members{Expected: 1, Ready: 1, Unseen: 1}}, says: "1 of 1 pods ready, a pod's owner is not known yet",
		},
		"a number of pods is enough, whatever else is expected": {
			group: Group{Group: byLabel(ofTwo), Demands: &Demands{Workloads: 1, Need: 9, Ready: 2, Observed: 2, Short: 1}},
			want:  true, says: "2 of 2 needed pods ready (9 expected)",
		},
		"pods of a newest version that nobody has observed are not counted for a number": {
			group: Group{Group: byLabel(ofTwo), Demands: &Demands{Workloads: 1, Need: 9, Ready: 2, Unobserved: 1, Short: 1}},
			says:  "0 of 2 needed pods ready (9 expected)",
		},
		"a DaemonSet has no pod on the node": {
			group: Group{Group: byLabel(nil), OnNode: true, MissingOnNode: 1}, says: "0 of 1 pods ready, a DaemonSet has no pod on this node yet",
		},
		"an unreadable group": {
			group: Group{Group: &order.Group{Selector: labels.Everything(), Unreadable: true}, Members: &Members{Expected: 1, Ready: 1}},
			says:  "1 of 1 pods ready",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.group.Members == nil {
				test.group.Members = &Members{}
			}
			if test.group.Demands == nil {
				test.group.Demands = &Demands{}
			}
			need := test.group.Need()
			assert.Equal(t, test.want, test.group.IsSatisfied(need))
			assert.Equal(t, test.says, need.String())
		})
	}
}

func TestWhatAWorkloadWants(t *testing.T) {
	const ready, complete = v1alpha1.RequireReady, v1alpha1.RequireComplete
	deployment := inventory.Workload{Kind: inventory.KindDeployment, Expected: 3, Observed: true}
	job := inventory.Workload{Kind: inventory.KindJob, Expected: 2, ExpectedComplete: 4, Observed: true}
	done := job
	done.Complete = true
	old := job
	old.Superseded = true
	tests := map[string]struct {
		demand Demand
		want   Demands
	}{
		"too few": {
			demand: Demand{Workload: &deployment, Required: ready, Done: 2},
			want:   Demands{Workloads: 1, Need: 3, Ready: 2, Observed: 2, Short: 1},
		},
		"a surplus is not entered": {
			demand: Demand{Workload: &deployment, Required: ready, Done: 5},
			want:   Demands{Workloads: 1, Need: 3, Ready: 3, Observed: 3},
		},
		"what earlier groups have is subtracted": {
			demand: Demand{Workload: &deployment, Required: ready, Claimed: 1, NamedBefore: 1, Done: 1},
			want:   Demands{Workloads: 1, Need: 1, Ready: 1, Observed: 1},
		},
		"a Job whose pods are done is not complete": {
			demand: Demand{Workload: &job, Required: complete, Done: 4},
			want:   Demands{Workloads: 1, Need: 4, Ready: 4, Observed: 4, Short: 1},
		},
		"a complete Job, whatever is left of its pods": {
			demand: Demand{Workload: &done, Required: ready},
			want:   Demands{Workloads: 1, Need: 2, Ready: 2, Observed: 2},
		},
		"a Job of a CronJob that has a newer one": {
			demand: Demand{Workload: &old, Required: ready},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, test.demand.Sum()) })
	}
}

func TestHowAMemberCounts(t *testing.T) {
	created := time.Unix(1_700_000_000, 0)
	readyBefore := &inventory.Pod{Ready: true, ReadyAt: inventory.TimestampOf(created.Add(-time.Minute)), CreatedAt: inventory.TimestampOf(created.Add(-time.Hour))}
	failed, replaced := &inventory.Pod{Failed: true}, &inventory.Pod{Failed: true, OwnerUID: types.UID("u")}
	assert.Equal(t, Member{Expected: true, Ready: true}, ByItself(readyBefore, inventory.Requirement{}, time.Time{}))
	assert.Equal(t, Member{Expected: true, Stale: true}, ByItself(readyBefore, inventory.Requirement{}, created), "it was ready on another node of this name")
	assert.Equal(t, Member{Expected: true, Failed: true}, ByItself(failed, inventory.Requirement{}, time.Time{}))
	assert.Equal(t, Member{}, OnNode(replaced, inventory.Requirement{}, created))
	assert.Equal(t, RoleReplaced, RoleOf(replaced, false, false, false))
	assert.Equal(t, RoleNamed, RoleOf(replaced, true, true, true), "a name comes first")
	assert.Equal(t, RoleOwned, RoleOf(replaced, false, true, false))
}
