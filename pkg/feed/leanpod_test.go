package feed

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/randfill"

	"example.com/podsequence/pkg/sequence/inventory"
)

// decodeLean is what a watch makes of an object.
func decodeLean(t *testing.T, mediaType string, object runtime.Object) runtime.Object {
	t.Helper()
	serializer := leanSerializer{rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion()}
	info, known := runtime.SerializerInfoForMediaType(serializer.SupportedMediaTypes(), mediaType)
	require.True(t, known)
	version := corev1.SchemeGroupVersion
	data, err := runtime.Encode(serializer.EncoderForVersion(info.Serializer, version), object)
	require.NoError(t, err)
	decoded, err := runtime.Decode(serializer.DecoderToVersion(info.Serializer, version), data)
	require.NoError(t, err)
	return decoded
}

// oneOf fills a string with one of those that the engine looks for, or with nothing.
func oneOf[T ~string](values ...T) func(*T, randfill.Continue) {
	return func(s *T, c randfill.Continue) { *s = append(values, "")[c.Intn(len(values)+1)] }
}

// randomPods fills pods with everything that a pod can have.
func randomPods(seed int64) *randfill.Filler {
	second := func(c randfill.Continue) metav1.Time {
		return metav1.NewTime(time.Unix(1_800_000_000+c.Int63n(100), 0))
	}
	return randfill.NewWithSeed(seed).NilChance(0.4).NumElements(0, 3).MaxDepth(12).Funcs(
		func(at *metav1.Time, c randfill.Continue) { *at = second(c) },
		func(fields *metav1.FieldsV1, _ randfill.Continue) { *fields = metav1.FieldsV1{} },
		oneOf(corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed),
		oneOf(corev1.PodReady, corev1.PodScheduled, corev1.DisruptionTarget, "example.com/Reachable"),
		oneOf(corev1.ConditionTrue, corev1.ConditionFalse),
		func(pod *corev1.Pod, c randfill.Continue) {
			c.FillNoCustom(pod)
			pod.TypeMeta = metav1.TypeMeta{}
			if c.Bool() {
				pod.DeletionTimestamp = nil
			}
			switch c.Intn(4) {
			case 0:
				pod.Spec.NodeName, pod.Spec.NodeSelector = "", map[string]string{corev1.LabelHostname: "node"}
			case 1:
				pod.Spec.NodeName, pod.Spec.NodeSelector, pod.Spec.Affinity = "", nil, pinnedTo("node")
			case 2:
				pod.Spec.NodeName = ""
			}
			pod.Annotations = map[string]string{"other": "annotation"}
			for _, name := range []string{"helm.sh/hook", "argocd.argoproj.io/hook", corev1.MirrorPodAnnotationKey} {
				if c.Bool() {
					pod.Annotations[name] = []string{"post-delete", "pre-install", "PostDelete"}[c.Intn(3)]
				}
			}
			for i := range pod.Status.ContainerStatuses {
				if waiting := pod.Status.ContainerStatuses[i].State.Waiting; waiting != nil && c.Bool() {
					waiting.Reason = "CrashLoopBackOff"
				}
			}
		},
	)
}

// pinnedTo is the affinity of a pod of a DaemonSet.
func pinnedTo(node string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}}},
	}}}
}

// What is cut out of a pod changes nothing of what the engine sees.
func TestTheEngineSeesTheSameOfALeanPod(t *testing.T) {
	random, seen := randomPods(1), map[string]int{}
	for range 2000 {
		whole := &corev1.Pod{}
		random.Fill(whole)
		lean := decodeLean(t, runtime.ContentTypeProtobuf, whole.DeepCopy()).(*corev1.Pod)
		want, got := inventory.ViewPod(whole), inventory.ViewPod(lean)
		require.Equal(t, want, got, "%v", whole)
		for what, is := range map[string]bool{
			"ready": want.Ready, "crashing": want.Crashing, "unprobed": want.Unprobed, "probed": !want.Unprobed, "mirror": want.Mirror, "a hook": want.Hook,
			"failed": want.Failed, "succeeded": want.Succeeded, "bound": want.Bound(), "pinned": want.Pin().IsOne(), "in a gang": len(want.PodGroups()) > 0,
			"gated": len(want.Gates()) > 0, "nominated": want.Nominated, "terminating": want.Terminating,
		} {
			seen[what] += 0
			if is {
				seen[what]++
			}
		}
		assert.Nil(t, lean.ManagedFields)
		assert.Nil(t, lean.Spec.Volumes)
	}
	for what, count := range seen {
		assert.NotZero(t, count, "no pod is %s: this shows nothing", what)
	}
}

func TestPodsOfAListAreLean(t *testing.T) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "more"}}
	for _, name := range []string{"db", "web"} {
		list.Items = append(list.Items, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "7"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data"}}, NodeName: "node"},
		})
	}
	lean := decodeLean(t, runtime.ContentTypeProtobuf, list.DeepCopy()).(*corev1.PodList)
	assert.Equal(t, list.ListMeta, lean.ListMeta)
	require.Len(t, lean.Items, 2)
	for i := range lean.Items {
		list.Items[i].Spec.Volumes = nil
		assert.Equal(t, list.Items[i], lean.Items[i])
	}
}

func TestWhatIsNoPodInProtobufIsDecodedAsItIs(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db", ResourceVersion: "7", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}},
		Spec:       corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data"}}},
	}
	for name, tc := range map[string]struct {
		mediaType string
		object    runtime.Object
	}{
		"a pod in JSON":       {runtime.ContentTypeJSON, pod},
		"a bookmark":          {runtime.ContentTypeProtobuf, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "8"}}},
		"an error":            {runtime.ContentTypeProtobuf, &metav1.Status{Code: 410, Message: "too old resource version"}},
		"a node with volumes": {runtime.ContentTypeProtobuf, &corev1.Node{ObjectMeta: pod.ObjectMeta, Spec: corev1.NodeSpec{ProviderID: "x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			decoded := decodeLean(t, tc.mediaType, tc.object.DeepCopyObject())
			decoded.GetObjectKind().SetGroupVersionKind(tc.object.GetObjectKind().GroupVersionKind())
			assert.Equal(t, tc.object, decoded)
		})
	}
}

func TestDamagedDataIsRefused(t *testing.T) {
	serializer := rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs)
	info, _ := runtime.SerializerInfoForMediaType(serializer.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	pod := &corev1.Pod{}
	randomPods(7).Fill(pod)
	data, err := runtime.Encode(serializer.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), pod)
	require.NoError(t, err)
	for end := range data {
		assert.NotPanics(t, func() { _, _ = leanPod(bytes.Clone(data[:end])) })
	}
	_, err = leanPod(bytes.Clone(data[:len(data)/2]))
	assert.ErrorContains(t, err, "damaged")
	_, _, err = leanDecoder{}.Decode(data[:len(data)/2], nil, nil)
	assert.ErrorContains(t, err, "damaged", "the decoder is not asked")
}
