package sequence

import (
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	. "example.com/podsequence/test/harness/builders"
)

// growingCluster is a cluster of a size from which an engine can be fed. With 15,000 nodes it has 1,000 sequences and 150,000 pods:
//
//   - 10 ClusterPodSequences of scope Node: network and storage, whose drivers run on every node and for which the pods of all tenants wait, and
//     8 of a pool of nodes each. The driver of storage also waits for an object.
//   - 900 PodSequences of scope Cluster, each in the namespace of a team: 3 pods of a database, 27 of a cache and 69 of a web server. In
//     every tenth namespace the first pod of the database is not ready, and the other two groups are held. That of team-0 is Continuous.
//   - 90 PodSequences of scope Node, each in the namespace of a platform: an agent that runs on one in 90 nodes, and 10 pods that wait for it.
//
// On every hundredth node the driver of storage is not ready.
type growingCluster struct {
	nodes, teams, platforms int
	version                 int
}

const (
	growthPools     = 8
	growthDatabase  = 3
	growthCache     = 27
	growthWeb       = 69
	growthPlatforms = 10 // pods of each platform that wait for its agent
)

var growthNow = time.Unix(1_800_000_000, 0)

func newGrowingCluster(nodes int) *growingCluster {
	return &growingCluster{nodes: nodes, teams: nodes * 900 / 15_000, platforms: max(nodes*90/15_000, 1)}
}

func (g *growingCluster) next() string {
	g.version++
	return strconv.Itoa(g.version)
}

func (g *growingCluster) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), ResourceVersion: g.next(), Generation: 1,
		CreationTimestamp: metav1.NewTime(growthNow.Add(-time.Hour)),
	}
}

func team(i int) string     { return "team-" + strconv.Itoa(i) }
func platform(i int) string { return "platform-" + strconv.Itoa(i) }
func pool(i int) string     { return "pool-" + strconv.Itoa(i%growthPools) }

func (g *growingCluster) node(i int) *corev1.Node {
	ago := metav1.NewTime(growthNow.Add(-time.Hour))
	n := &corev1.Node{ObjectMeta: g.meta("", cloudNode(i))}
	n.Labels = map[string]string{
		corev1.LabelHostname: n.Name, corev1.LabelTopologyZone: "eu-west-1" + string(rune('a'+i%3)), corev1.LabelTopologyRegion: "eu-west-1",
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", corev1.LabelInstanceTypeStable: "m7i.4xlarge",
		"pool": pool(i), "platform": platform(i % g.platforms),
	}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
	for _, condition := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady} {
		status := corev1.ConditionFalse
		if condition == corev1.NodeReady {
			status = corev1.ConditionTrue
		}
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: condition, Status: status, LastHeartbeatTime: metav1.NewTime(growthNow), LastTransitionTime: ago,
		})
	}
	return n
}

func (g *growingCluster) namespace(name string, labels map[string]string) *corev1.Namespace {
	meta := g.meta("", name)
	meta.Labels = labels
	return &corev1.Namespace{ObjectMeta: meta}
}

func (g *growingCluster) allNamespaces() []*corev1.Namespace {
	all := []*corev1.Namespace{g.namespace("kube-system", nil)}
	for i := range g.teams {
		all = append(all, g.namespace(team(i), map[string]string{"tenant": "yes", "pool": pool(i)}))
	}
	for i := range g.platforms {
		all = append(all, g.namespace(platform(i), nil))
	}
	return all
}

// drivers are the DaemonSets of the ClusterPodSequences.
func drivers() []string {
	names := []string{"network", "storage"}
	for i := range growthPools {
		names = append(names, pool(i))
	}
	return names
}

func (g *growingCluster) daemonSet(namespace, name string, nodeSelector map[string]string) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: g.meta(namespace, name)}
	set.Spec.Template.Labels, set.Spec.Template.Spec.NodeSelector = map[string]string{"app": name}, nodeSelector
	set.Status.ObservedGeneration = 1
	return set
}

func (g *growingCluster) driverSet(name string) *appsv1.DaemonSet {
	if name == "network" || name == "storage" {
		return g.daemonSet("kube-system", name, nil)
	}
	return g.daemonSet("kube-system", name, map[string]string{"pool": name})
}

