package sequence

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	. "example.com/podsequence/test/harness/builders"
)

// confirming is an engine that confirms what it releases, and that knows a sequence of a StatefulSet's pods and a pod "app".
type confirming struct {
	*testing.T
	*Engine
	moments *[]happening
}

// happening is an event that the engine was told of.
type happening struct {
	version string
	moment  uint64
}

// note notes when the engine was told of a version.
func (d confirming) note(version string, changes Changes) Changes {
	*d.moments = append(*d.moments, happening{version, d.Moment()})
	return changes
}

func (d confirming) ApplyPod(pod *corev1.Pod) Changes {
	return d.note(pod.ResourceVersion, d.Engine.ApplyPod(pod))
}

func (d confirming) ApplyWorkload(object metav1.Object) Changes {
	return d.note(object.GetResourceVersion(), d.Engine.ApplyWorkload(object))
}

func (d confirming) ReplacePods(pods []*corev1.Pod, version string) Changes {
	return d.note(version, d.Engine.ReplacePods(pods, version))
}

func (d confirming) ReplaceWorkloads(kind inventory.Kind, objects []metav1.Object, version string) Changes {
	return d.note(version, d.Engine.ReplaceWorkloads(kind, objects, version))
}

func (d confirming) RemoveSequence(key types.NamespacedName, version string) Changes {
	return d.note(version, d.Engine.RemoveSequence(key, version))
}

// confirm confirms to the engine everything up to a version.
func (d confirming) confirm(version string) Changes {
	moment := uint64(0)
	for _, h := range *d.moments {
		if !inventory.Newer(h.version, version) {
			moment = max(moment, h.moment)
		}
	}
	return d.Confirm(Subject{Namespace: oracleNamespace, Kinds: OfWorkloads}, moment)
}

func newEmptyConfirming(t *testing.T) confirming {
	return confirming{T: t, Engine: NewEngine(Config{SchedulerNames: []string{oracleScheduler}}), moments: &[]happening{}}
}

func newConfirming(t *testing.T, mode v1alpha1.EnforcementMode) confirming {
	d := newEmptyConfirming(t)
	sequence := MakeSequence(oracleNamespace, "shop").UID("shop").Label("db", "tier", "db").Label("app", "tier", "app").Mode(mode).Obj()
	sequence.ResourceVersion = "1"
	d.ApplyWorkload(statefulSet(1, "2"))
	d.ApplySequence(sequence)
	d.ApplyPod(app("app", "3"))
	return d
}

// statefulSet is one called db, whose controller has seen its newest version.
func statefulSet(replicas int32, version string) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{}
	set.Namespace, set.Name, set.UID, set.ResourceVersion, set.Generation = oracleNamespace, "db", "db", version, 1
	set.Spec.Replicas, set.Spec.Template.Labels = ptr.To(replicas), map[string]string{"tier": "db"}
	set.Status.ObservedGeneration = 1
	return set
}

func app(name, version string) *corev1.Pod {
	return makePod(name, version).Label("tier", "app").Obj()
}

// db is a pod of the StatefulSet that is ready.
func db(name, version string) *corev1.Pod {
	pod := makePod(name, version).Label("tier", "db").Node("node").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj()
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "db", Controller: ptr.To(true)}}
	return pod
}

// broken is one that is not.
func broken(name, version string) *corev1.Pod {
	pod := db(name, version)
	pod.Status.Conditions = nil
	return pod
}

func (d confirming) expect(changes Changes, questions Questions, released ...string) {
	d.Helper()
	var names []string
	for _, r := range changes.Released {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	var asked Questions
	for subject, question := range changes.Questions {
		if asked == nil {
			asked = Questions{}
		}
		asked[subject] = Question{Version: question.Version}
	}
	assert.Equal(d, questions, asked)
	assert.Equal(d, released, names)
}

func (d confirming) expectHeld(pod *corev1.Pod, message string) {
	d.Helper()
	decision := d.Decide(pod)
	require.True(d, decision.Held)
	assert.Contains(d, decision.Message(), message)
}

// about is what is asked up to a version; of moments it says nothing.
func about(version string) Questions {
	return Questions{{Namespace: oracleNamespace, Kinds: OfWorkloads}: {Version: version}}
}
