package deploymentcoordination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	v1 "example.com/podsequence/apis/apps/v1"
)

func TestReadySince(t *testing.T) {
	ready := func(d time.Duration) corev1.Pod {
		pod := st.MakePod().Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj()
		pod.Status.Conditions[0].LastTransitionTime = *at(d)
		return *pod
	}
	unready := *st.MakePod().Condition(corev1.PodReady, corev1.ConditionFalse, "").Obj()
	terminating := *st.MakePod().Terminating().Obj()
	deleted := ready(-time.Second)
	deleted.DeletionTimestamp = at(0)
	ended := func(phase corev1.PodPhase) corev1.Pod {
		pod := ready(-time.Second)
		pod.Status.Phase = phase
		return pod
	}
	for name, tc := range map[string]struct {
		pods   []corev1.Pod
		wanted int
		want   time.Duration
		never  bool // they are not ready
	}{
		"the latest counts":                      {pods: []corev1.Pod{ready(-9 * time.Second), ready(-5 * time.Second)}, wanted: 2, want: -5 * time.Second},
		"a terminating pod does not":             {pods: []corev1.Pod{ready(-9 * time.Second), terminating}, wanted: 1, want: -9 * time.Second},
		"an evicted pod does not":                {pods: []corev1.Pod{ready(-9 * time.Second), ended(corev1.PodFailed)}, wanted: 1, want: -9 * time.Second},
		"an evicted pod is none that is wanted":  {pods: []corev1.Pod{ready(-9 * time.Second), ended(corev1.PodFailed)}, wanted: 2, never: true},
		"nor one that is about to end":           {pods: []corev1.Pod{deleted}, wanted: 1, never: true},
		"nor one that has succeeded":             {pods: []corev1.Pod{ended(corev1.PodSucceeded)}, wanted: 1, never: true},
		"a time that is yet to come does not":    {pods: []corev1.Pod{ready(-9 * time.Second), ready(time.Hour)}, wanted: 2, want: -9 * time.Second},
		"a pod more than the rollout had":        {pods: []corev1.Pod{ready(-9 * time.Second), unready, ready(-time.Second)}, wanted: 1, want: -9 * time.Second},
		"a pod that is not ready":                {pods: []corev1.Pod{ready(0), unready}, wanted: 2, never: true},
		"a pod that is not there":                {pods: []corev1.Pod{ready(0)}, wanted: 2, never: true},
		"without pods there is none to wait for": {},
	} {
		t.Run(name, func(t *testing.T) {
			got := readySince(tc.pods, tc.wanted, noon)
			switch {
			case tc.never:
				assert.Nil(t, got)
			case tc.wanted == 0:
				assert.Equal(t, new(time.Time{}), got)
			default:
				assert.Equal(t, new(noon.Add(tc.want)), got)
			}
		})
	}
}

func TestRolledOut(t *testing.T) {
	known := record(deployment("a"))
	before := record(deployment("a", changed), pending(0))
	for name, tc := range map[string]struct {
		member Member
		known  bool
		want   bool
	}{
		"complete":                                {member: deployment("a"), want: true},
		"known to be, and a pod fails":            {member: deployment("a", failing), known: true, want: true},
		"not known to be, and a pod is not ready": {member: deployment("a", failing)},
		"known to be, and its ReplicaSet is deleted": {
			member: deployment("a", func(m *Member) { m.ReplicaSets = nil }), known: true, want: true,
		},
		"not known to be, without a ReplicaSet": {member: deployment("a", func(m *Member) { m.ReplicaSets = nil })},
		"changed, without a ReplicaSet": {
			member: deployment("a", changed, func(m *Member) { m.ReplicaSets = nil }), known: true,
		},
		"nothing done yet": {member: deployment("a", changed), known: true},
		"halfway":          {member: deployment("a", rolling), known: true},
		"halfway back": {
			member: deployment("a", rolling, func(m *Member) { setTemplate(m.Deployment, "first") }), known: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.known {
				assert.Equal(t, tc.want, tc.member.rolledOut(&known))
				return
			}
			assert.Equal(t, tc.want, tc.member.rolledOut(nil))
			assert.Equal(t, tc.want, tc.member.rolledOut(&before))
		})
	}
}

// It was complete for a moment, and has been scaled before anybody looked. The pods that are added may never have room.
func TestARolloutThatWasCompleteAndWasScaledBeforeItWasSeen(t *testing.T) {
	scaled := func(m *Member) {
		*m.Deployment.Spec.Replicas = 9
		m.Deployment.Status.Replicas, m.Deployment.Status.UpdatedReplicas = 9, 9
	}
	ended := progress("NewReplicaSetAvailable", -3*time.Second)
	underWay := record(deployment("a", changed), pending(long), started(-10*time.Second))
	for name, tc := range map[string]struct {
		member Member
		record v1.DeploymentState
		want   bool
	}{
		"the Deployment controller says that it was":    {member: deployment("a", rolled, scaled, ended), record: underWay, want: true},
		"it says so of the rollout before":              {member: deployment("a", rolled, scaled, progress("NewReplicaSetAvailable", -20*time.Second)), record: underWay},
		"nobody knows which rollout it says so of":      {member: deployment("a", rolled, scaled, ended), record: record(deployment("a", changed), pending(long))},
		"it says so of the template before":             {member: deployment("a", rolled, scaled, ended), record: record(deployment("a"), pending(long), started(-10*time.Second))},
		"it has yet to count the pods of this template": {member: deployment("a", rolled, scaled, ended, func(m *Member) { m.Deployment.Status.UpdatedReplicas = 0 }), record: underWay},
		"it has yet to see the last change":             {member: deployment("a", rolled, scaled, ended, func(m *Member) { m.Deployment.Generation++ }), record: underWay},
		"it has paused since":                           {member: deployment("a", rolled, scaled, progress("DeploymentPaused", -time.Second)), record: underWay},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, tc.member.rolledOut(&tc.record))
		})
	}
}
