package lint

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// CountWorkloads returns how many workloads make pods by themselves, and how many pods nothing makes.
func CountWorkloads(s *snapshot.Snapshot) (workloads, pods int) {
	for _, kind := range inventory.WorkloadKinds {
		for _, object := range s.Workloads[kind.Kind] {
			if makesPods(kind, object) {
				workloads++
			}
		}
	}
	for _, pod := range s.Pods {
		if metav1.GetControllerOfNoCopy(pod) == nil {
			pods++
		}
	}
	return workloads, pods
}

// makesPods reports whether a workload makes pods by itself: the ReplicaSets of a Deployment are a part of that.
func makesPods(kind inventory.WorkloadKind, object metav1.Object) bool {
	return kind.Template(object) != nil && (kind.Kind != inventory.KindReplicaSet || metav1.GetControllerOfNoCopy(object) == nil)
}

// Contents says what there is to check, such as: 1 PodSequence and 3 workloads. kinds counts the objects of our kinds.
func Contents(s *snapshot.Snapshot, kinds map[string]int) string {
	var parts []string
	sequences := kinds["PodSequence"] + kinds["ClusterPodSequence"]
	for _, kind := range []string{"PodSequence", "ClusterPodSequence", "SequentialJob", "DeploymentCoordination"} {
		if kinds[kind] > 0 || kind == "PodSequence" && len(kinds) == 0 {
			parts = append(parts, count(kinds[kind], kind))
		}
	}
	workloads, pods := CountWorkloads(s)
	if sequences > 0 || len(kinds) == 0 {
		parts = append(parts, count(workloads, "workload"))
		if pods > 0 {
			parts = append(parts, count(pods, "pod"))
		}
	}
	last := len(parts) - 1
	if last == 0 {
		return parts[0]
	}
	return strings.Join(slices.Clip(parts[:last]), ", ") + " and " + parts[last]
}

// count says how many of a thing there are, such as: 1 error, or 2 errors.
func count(number int, thing string) string {
	if number != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", number, thing)
}
