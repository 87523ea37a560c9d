package feed

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
	. "example.com/podsequence/test/harness/builders"
)

// While a sequence is kept back, because what is in its namespaces is being listed, the pods wait that it may hold, and no others.
func TestPodsWaitForSequencesThatAreKeptBack(t *testing.T) {
	db, itself := map[string]string{"tier": "db"}, map[string]string{"tier": "db", "app.kubernetes.io/name": "podsequence"}
	dryRun := databasesOfRed()
	dryRun.Spec.DryRun = true
	costly, ownCostly := acrossSequence(in("blue")), MakeSequence("plain", "new").UID("new")
	for i := range sequence.MaxMatchCost {
		costly.Spec.PodGroups = append(costly.Spec.PodGroups, in("blue"))
		costly.Spec.PodGroups[i].PodSelector = podsLabelled("tier", fmt.Sprint(i))
		ownCostly.Label("", "tier", fmt.Sprint(i))
	}
	tests := map[string]struct {
		sequence        object
		namespace, name string
		labels          map[string]string
		want            bool
	}{
		"a pod that a group selects waits":                                      {databasesOfRed(), "red", "db-0", db, true},
		"a pod that a group names waits":                                        {databasesOfRed(), "blue", "app", nil, true},
		"a pod that no group selects goes on, though its namespace is listed":   {databasesOfRed(), "red", "web", map[string]string{"tier": "web"}, false},
		"a pod that no group names goes on, though its namespace is listed":     {databasesOfRed(), "blue", "db-0", db, false},
		"a pod of a namespace that no group speaks of goes on":                  {databasesOfRed(), "plain", "db-0", db, false},
		"a pod that has the name of a member in another namespace goes on":      {databasesOfRed(), "plain", "app", nil, false},
		"a dry run has no pod wait":                                             {dryRun, "red", "db-0", db, false},
		"an empty selector has the pods of all namespaces wait":                 {acrossSequence(everywhere()), "plain", "db-0", db, true},
		"an empty selector has no pod wait that no group selects":               {acrossSequence(everywhere()), "plain", "web", nil, false},
		"an empty selector has no pod of kube-system wait":                      {acrossSequence(everywhere()), "kube-system", "db-0", db, false},
		"an empty selector has no pod wait where PodSequence is installed":      {acrossSequence(everywhere()), "podsequence-system", "db-0", db, false},
		"a pod of kube-system waits if that is listed":                          {acrossSequence(in("kube-system")), "kube-system", "db-0", db, true},
		"a pod of PodSequence itself goes on":                                   {acrossSequence(in("podsequence-system")), "podsequence-system", "db-0", itself, false},
		"a pod waits in a namespace that exists, though others do not":          {acrossSequence(in("plain", "nowhere")), "plain", "db-0", db, true},
		"all pods wait if it may take long to find out which":                   {costly, "plain", "web", nil, true},
		"all pods of a namespace wait if it may take long to find out which":    {ownCostly.Obj(), "plain", "web", nil, true},
		"a pod of a PodSequence waits":                                          {MakeSequence("blue", "new").UID("new").Pods("Application", "app").Obj(), "blue", "app", nil, true},
		"a pod of no PodSequence goes on, though its namespace is listed":       {MakeSequence("blue", "new").UID("new").Pods("Application", "app").Obj(), "blue", "web", nil, false},
		"a pod waits for a PodSequence of another namespace":                    {MakeSequence("red", "new").UID("new").TargetNamespace("blue").Pods("Application", "app").Obj(), "blue", "app", nil, true},
		"a pod of no PodSequence goes on, though one of another namespace came": {MakeSequence("red", "new").UID("new").TargetNamespace("blue").Pods("Application", "app").Obj(), "blue", "web", nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			playKept(t, func(w *keptWorld) {
				t := w.T
				w.write(watch.Added, test.sequence)
				w.settle()
				pod := w.pod(test.namespace, test.name, test.labels)
				assert.Equal(t, test.want, w.waits(pod))
				w.setBroken(false)
				w.settle()
				assert.False(t, w.waits(pod), "the engine knows the sequence")
			})
		})
	}
}

