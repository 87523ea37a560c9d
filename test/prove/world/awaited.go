package world

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// awaited are Services that some groups wait for to exist, beside their pods or alone. These come, go and come again; at the end all are
// there.
type awaited struct {
	dice
	*world
	wanted bool // by any group
}

// awaitedSeed keeps these choices apart from all others: the same seeds go on to give the same worlds otherwise.
const awaitedSeed = 0x0b1ec7

// awaitedNames are the names of Services that groups of a world may wait for, in any of its namespaces.
var awaitedNames = []string{"awaited-0", "awaited-1"}

// addTo makes some groups of a sequence that is about to be created wait for objects.
func (aw *awaited) addTo(s *sequence) {
	if !aw.wanted {
		return
	}
	if aw.chance(30) {
		alone := v1alpha1.ClusterPodGroup{PodGroup: v1alpha1.PodGroup{Name: "awaited", Objects: aw.objects(s)}}
		if aw.chance(30) {
			alone.WaitDuration = "1s"
		}
		s.groups = slices.Insert(s.groups, aw.IntN(len(s.groups)+1), alone)
	}
	for i := range s.groups {
		if g := &s.groups[i]; len(g.Objects) == 0 && aw.chance(20) {
			g.Objects = aw.objects(s)
		}
	}
}

func (aw *awaited) objects(s *sequence) []v1alpha1.ObjectReference {
	var objects []v1alpha1.ObjectReference
	for _, name := range awaitedNames[:aw.between(1, len(awaitedNames))] {
		of := v1alpha1.ObjectReference{APIVersion: "v1", Kind: "Service", Name: name, Until: v1alpha1.UntilExists}
		if s.namespace == "" {
			of.Namespace = one(aw.dice, aw.namespaces...)
		}
		objects = append(objects, of)
	}
	return objects
}

// invent makes the Services come and go.
func (aw *awaited) invent() {
	if !aw.wanted {
		return
	}
	for _, namespace := range aw.namespaces {
		for _, name := range awaitedNames {
			if aw.chance(80) {
				aw.create(aw.moment(0, createdBy), "Service", awaitedService(namespace, name))
			}
			for range aw.between(0, 2) {
				at := aw.moment(editsFrom, editsTo)
				aw.remove(at, "Service", namespace, name)
				if aw.chance(70) {
					aw.create(at+aw.moment(100*time.Millisecond, 3*time.Second), "Service", awaitedService(namespace, name))
				}
			}
			aw.create(healAt+3*time.Second, "Service", awaitedService(namespace, name))
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
