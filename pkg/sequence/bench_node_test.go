package sequence

import (
	"fmt"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

var clusterSizes = []int{100, 1_000, 5_000}

// fleet is an engine with so many nodes, a DaemonSet whose pods are ready on all of them but the last, and an application
// of as many free pods that wait for it.
func fleet(nodes int) recording {
	engine := newEngine()
	for i := range nodes {
		engine.ApplyNode(fleetNode(i, "1"))
	}
	engine.ApplyWorkload(driverSet("1", 1))
	ps := MakeSequence(oracleNamespace, "csi").UID("csi").Label("Driver", "app", "driver").Label("Application", "tier", "app").Obj()
	ps.Spec.Scope = v1alpha1.ScopeNode
	engine.ApplySequence(ps)
	for i := range nodes {
		if i < nodes-1 {
			engine.ApplyPod(driver(i, "1", corev1.ConditionTrue))
		}
		engine.ApplyPod(makePod("app-"+strconv.Itoa(i), "1").Label("tier", "app").Obj())
	}
	return engine
}

func fleetNode(i int, version string) *corev1.Node {
	node := st.MakeNode().Name("node-"+strconv.Itoa(i)).Label("zone", strconv.Itoa(i%3)).Obj()
	node.ResourceVersion = version
	return node
}

func driver(i int, version string, ready corev1.ConditionStatus) *corev1.Pod {
	p := makePod("driver-"+strconv.Itoa(i), version).Label("app", "driver").Node("node-"+strconv.Itoa(i)).
		Condition(corev1.PodReady, ready, "").Obj()
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "DaemonSet", Name: "driver", UID: "driver", Controller: new(true),
	}}
	return p
}

func driverSet(version string, generation int64) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: oracleNamespace, Name: "driver", UID: "driver", ResourceVersion: version, Generation: generation,
	}}
	set.Spec.Template.Labels = map[string]string{"app": "driver"}
	return set
}

func perClusterSize(b *testing.B, run func(b *testing.B, engine recording, nodes int)) {
	for _, nodes := range clusterSizes {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			engine := fleet(nodes)
			b.ReportAllocs()
			run(b, engine, nodes)
		})
	}
}

// BenchmarkDriverEvent measures a driver's change of readiness on one node, by which the node closes or opens. As it
// opens, all pods that may use it are released: here there are none left but those that wait for a place.
func BenchmarkDriverEvent(b *testing.B) {
	perClusterSize(b, func(b *testing.B, engine recording, nodes int) {
		for i := range nodes {
			engine.RemovePod(makePod("app-"+strconv.Itoa(i), "1").Obj())
		}
		version := 1
		for b.Loop() {
			version++
			status := corev1.ConditionTrue
			if version%2 == 0 {
				status = corev1.ConditionFalse
			}
			engine.ApplyPod(driver(0, strconv.Itoa(version), status))
		}
	})
}

// BenchmarkFreePodEvent measures the arrival of one more pod that may be scheduled to any open node.
func BenchmarkFreePodEvent(b *testing.B) {
	perClusterSize(b, func(b *testing.B, engine recording, _ int) {
		version := 1
		for b.Loop() {
			version++
			engine.ApplyPod(makePod("app-0", strconv.Itoa(version)).Label("tier", "app").Obj())
		}
	})
}

// BenchmarkNodeEvent measures a node whose labels change.
func BenchmarkNodeEvent(b *testing.B) {
	perClusterSize(b, func(b *testing.B, engine recording, _ int) {
		version := 1
		for b.Loop() {
			version++
			node := fleetNode(0, strconv.Itoa(version))
			node.Labels["turn"] = strconv.Itoa(version)
			engine.ApplyNode(node)
		}
	})
}

// BenchmarkHeartbeat measures an update of a node in which nothing changes that matters.
func BenchmarkHeartbeat(b *testing.B) {
	perClusterSize(b, func(b *testing.B, engine recording, _ int) {
		version := 1
		for b.Loop() {
			version++
			engine.ApplyNode(fleetNode(0, strconv.Itoa(version)))
		}
	})
}

// BenchmarkDaemonSetStatus and BenchmarkDaemonSetTemplate measure the two kinds of change of a DaemonSet.
func BenchmarkDaemonSetStatus(b *testing.B) {
	perClusterSize(b, func(b *testing.B, engine recording, _ int) {
		version := 1
		for b.Loop() {
			version++
			engine.ApplyWorkload(driverSet(strconv.Itoa(version), 1))
		}
	})
}

func BenchmarkDaemonSetTemplate(b *testing.B) {
	perClusterSize(b, func(b *testing.B, engine recording, _ int) {
		version := 1
		for b.Loop() {
			version++
			engine.ApplyWorkload(driverSet(strconv.Itoa(version), int64(version)))
		}
	})
}

// BenchmarkDecideFreePod measures what PreEnqueue costs for a pod that may be scheduled to some nodes only.
func BenchmarkDecideFreePod(b *testing.B) {
	perClusterSize(b, func(b *testing.B, engine recording, _ int) {
		free := makePod("app-1", "1").Label("tier", "app").Obj()
		for b.Loop() {
			if engine.Decide(free).Held {
				b.Fatal("the pod is held")
			}
		}
	})
}

// BenchmarkOpen measures what Filter costs for one node.
func BenchmarkOpen(b *testing.B) {
	perClusterSize(b, func(b *testing.B, engine recording, _ int) {
		placement := engine.Placement(makePod("app-1", "1").Label("tier", "app").Obj())
		for b.Loop() {
			placement.Open("node-0")
		}
	})
}

// BenchmarkPlacement measures what PreFilter costs, for a pod that sequences keep from some nodes and for one of no
// sequence.
func BenchmarkPlacement(b *testing.B) {
	for name, tier := range map[string]string{"concerned": "app", "not concerned": "other"} {
		b.Run(name, func(b *testing.B) {
			perClusterSize(b, func(b *testing.B, engine recording, _ int) {
				pod := makePod("one-more", "1").Label("tier", tier).Obj()
				engine.ApplyPod(pod)
				for b.Loop() {
					engine.Placement(pod)
				}
			})
		})
	}
}
