package sequence

import corev1 "k8s.io/api/core/v1"

func app(name, version string) *corev1.Pod { return makePod(name, version).Label("tier", "app").Obj() }

// readyPod is a pod that is ready on a node.
func readyPod(namespace, name, tier, version string) *corev1.Pod {
	return makePod(name, version).Namespace(namespace).Label("tier", tier).Node("node").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj()
}