func (g *growingCluster) deployment(namespace, name string, replicas int32) (*appsv1.Deployment, *appsv1.ReplicaSet) {
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}}
	deployment := &appsv1.Deployment{
		ObjectMeta: g.meta(namespace, name), Spec: appsv1.DeploymentSpec{Replicas: &replicas, Template: template},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 1},
	}
	set := &appsv1.ReplicaSet{
		ObjectMeta: g.meta(namespace, name+"-5d4f8c7b9"), Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Template: template},
		Status: appsv1.ReplicaSetStatus{ObservedGeneration: 1},
	}
	set.OwnerReferences = owned("Deployment", deployment)
	return deployment, set
}

func owned(kind string, by metav1.Object) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: by.GetName(), UID: by.GetUID(), Controller: new(true)}}
}

// workloads are all workloads by kind.
func (g *growingCluster) workloads() map[inventory.Kind][]metav1.Object {
	all := map[inventory.Kind][]metav1.Object{}
	for _, name := range drivers() {
		all[inventory.KindDaemonSet] = append(all[inventory.KindDaemonSet], g.driverSet(name))
	}
	for i := range g.platforms {
		set := g.daemonSet(platform(i), "agent", map[string]string{"platform": platform(i)})
		all[inventory.KindDaemonSet] = append(all[inventory.KindDaemonSet], set)
	}
	for i := range g.teams {
		for name, replicas := range map[string]int32{"database": growthDatabase, "cache": growthCache, "web": growthWeb} {
			deployment, set := g.deployment(team(i), name, replicas)
			all[inventory.KindDeployment] = append(all[inventory.KindDeployment], deployment)
			all[inventory.KindReplicaSet] = append(all[inventory.KindReplicaSet], set)
		}
	}
	return all
}

// pod is a pod of an application, on a node if that is not empty.
func (g *growingCluster) pod(namespace, app string, i int, node string, owner []metav1.OwnerReference) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: g.meta(namespace, fmt.Sprintf("%s-5d4f8c7b9-%05d", app, i))}
	p.Labels, p.OwnerReferences = map[string]string{"app": app, "pod-template-hash": "5d4f8c7b9"}, owner
	p.Spec.SchedulerName, p.Spec.NodeName = oracleScheduler, node
	p.Spec.Containers = []corev1.Container{{}}
	return p
}

func ready(p *corev1.Pod, status corev1.ConditionStatus) *corev1.Pod {
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(growthNow.Add(-time.Minute))}}
	return p
}

// waiting makes it a pod that waits for a node of a pool, as admission leaves it.
func waiting(p *corev1.Pod, pool string, cpu int) *corev1.Pod {
	p.Spec.NodeSelector = map[string]string{"pool": pool}
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(int64(cpu), resource.DecimalSI)}
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300)),
		})
	}
	return p
}

// driverPod is the pod of a driver on a node.
func (g *growingCluster) driverPod(name string, i int, status corev1.ConditionStatus) *corev1.Pod {
	return ready(g.pod("kube-system", name, i, cloudNode(i), owned("DaemonSet", g.driverSet(name))), status)
}

// isStarting reports whether the first pod of the team's database is not ready.
func isStarting(team int) bool { return team%10 == 0 }

// teamPod is a pod of a team's cluster; those of a group that is held have no node.
func (g *growingCluster) teamPod(t int, app string, i int, status corev1.ConditionStatus) *corev1.Pod {
	p := g.pod(team(t), app, i, "", []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-5d4f8c7b9", UID: types.UID(team(t) + "/" + app + "-5d4f8c7b9"), Controller: new(true),
	}})
	if isStarting(t) && app != "database" {
		return waiting(p, pool(t), 100*(1+t/10%10))
	}
	p.Spec.NodeName = cloudNode((t + growthPools*i) % g.nodes)
	return ready(p, status)
}

