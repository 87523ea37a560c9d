package sequence

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

const (
	benchNamespaces       = 200
	benchPodsPerNamespace = 500
)

// spread is an engine with one ClusterPodSequence: a driver in one namespace, and pods in many that wait for it.
type spread struct {
	recording
	version int
	pods    []*corev1.Pod // one of each namespace
}

func (f *spread) next() string {
	f.version++
	return strconv.Itoa(f.version)
}

func (f *spread) namespace(i int, team string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "team-" + strconv.Itoa(i), ResourceVersion: f.next(), Labels: map[string]string{"team": team},
	}}
}

func (f *spread) pod(namespace, name, tier string) *st.PodWrapper {
	return st.MakePod().Namespace(namespace).Name(name).UID(namespace+"/"+name).SchedulerName(oracleScheduler).Label("tier", tier).
		ResourceVersion(f.next())
}

// acrossTeams returns a sequence with the driver in one namespace, and the applications in all namespaces of the red team.
func acrossTeams(mode v1alpha1.EnforcementMode) *v1alpha1.ClusterPodSequence {
	selects := func(key, value string) *v1alpha1.LabelSelector {
		return &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}}
	}
	cluster := &v1alpha1.ClusterPodSequence{ObjectMeta: metav1.ObjectMeta{Name: "csi", UID: "csi", Generation: 1, ResourceVersion: "1"}}
	cluster.Spec.EnforcementMode = mode
	cluster.Spec.PodGroups = []v1alpha1.ClusterPodGroup{
		{PodGroup: v1alpha1.PodGroup{Name: "Driver", PodSelector: selects("tier", "driver")}, Namespaces: []string{"kube-system"}},
		{PodGroup: v1alpha1.PodGroup{Name: "Application", PodSelector: selects("tier", "app")}, NamespaceSelector: selects("team", "red")},
	}
	return cluster
}

func newSpread(namespaces, pods int) *spread {
	f := &spread{recording: newEngine()}
	for i := range namespaces {
		f.ApplyNamespace(f.namespace(i, "red"))
	}
	f.ApplyPod(f.pod("kube-system", "driver", "driver").Obj())
	var all []*corev1.Pod
	for i := range namespaces {
		for j := range pods {
			all = append(all, f.pod("team-"+strconv.Itoa(i), "app-"+strconv.Itoa(j), "app").Obj())
		}
		f.pods = append(f.pods, all[len(all)-1])
	}
	driver := f.pod("kube-system", "driver", "driver").Obj()
	f.ReplacePods(append(all, driver), f.next())
	f.ApplyClusterSequence(acrossTeams(v1alpha1.Continuous))
	return f
}

// BenchmarkAcrossNamespaces is about one ClusterPodSequence over 200 namespaces of 500 pods.
func BenchmarkAcrossNamespaces(b *testing.B) {
	f := newSpread(benchNamespaces, benchPodsPerNamespace)
	events := map[string]func(i int){
		"a held pod is changed": func(i int) {
			pod := f.pods[i%len(f.pods)].DeepCopy()
			pod.ResourceVersion, pod.Spec.Tolerations = f.next(), []corev1.Toleration{{Key: fmt.Sprint(i % 2)}}
			f.ApplyPod(pod)
		},
		"a namespace of 500 pods changes its team": func(i int) { f.ApplyNamespace(f.namespace(7, []string{"blue", "red"}[i%2])) },
		"a namespace changes another label": func(i int) {
			namespace := f.namespace(8, "red")
			namespace.Labels["note"] = strconv.Itoa(i)
			f.ApplyNamespace(namespace)
		},
		"an empty namespace comes and goes": func(int) {
			namespace := f.namespace(benchNamespaces, "red")
			f.ApplyNamespace(namespace)
			f.RemoveNamespace(namespace)
		},
	}
	for name, event := range events {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				event(i)
			}
		})
	}
	b.Run("the driver turns ready and 100,000 pods are released", func(b *testing.B) {
		for i := range b.N {
			driver := f.pod("kube-system", "driver", "driver")
			if i%2 == 0 {
				driver.Node("n").Conditions([]corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}})
			} else {
				driver.Node("n")
			}
			f.ApplyPod(driver.Obj())
		}
	})
}

// The namespaces that a sequence does not reach cost it nothing, and a label that it does not select changes nothing.
func TestALabelThatNobodySelectsCostsNothing(t *testing.T) {
	f := newSpread(3, 2)
	namespace := f.namespace(1, "red")
	namespace.Labels["note"] = "x"
	changes := f.ApplyNamespace(namespace)
	if !changes.Empty() {
		t.Fatalf("another label changed %+v", changes)
	}
	if held := f.ApplyNamespace(f.namespace(1, "blue")); len(held.Released) != 2 || !held.Sequences.Has(types.NamespacedName{Name: "csi"}) {
		t.Fatalf("a namespace that left the team changed %+v", held)
	}
	if len(f.sequences[types.NamespacedName{Name: "csi"}].groupsByNamespace) != 3 {
		t.Fatal("the sequence still reaches the namespace")
	}
}
