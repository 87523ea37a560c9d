package feed

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// changeAcross changes a ClusterPodSequence, or the labels that ClusterPodSequences select.
func (w *randomWorld) changeAcross(name, namespace string) {
	switch some := anyOf(w, w.clusters); w.IntN(6) {
	case 0, 1:
		if len(w.clusters) < 2 {
			w.writeCluster(watch.Added, w.newCluster(name, 1))
		}
	case 2:
		if some != nil && w.IntN(2) == 0 {
			w.writeCluster(watch.Deleted, some)
		}
	case 3:
		if some != nil {
			edited := w.newCluster(some.Name, some.Generation+1)
			edited.Status = *some.Status.DeepCopy()
			w.writeCluster(watch.Modified, edited)
		}
	default:
		w.changeConsent(w.namespaces[namespace])
	}
}

// newCluster returns a sequence with databases in some namespaces, and the applications that wait for them in any others.
func (w *randomWorld) newCluster(name string, generation int64) *v1alpha1.ClusterPodSequence {
	cluster := &v1alpha1.ClusterPodSequence{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: generation}}
	for _, tier := range tiers {
		g := v1alpha1.ClusterPodGroup{PodGroup: v1alpha1.PodGroup{
			PodSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"tier": v1alpha1.LabelValue(tier)}},
		}}
		switch w.IntN(4) {
		case 0:
			g.Namespaces = []string{w.pick(someNamespaces)}
		case 1:
			g.NamespaceSelector = &v1alpha1.LabelSelector{}
		default:
			g.NamespaceSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"team": "red"}}
		}
		cluster.Spec.PodGroups = append(cluster.Spec.PodGroups, g)
	}
	return cluster
}

func (w *randomWorld) writeCluster(event watch.EventType, cluster *v1alpha1.ClusterPodSequence) {
	if event == watch.Modified {
		w.noteEdit(cluster)
	}
	if w.clusters[cluster.Name] = cluster; event == watch.Deleted {
		delete(w.clusters, cluster.Name)
	}
	for _, namespace := range someNamespaces {
		delete(w.selected, cluster.Name+"/"+namespace)
	}
	w.storeCluster(event, cluster)
	w.selectNamespaces()
}

// noteEdit notes which ClusterPodSequences have databases again that they had before an edit.
func (w *randomWorld) noteEdit(cluster *v1alpha1.ClusterPodSequence) {
	databases, before := cluster.Spec.PodGroups[0], w.clusters[cluster.Name].Spec.PodGroups[0]
	if equality.Semantic.DeepEqual(databases, before) {
		return
	}
	w.earlier[cluster.Name] = append(w.earlier[cluster.Name], before)
	w.reverted[cluster.Name] = w.reverted[cluster.Name] || slices.ContainsFunc(w.earlier[cluster.Name], func(g v1alpha1.ClusterPodGroup) bool {
		return equality.Semantic.DeepEqual(g, databases)
	})
}

// selectNamespaces notes since when ClusterPodSequences hold applications in namespaces.
func (w *randomWorld) selectNamespaces() {
	for name, cluster := range w.clusters {
		for _, namespace := range someNamespaces {
			key := name + "/" + namespace
			if !isIn(cluster.Spec.PodGroups[1], w.namespaces[namespace]) {
				delete(w.selected, key)
			} else if w.selected[key] == 0 {
				w.selected[key] = w.server.version
			}
		}
	}
}

func isIn(g v1alpha1.ClusterPodGroup, namespace *corev1.Namespace) bool {
	if g.NamespaceSelector == nil {
		return g.Namespaces[0] == namespace.Name
	}
	return len(g.NamespaceSelector.MatchLabels) == 0 || namespace.Labels["team"] == "red"
}

// checkClusters looks whether a pod that is about to be scheduled is before its turn in any ClusterPodSequence.
func (w *randomWorld) checkClusters(pod *corev1.Pod) {
	for name := range w.clusters {
		if w.reverted[name] {
			continue // what the feed saw of that may be no edit at all, and then the databases stay passed
		}
		since := w.selected[name+"/"+pod.Namespace]
		if since == 0 || since > w.created[pod.Name] || pod.Labels["tier"] == "db" {
			continue
		}
		report, known := w.truth.Report(types.NamespacedName{Name: name})
		if w.seen["scheduled in a later group across namespaces"]++; !known || report.Current < 1 {
			w.Fatalf("seed %d: pod %s/%s is scheduled before its turn in ClusterPodSequence %s\n%s", w.seed, pod.Namespace, pod.Name, name, w.history())
		}
	}
}

// tellClusters tells an engine of all ClusterPodSequences.
func (w *randomWorld) tellClusters(fresh *randomWorld) {
	for _, cluster := range w.clusters {
		fresh.tell(fresh.truth.ApplyClusterSequence(cluster))
	}
}

func (w *randomWorld) storeCluster(event watch.EventType, cluster *v1alpha1.ClusterPodSequence) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cluster)
	if err != nil {
		w.Fatal(err)
	}
	stored := &unstructured.Unstructured{Object: content}
	w.write(event, "clusterpodsequences", stored)
	cluster.ResourceVersion = stored.GetResourceVersion()
}
