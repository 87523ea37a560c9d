package inventory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhenANodeBooted(t *testing.T) {
	at := func(seconds int) metav1.Time {
		return metav1.NewTime(time.Date(2026, 1, 1, 12, 0, seconds, 0, time.UTC))
	}
	reports := func(uid types.UID, bootID string, heartbeat, readySince int) *corev1.Node {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: uid}}
		node.Status.NodeInfo.BootID = bootID
		ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: at(heartbeat), LastTransitionTime: at(readySince)}
		if readySince < 0 {
			ready.Status = corev1.ConditionFalse
		}
		node.Status.Conditions = []corev1.NodeCondition{ready}
		return node
	}
	undated := func(uid types.UID, bootID string) *corev1.Node {
		node := reports(uid, bootID, 0, 0)
		node.Status.Conditions = nil
		return node
	}
	first, second := reports("u", "one", 0, 0), reports("u", "two", 300, 0)
	tests := map[string]struct {
		seen []*corev1.Node
		want metav1.Time // zero: nobody saw it boot, or long ago
	}{
		"who sees it for the first time does not know":                                {seen: []*corev1.Node{second}},
		"another boot ID is a boot":                                                   {seen: []*corev1.Node{first, second}, want: at(300)},
		"a heartbeat is none":                                                         {seen: []*corev1.Node{first, reports("u", "one", 300, 0)}},
		"a boot ID that is said for the first time is none":                           {seen: []*corev1.Node{reports("u", "", 0, 0), first}},
		"a boot ID that is not said is none":                                          {seen: []*corev1.Node{first, reports("u", "", 300, 0), reports("u", "one", 301, 0)}},
		"a node that is made again is another node":                                   {seen: []*corev1.Node{first, reports("v", "two", 300, 0)}},
		"a heartbeat soon after the boot":                                             {seen: []*corev1.Node{first, second, reports("u", "two", 359, 0)}, want: at(300)},
		"one a minute later ends it":                                                  {seen: []*corev1.Node{first, second, reports("u", "two", 360, 0)}},
		"not if the kubelet is not ready":                                             {seen: []*corev1.Node{first, second, reports("u", "two", 900, -1)}, want: at(300)},
		"nor if it turned ready less than a minute ago":                               {seen: []*corev1.Node{first, second, reports("u", "two", 900, 850)}, want: at(300)},
		"a clock that was set back after the boot ends it, too":                       {seen: []*corev1.Node{first, second, reports("u", "two", 100, 0)}},
		"a clock that is behind after the boot: not before the kubelet last reported": {seen: []*corev1.Node{second, reports("u", "three", 100, 0)}, want: at(300)},
		"nor before it did in a report that changes nothing else":                     {seen: []*corev1.Node{first, reports("u", "one", 300, 0), reports("u", "two", 100, 0)}, want: at(300)},
		"nor before an earlier boot":                                                  {seen: []*corev1.Node{first, second, reports("u", "two", 100, -1), reports("u", "three", 101, 0)}, want: at(300)},
		"a boot that nobody dates: not before the kubelet last reported":              {seen: []*corev1.Node{first, second, undated("u", "three")}, want: at(300)},
		"a clock that was ahead until after the node was ready":                       {seen: []*corev1.Node{first, reports("u", "two", 900, 901), reports("u", "two", 310, 901)}},
		"a boot after a boot":                                                         {seen: []*corev1.Node{first, second, reports("u", "three", 310, 0)}, want: at(310)},
		"a boot of which it is only said later that the node is ready":                {seen: []*corev1.Node{first, reports("u", "two", 300, -1), reports("u", "two", 310, 310)}, want: at(300)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			node := ViewNode(test.seen[0])
			for _, object := range test.seen[1:] {
				next := ViewNode(object)
				next.FollowBoot(&node)
				node = next
			}
			assert.True(t, test.want.Time.Equal(node.BootedAt), "booted at %s", node.BootedAt)
		})
	}
}
