package ordercheck

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// boots makes the kubelet of a node report the boot with this ID, and that the node has been ready since it was created.
func boots(name, id string) step {
	return func(s *story) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, exists := s.nodes[name]; !exists {
			s.nodes[name] = s.whole()
		}
		n.CreationTimestamp = s.nodes[name]
		n.UID = types.UID(n.CreationTimestamp.Format(time.TimeOnly))
		n.Status.NodeInfo.BootID = id
		n.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: s.whole(), LastTransitionTime: n.CreationTimestamp,
		}}
		s.changed(factsOfNode(n), false)
	}
}

func TestJudgeDoesNotBelieveWhatWasReadyBeforeABoot(t *testing.T) {
	const late = 4 * time.Second
	first := boots("node-1", "one")
	driver := several(create("csi-1", labelled("tier", "csi"), at("node-1")), ready("csi-1"), passing(late))
	perNodeOrder := order("s", perNode, tier("csi"), named("app"))
	again := order("s", continuously, tier("csi"), named("app"))
	once := order("s", tier("csi"), named("app"))
	app := several(create("app"), bindTo("app", "node-1"))
	checkAll(t, map[string]judgement{
		"a pod bound on what was ready before the boot is early": {
			steps:     []step{first, perNodeOrder, driver, boots("node-1", "two"), passing(late), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"by Continuous across the cluster, too": {
			steps:     []step{first, again, driver, boots("node-1", "two"), passing(late), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"what passed permanently before the boot stays": {
			steps: []step{first, once, driver, boots("node-1", "two"), passing(late), app}, wantBindings: 2,
		},
		"what had not passed does not pass on it": {
			steps: []step{first, driver, boots("node-1", "two"), passing(late), once, app}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"the boot of another node is another matter": {
			steps: []step{first, boots("node-2", "one"), perNodeOrder, driver, boots("node-2", "two"), passing(late), app}, wantBindings: 2,
		},
		"a heartbeat is no boot": {
			steps: []step{first, perNodeOrder, driver, first, passing(late), app}, wantBindings: 2,
		},
		"what turned ready after the boot counts": {
			steps: []step{first, perNodeOrder, driver, boots("node-1", "two"), unready("csi-1"), passing(late), ready("csi-1"), app}, wantBindings: 2,
		},
		"the scheduler may be a moment behind": {
			steps: []step{first, perNodeOrder, driver, boots("node-1", "two"), app}, wantBindings: 2,
		},
		"a kubelet that has been ready for a minute has reported on all pods": {
			steps: []step{first, perNodeOrder, driver, boots("node-1", "two"), passing(time.Minute), boots("node-1", "two"), app}, wantBindings: 2,
		},
		"a little earlier it may not": {
			steps:     []step{first, perNodeOrder, driver, boots("node-1", "two"), passing(50 * time.Second), boots("node-1", "two"), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"what succeeded did its work": {
			steps: []step{first, perNodeOrder, several(create("csi-1", labelled("tier", "csi"), at("node-1")), edit("csi-1", succeeded), passing(late)),
				boots("node-1", "two"), passing(late), app},
			wantBindings: 2,
		},
	})
}
