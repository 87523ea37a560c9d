package deploymentcoordination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

func TestReadySince(t *testing.T) {
	ready := func(d time.Duration) corev1.Pod {
		pod := st.MakePod().Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj()
		pod.Status.Conditions[0].LastTransitionTime = *at(d)
		return *pod
	}
	unready := *st.MakePod().Condition(corev1.PodReady, corev1.ConditionFalse, "").Obj()
	terminating := *st.MakePod().Terminating().Obj()
	for name, tc := range map[string]struct {
		pods []corev1.Pod
		want time.Time
	}{
		"the latest counts":                      {pods: []corev1.Pod{ready(-9 * time.Second), ready(-5 * time.Second)}, want: noon.Add(-5 * time.Second)},
		"a terminating pod does not":             {pods: []corev1.Pod{ready(-9 * time.Second), terminating}, want: noon.Add(-9 * time.Second)},
		"a time that is yet to come does not":    {pods: []corev1.Pod{ready(-9 * time.Second), ready(time.Hour)}, want: noon.Add(-9 * time.Second)},
		"without pods there is none to wait for": {},
	} {
		t.Run(name, func(t *testing.T) {
			got := readySince(tc.pods, noon)
			if assert.NotNil(t, got) {
				assert.Equal(t, tc.want, *got)
			}
		})
	}
	assert.Nil(t, readySince([]corev1.Pod{ready(0), unready}, noon), "a pod that is not ready")
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
		"nothing done yet":                        {member: deployment("a", changed), known: true},
		"halfway":                                 {member: deployment("a", rolling), known: true},
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