func TestWhatEndsTheWaitForASequenceThatIsKeptBack(t *testing.T) {
	db := map[string]string{"tier": "db"}
	tests := map[string]func(w *keptWorld){
		"its namespaces are listed":           func(w *keptWorld) { w.setBroken(false) },
		"it is deleted":                       func(w *keptWorld) { w.write(watch.Deleted, databasesOfRed()) },
		"it is edited and selects other pods": func(w *keptWorld) { w.write(watch.Modified, acrossSequence(in("blue"))) },
		"it is edited to a dry run": func(w *keptWorld) {
			dryRun := databasesOfRed()
			dryRun.Spec.DryRun = true
			w.write(watch.Modified, dryRun)
		},
		"it is edited and names only what is listed": func(w *keptWorld) { w.write(watch.Modified, acrossSequence()) },
		"the pod's namespace loses the label":        func(w *keptWorld) { w.writeNamespace(watch.Modified, "red", nil) },
		"the pod's namespace is deleted":             func(w *keptWorld) { w.writeNamespace(watch.Deleted, "red", nil) },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			playKept(t, func(w *keptWorld) {
				t := w.T
				w.write(watch.Added, databasesOfRed())
				w.settle()
				pod := w.pod("red", "db-0", db)
				require.True(t, w.waits(pod))
				later, err := w.feed.CatchUp(w.Context(), pod.Identity)
				require.NoError(t, err)
				require.NotNil(t, later, "the pod waits for a list")
				synctest.Wait()
				select {
				case <-later:
					require.Fail(t, "nothing has changed")
				default:
				}
				before := w.advances.Load()

				end(w)
				w.settle()
				assert.Greater(t, w.advances.Load(), before, "who waits has to look again")
				assert.False(t, w.waits(pod))
				<-later
				later, err = w.feed.CatchUp(w.Context(), pod.Identity)
				require.NoError(t, err)
				assert.Nil(t, later, "it waits for nothing")
				w.setBroken(false)
				w.settle()
				_, known := w.feed.engine.Report(types.NamespacedName{Name: "new"})
				assert.Equal(t, name != "it is deleted", known, "the engine knows it")
			})
		})
	}
}

// A sequence is kept back no longer for a namespace that it does not select any more.
func TestASequenceIsNotKeptBackForANamespaceThatHasLeft(t *testing.T) {
	playKept(t, func(w *keptWorld) {
		databases := everywhere()
		databases.NamespaceSelector = podsLabelled("team", "red")
		w.write(watch.Added, acrossSequence(databases))
		w.settle()
		_, known := w.feed.engine.Report(types.NamespacedName{Name: "new"})
		require.False(w, known)
		w.writeNamespace(watch.Modified, "red", nil)
		w.settle()
		_, known = w.feed.engine.Report(types.NamespacedName{Name: "new"})
		assert.True(w, known)
	})
}

// What a Namespace says is kept back while a sequence waits for the namespace, but not that it requires a sequence.
func TestANamespaceThatIsKeptBackRequiresASequence(t *testing.T) {
	playKept(t, func(w *keptWorld) {
		w.write(watch.Added, MakeSequence("red", "shop").UID("shop").Label("Only", "tier", "db").Obj())
		pod := w.pod("red", "free", map[string]string{"tier": "other"})
		w.settle()
		require.False(w, pod.held())
		w.server.kind("namespaces").write(watch.Modified, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: "red", UID: "red", Annotations: map[string]string{v1alpha1.RequireSequenceAnnotation: v1alpha1.RequireSequence},
		}})
		w.settle()
		require.NotNil(w, w.feed.interest.namespaces["red"].namespace, "the Namespace is kept back")
		require.True(w, pod.held())
	})
}

func TestWhyAPodWaitsForASequenceThatIsKeptBack(t *testing.T) {
	playKept(t, func(w *keptWorld) {
		w.write(watch.Added, acrossSequence(in("red"), in("blue")))
		w.settle()
		pod := w.pod("red", "db-0", map[string]string{"tier": "db"})
		assert.Contains(t, w.why(pod), "pods and workloads of the namespace cannot be listed: broken")
		w.setBroken(false)
		w.settle()
		assert.Empty(t, w.why(pod))
	})
	playKept(t, func(w *keptWorld) {
		w.write(watch.Added, MakeSequence("red", "shop").UID("shop").Pods("Database", "db-1").Obj())
		w.setBroken(false)
		w.settle()
		w.setBroken(true)
		w.write(watch.Added, acrossSequence(in("red"), in("blue")))
		w.settle()
		pod := w.pod("red", "db-0", map[string]string{"tier": "db"})
		assert.Contains(t, w.why(pod), "ClusterPodSequence new waits for namespace blue: pods and workloads of the namespace cannot be listed: broken")
	})
}

