package world

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Some groups wait for Services to exist, beside their pods or alone. These come, go and come again; at the end all are there.

// awaitedSeed keeps these choices apart from all others: the same seeds go on to give the same worlds otherwise.
const awaitedSeed = 0x0b1ec7

// awaitedNames are the names of Services that groups of a world may wait for, in any of its namespaces.
var awaitedNames = []string{"awaited-0", "awaited-1"}

// awaitObjects makes some groups of a sequence that is about to be created wait for objects.
func (w *world) awaitObjects(s *sequence) {
	if !w.awaits {
		return
	}
	if w.awaited.chance(30) {
		alone := v1alpha1.ClusterPodGroup{PodGroup: v1alpha1.PodGroup{Name: "awaited", Objects: w.someObjects(s)}}
		if w.awaited.chance(30) {
			alone.WaitDuration = "1s"
		}
		s.groups = slices.Insert(s.groups, w.awaited.IntN(len(s.groups)+1), alone)
	}
	for i := range s.groups {
		if g := &s.groups[i]; len(g.Objects) == 0 && w.awaited.chance(20) {
			g.Objects = w.someObjects(s)
		}
	}
}

func (w *world) someObjects(s *sequence) []v1alpha1.ObjectReference {
	var objects []v1alpha1.ObjectReference
	for _, name := range awaitedNames[:w.awaited.between(1, len(awaitedNames))] {
		of := v1alpha1.ObjectReference{APIVersion: "v1", Kind: "Service", Name: name, Until: v1alpha1.UntilExists}
		if s.namespace == "" {
			of.Namespace = one(w.awaited, w.namespaces...)
		}
		objects = append(objects, of)
	}
	return objects
}

// inventAwaited makes the Services come and go.
func (w *world) inventAwaited() {
	if !w.awaits {
		return
	}
	for _, namespace := range w.namespaces {
		for _, name := range awaitedNames {
			if w.awaited.chance(80) {
				w.create(w.awaited.moment(0, createdBy), "Service", awaitedService(namespace, name))
			}
			for range w.awaited.between(0, 2) {
				at := w.awaited.moment(editsFrom, editsTo)
				w.remove(at, "Service", namespace, name)
				if w.awaited.chance(70) {
					w.create(at+w.awaited.moment(100*time.Millisecond, 3*time.Second), "Service", awaitedService(namespace, name))
				}
			}
			w.create(healAt+3*time.Second, "Service", awaitedService(namespace, name))
		}
	}
}

func awaitedService(namespace, name string) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
			Selector: map[string]string{appLabel: fmt.Sprintf("of-%s", name)}},
	}
}
