package sequence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// saidOfNode are the conditions of a node by their types.
type saidOfNode map[string]corev1.NodeCondition

// seeConditions notes what is said of a node.
func (o *oracle) seeConditions(node *corev1.Node) {
	o.said[node.Name] = saidOfNode{}
	for _, c := range node.Status.Conditions {
		o.said[node.Name][string(c.Type)] = c
	}
}

// holds reports whether a node had what a group asks for, and since when; zero if nobody says.
func (o *oracle) holds(said map[string]saidOfNode, node string, r v1alpha1.NodeConditionRequirement) (bool, time.Time) {
	of, known := said[node]
	c, present := of[r.Type]
	status := corev1.ConditionStatus(r.Status)
	if status == "" {
		status = corev1.ConditionTrue
	}
	switch {
	case !known || o.node(node) == nil:
		return false, time.Time{}
	case !present:
		return r.WhenAbsent == v1alpha1.AbsentPass, time.Time{}
	case c.Status != status:
		return false, time.Time{}
	case c.LastTransitionTime.IsZero():
		return true, time.Time{}
	}
	return true, later(c.LastTransitionTime.Time, o.node(node).CreationTimestamp.Time)
}

// addConditions adds to what a group has on a node which of its conditions the node has.
func (o *oracle) addConditions(g v1alpha1.PodGroup, node string, c groupCount) groupCount {
	for _, r := range g.NodeConditions {
		holds, since := o.holds(o.saidNow, node, r)
		if !holds {
			c.satisfied, c.butForObjects = false, false
			continue
		}
		c.conditionsSince = later(c.conditionsSince, since)
		if held, before := o.holds(o.saidBefore, node, r); !held || !before.Equal(since) {
			c.conditionsNews = later(c.conditionsNews, since)
		}
	}
	return c
}

// waitsForMore reports whether a group waits for something else than pods.
func waitsForMore(g v1alpha1.PodGroup) bool { return hasObjects(g) || len(g.NodeConditions) > 0 }

// inAnyOrder are the same requirements, with their defaults.
func inAnyOrder(requirements []v1alpha1.NodeConditionRequirement) []string {
	var all []string
	for _, r := range requirements {
		if r.Status == "" {
			r.Status = metav1.ConditionTrue
		}
		all = append(all, strings.Join([]string{r.Type, string(r.Status), map[bool]string{true: "pass"}[r.WhenAbsent == v1alpha1.AbsentPass]}, " "))
	}
	slices.Sort(all)
	return all
}

// conditionsOfNodes are those that groups of random worlds ask for.
var conditionsOfNodes = []string{"example.com/Healthy", "example.com/Panic", "Ready"}

// requireConditions makes some groups wait for conditions of nodes, and some for nothing else.
func (w *randomWorld) requireConditions(g *v1alpha1.PodGroup) {
	if !w.oneIn(3) {
		return
	}
	types := slices.Clone(conditionsOfNodes)
	w.Shuffle(len(types), func(i, j int) { types[i], types[j] = types[j], types[i] })
	for _, of := range types[:1+w.IntN(2)] {
		g.NodeConditions = append(g.NodeConditions, v1alpha1.NodeConditionRequirement{
			Type: of, Status: pick[metav1.ConditionStatus](w, "", "True", "True", "False", "Unknown"), WhenAbsent: pick[v1alpha1.WhenAbsent](w, "", "Wait", "Pass"),
		})
	}
	if w.oneIn(2) {
		g.Pods, g.PodSelector, g.ExpectedPods, g.MinAvailable, g.MinReadySeconds, g.RequiredCondition = nil, nil, 0, nil, nil, ""
	}
}

// report makes the kubelet of a node report, also of another boot, which means nothing.
func (w *randomWorld) report(node *corev1.Node, boots bool) {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: pick(w, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)}
	ready.LastTransitionTime = w.apiTime()
	for _, before := range node.Status.Conditions {
		if before.Status == ready.Status {
			ready.LastTransitionTime = before.LastTransitionTime
		}
	}
	ready.LastHeartbeatTime = metav1.NewTime(w.clock.Add(pick(w, 0, 0, 0, 2*time.Minute)).Truncate(time.Second))
	if w.oneIn(12) {
		ready.LastHeartbeatTime = metav1.Time{} // as no kubelet does
	}
	node.Status.Conditions = append([]corev1.NodeCondition{ready}, othersThanReady(node)...)
	if boots {
		node.Status.NodeInfo.BootID = pick(w, fmt.Sprintf("boot-%d", w.serial), fmt.Sprintf("boot-%d", w.serial), "")
	}
}

// sayOf makes an agent say something of a node.
func (w *randomWorld) sayOf(node *corev1.Node) {
	if !w.oneIn(2) {
		return
	}
	of := corev1.NodeConditionType(conditionsOfNodes[w.IntN(2)])
	is := corev1.NodeCondition{
		Type: of, Status: pick(w, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown),
		LastTransitionTime: w.apiTime(), LastHeartbeatTime: metav1.NewTime(w.clock.Truncate(time.Second)),
	}
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == of })
	switch {
	case i < 0:
		node.Status.Conditions = append(node.Status.Conditions, is)
	case w.oneIn(6):
		node.Status.Conditions = slices.Delete(node.Status.Conditions, i, i+1)
		return
	default:
		if was := node.Status.Conditions[i]; was.Status == is.Status && !w.oneIn(4) {
			is.LastTransitionTime = was.LastTransitionTime
		}
	}
	if w.oneIn(4) {
		is.LastHeartbeatTime = metav1.Time{}
	}
	if w.oneIn(12) {
		is.LastTransitionTime = metav1.Time{}
	}
	if i >= 0 {
		node.Status.Conditions[i] = is
	} else {
		node.Status.Conditions[len(node.Status.Conditions)-1] = is
	}
}

func othersThanReady(node *corev1.Node) []corev1.NodeCondition {
	return slices.DeleteFunc(slices.Clone(node.Status.Conditions), func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
}

// countConditionsSeen tells how often groups waited for conditions of nodes.
func (c *comparison) countConditionsSeen() {
	for _, v := range c.oracle.views {
		for _, course := range v.courses {
			for i, g := range v.Spec.PodGroups {
				if course.node == "" || len(g.NodeConditions) == 0 || !c.oracle.applies(g, course.node) {
					continue
				}
				kind := "beside members"
				if isMemberless(g) {
					kind = "alone"
				}
				if course.groups[i].satisfied {
					c.seen["conditions of a node hold "+kind]++
				} else {
					c.seen["conditions of a node are waited for "+kind]++
				}
			}
		}
	}
}