// keptWorld is a feed that knows everything in a cluster without sequences. From then on Jobs cannot be listed, so sequences are kept
// back from the engine.
type keptWorld struct {
	*testing.T
	server   *apiServer
	feed     *Feed
	advances atomic.Int64
}

// playKept runs a story with a feed that watches the namespaces red, blue and plain, and those of the system.
func playKept(t *testing.T, story func(w *keptWorld)) {
	synctest.Test(t, func(t *testing.T) {
		w := &keptWorld{T: t, server: newAPIServer(1)}
		for _, name := range []string{"red", "blue", "plain", "kube-system", "podsequence-system"} {
			w.writeNamespace(watch.Added, name, map[string]string{"team": name})
		}
		w.server.installKinds()
		w.feed = feedOf(w.server)
		w.feed.advanced = func() { w.advances.Add(1) }
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
		done := make(chan struct{})
		go func() { defer close(done); w.feed.Run(ctx) }()
		defer func() { cancel(); <-done }()
		w.settle()
		require.True(t, w.feed.Synced(), w.feed.Why())
		w.setBroken(true)
		story(w)
	})
}

func (w *keptWorld) setBroken(broken bool) {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	w.server.kind("jobs").broken = broken
}

// settle lets all watches deliver everything, except those of the late kinds.
func (w *keptWorld) settle(late ...string) {
	for range 5 {
		for name, kind := range w.server.kinds {
			for !slices.Contains(late, name) && kind.deliver(1000) {
				synctest.Wait()
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
	}
}

func (w *keptWorld) writeNamespace(event watch.EventType, name string, labels map[string]string) {
	w.server.kind("namespaces").write(event, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), Labels: labels, Annotations: map[string]string{v1alpha1.AllowSequencesFromAnnotation: "*"},
	}})
}

// write stores a sequence.
func (w *keptWorld) write(event watch.EventType, stored object) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
	require.NoError(w, err)
	resource := v1alpha1.PodSequenceResource.Resource
	if stored.GetNamespace() == "" {
		resource = v1alpha1.ClusterPodSequenceResource.Resource
	}
	w.server.kind(resource).write(event, &unstructured.Unstructured{Object: content})
}

// keptPod is a pod that is asked about.
type keptPod struct {
	sequence.Identity
	held func() bool
}

// pod creates a pod of our scheduler, of which the engine knows.
func (w *keptWorld) pod(namespace, name string, labels map[string]string) keptPod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name), Labels: labels},
		Spec:       corev1.PodSpec{SchedulerName: "ours"},
	}
	pods := w.server.kind("pods")
	pods.write(watch.Added, pod)
	pods.deliver(1)
	synctest.Wait()
	return keptPod{
		Identity: sequence.IdentityOf(pod),
		held:     func() bool { return w.feed.engine.Decide(pod).Held },
	}
}

// waits reports whether the pod waits for a sequence that is kept back, and why says why that takes long.
func (w *keptWorld) waits(pod keptPod) bool {
	_, kept := w.feed.KeptBack(pod.Identity)
	return kept
}

func (w *keptWorld) why(pod keptPod) string {
	why, _ := w.feed.KeptBack(pod.Identity)
	return why
}

// databasesOfRed returns a sequence with databases in namespaces with a label, and one named pod after them.
func databasesOfRed() *v1alpha1.ClusterPodSequence {
	databases := everywhere()
	databases.NamespaceSelector = podsLabelled("team", "red")
	return acrossSequence(databases, v1alpha1.ClusterPodGroup{Namespaces: []string{"blue"}, PodGroup: v1alpha1.PodGroup{Pods: []string{"app"}}})
}

func acrossSequence(groups ...v1alpha1.ClusterPodGroup) *v1alpha1.ClusterPodSequence {
	return &v1alpha1.ClusterPodSequence{
		ObjectMeta: metav1.ObjectMeta{Name: "new", UID: "new"}, Spec: v1alpha1.ClusterPodSequenceSpec{PodGroups: groups},
	}
}

// everywhere is a group of databases in all namespaces, and in is one in those of these names.
func everywhere() v1alpha1.ClusterPodGroup {
	return v1alpha1.ClusterPodGroup{
		NamespaceSelector: &v1alpha1.LabelSelector{}, PodGroup: v1alpha1.PodGroup{PodSelector: podsLabelled("tier", "db")},
	}
}

func in(namespaces ...string) v1alpha1.ClusterPodGroup {
	g := everywhere()
	g.Namespaces, g.NamespaceSelector = namespaces, nil
	return g
}

func podsLabelled(key, value string) *v1alpha1.LabelSelector {
	return &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}}
}
