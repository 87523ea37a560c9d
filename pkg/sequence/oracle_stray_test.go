package sequence

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
)

// strays are the pods with the label of a sequence of their namespace that no group of it selects. What ended, is going, or runs beside the
// start of a release is none.
func (o *oracle) strays(v *view) []*corev1.Pod {
	var found []*corev1.Pod
	for _, p := range o.pods {
		ends := p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if asksFor(p, v) && !ends && !o.isOnTheSide(p) && groupOf(v, p) < 0 {
			found = append(found, p)
		}
	}
	return found
}

func asksFor(p *corev1.Pod, v *view) bool {
	return v.cluster == nil && p.Namespace == v.Namespace && p.Labels["podsequence.example.com/sequence"] == v.Name
}

// checkStrays compares whether a sequence tells of stray pods. One that does not make sense, or may hold nothing, tells of that instead.
func (c *comparison) checkStrays(v *view, r report.Report) error {
	at := slices.IndexFunc(r.Problems, func(p order.Problem) bool { return p.Reason == "StrayPods" })
	if r.Refused || slices.ContainsFunc(r.Problems, func(p order.Problem) bool { return p.Reason == "InvalidSpec" }) {
		if at >= 0 {
			return fmt.Errorf("%s: tells of stray pods, and cannot know", v.Name)
		}
		return nil
	}
	strays := c.oracle.strays(v)
	if (at >= 0) != (len(strays) > 0) {
		return fmt.Errorf("%s: tells of stray pods is %t, want %d", v.Name, at >= 0, len(strays))
	}
	if at >= 0 {
		c.seen["sequence with stray pods"]++
		if len(strays) == 1 && !strings.Contains(r.Problems[at].Message, "pod "+strays[0].Name+" has ") {
			return fmt.Errorf("%s: does not name stray pod %s: %s", v.Name, strays[0].Name, r.Problems[at].Message)
		}
	}
	return nil
}