func (g *growingCluster) pods() []*corev1.Pod {
	var all []*corev1.Pod
	for i := range g.nodes {
		storage := corev1.ConditionTrue
		if i%100 == 0 {
			storage = corev1.ConditionFalse
		}
		agentOf := platform(i % g.platforms)
		agent := g.pod(agentOf, "agent", i, cloudNode(i), owned("DaemonSet", &appsv1.DaemonSet{ObjectMeta: g.meta(agentOf, "agent")}))
		all = append(all,
			g.driverPod("network", i, corev1.ConditionTrue), g.driverPod("storage", i, storage), g.driverPod(pool(i), i, corev1.ConditionTrue),
			ready(agent, corev1.ConditionTrue))
	}
	for t := range g.teams {
		for app, pods := range map[string]int{"database": growthDatabase, "cache": growthCache, "web": growthWeb} {
			for i := range pods {
				status := corev1.ConditionTrue
				if isStarting(t) && app == "database" && i == 0 {
					status = corev1.ConditionFalse
				}
				all = append(all, g.teamPod(t, app, i, status))
			}
		}
	}
	for i := range g.platforms {
		for j := range growthPlatforms {
			all = append(all, waiting(g.pod(platform(i), "app", j, "", nil), pool(i), 100))
		}
	}
	return all
}

func selecting(key, value string) *v1alpha1.LabelSelector {
	return &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}}
}

// volumes is the object for which the driver of storage waits.
var volumes = v1alpha1.ObjectReference{APIVersion: "example.com/v1", Kind: "Array", Name: "volumes", Until: "Ready"}

// across is the ClusterPodSequence of a driver.
func (g *growingCluster) across(name string) *v1alpha1.ClusterPodSequence {
	driver := v1alpha1.PodGroup{Name: "Driver", PodSelector: selecting("app", name)}
	tenants := selecting("tenant", "yes")
	switch name {
	case "network":
	case "storage":
		driver.Objects = []v1alpha1.ObjectReference{volumes}
	default:
		driver.NodeSelector, tenants = map[string]v1alpha1.LabelValue{"pool": v1alpha1.LabelValue(name)}, selecting("pool", name)
	}
	c := &v1alpha1.ClusterPodSequence{ObjectMeta: g.meta("", name), Status: seenBefore}
	c.Spec.Scope, c.Spec.SchedulingGateName = v1alpha1.ScopeNode, v1alpha1.DefaultSchedulingGateName
	c.Spec.PodGroups = []v1alpha1.ClusterPodGroup{
		{PodGroup: driver, Namespaces: []string{"kube-system"}},
		{PodGroup: v1alpha1.PodGroup{Name: "Application", PodSelector: &v1alpha1.LabelSelector{}}, NamespaceSelector: tenants},
	}
	if name == "storage" {
		c.Status = volumesStatus(v1alpha1.ObjectSatisfied)
	}
	return c
}

// seenBefore is the status of a sequence that another process has seen: nobody looks any more at which pods started before it.
var seenBefore = v1alpha1.PodSequenceStatus{ObservedGeneration: 1}

func volumesStatus(state v1alpha1.ObjectState) v1alpha1.PodSequenceStatus {
	return v1alpha1.PodSequenceStatus{ObservedGeneration: 1, Groups: []v1alpha1.GroupStatus{{Objects: []v1alpha1.ObjectStatus{{
		APIVersion: volumes.APIVersion, Kind: volumes.Kind, Name: volumes.Name, Until: volumes.Until, State: state,
	}}}}}
}

func (g *growingCluster) allAcross() (all []order.Stored) {
	for _, name := range drivers() {
		all = append(all, order.OfCluster(g.across(name)))
	}
	return all
}

// ofTeam is the PodSequence of scope Cluster of a team, and ofPlatform that of scope Node of a platform.
func (g *growingCluster) ofTeam(i int) *v1alpha1.PodSequence {
	w := MakeSequence(team(i), "shop").Label("Database", "app", "database").Label("Cache", "app", "cache").Label("Web", "app", "web")
	if w.ObjectMeta, w.Status = g.meta(team(i), "shop"), seenBefore; i == 0 {
		w.Mode(v1alpha1.Continuous)
	}
	return w.Obj()
}

func (g *growingCluster) ofPlatform(i int) *v1alpha1.PodSequence {
	w := MakeSequence(platform(i), "agent").NodeScope().Label("Agent", "app", "agent").Label("Application", "app", "app")
	w.ObjectMeta, w.Status = g.meta(platform(i), "agent"), seenBefore
	return w.Obj()
}

func (g *growingCluster) ofTeams() (all []order.Stored) {
	for i := range g.teams {
		all = append(all, order.Stored{PodSequence: g.ofTeam(i)})
	}
	return all
}

func (g *growingCluster) ofPlatforms() (all []order.Stored) {
	for i := range g.platforms {
		all = append(all, order.Stored{PodSequence: g.ofPlatform(i)})
	}
	return all
}
