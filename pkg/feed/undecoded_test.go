package feed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

func decodeLate(t *testing.T, mediaType string, object runtime.Object) runtime.Object {
	t.Helper()
	serializer := lateSerializer{rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion()}
	info, known := runtime.SerializerInfoForMediaType(serializer.SupportedMediaTypes(), mediaType)
	require.True(t, known)
	version := corev1.SchemeGroupVersion
	data, err := runtime.Encode(serializer.EncoderForVersion(info.Serializer, version), object)
	require.NoError(t, err)
	decoded, err := runtime.Decode(serializer.DecoderToVersion(info.Serializer, version), data)
	require.NoError(t, err)
	for i := range data { // a watch uses its buffer again
		data[i] = 0
	}
	return decoded
}

func podOnNode(node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "db-0", UID: "1", ResourceVersion: "7", Labels: map[string]string{"app": "db"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.PodSpec{
			Volumes:    []corev1.Volume{{Name: "data"}},
			Containers: []corev1.Container{{Name: "postgres", Env: []corev1.EnvVar{{Name: "a", Value: "b"}}}},
			NodeName:   node, SchedulerName: "podsequence-scheduler", NodeSelector: map[string]string{"disk": "ssd"},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

func TestAPodWithANodeIsDecodedWhenItIsOfInterest(t *testing.T) {
	want := podOnNode("node-1")
	pod, isUndecoded := decodeLate(t, runtime.ContentTypeProtobuf, want.DeepCopy()).(*undecoded)
	require.True(t, isUndecoded)
	assert.Equal(t, want.ObjectMeta, pod.ObjectMeta)
	assert.Equal(t, &corev1.Pod{ObjectMeta: want.ObjectMeta, Spec: corev1.PodSpec{NodeName: "node-1"}}, pod.place())

	f := &Feed{interest: newInterest(1)}
	outside, err := f.decodePod(pod)
	require.NoError(t, err)
	assert.Equal(t, pod.place(), outside)

	f.interest.namespaces["shop"] = &watchedNamespace{}
	inside, err := f.decodePod(pod)
	require.NoError(t, err)
	assert.Equal(t, want.Spec, inside.Spec)
	assert.Equal(t, want.Status, inside.Status)
	assert.Equal(t, want.ObjectMeta, inside.ObjectMeta)
}

func TestWhatElseAWatchBringsIsDecodedAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		mediaType string
		object    runtime.Object
	}{
		"a pod without a node":          {runtime.ContentTypeProtobuf, podOnNode("")},
		"a pod that is not in protobuf": {runtime.ContentTypeJSON, podOnNode("node-1")},
		"a bookmark":                    {runtime.ContentTypeProtobuf, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "8"}}},
		"an error":                      {runtime.ContentTypeProtobuf, &metav1.Status{Code: 410, Message: "too old resource version"}},
		"pods of a list":                {runtime.ContentTypeProtobuf, &corev1.PodList{Items: []corev1.Pod{*podOnNode("node-1")}}},
		"another kind":                  {runtime.ContentTypeProtobuf, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.IsType(t, tc.object, decodeLate(t, tc.mediaType, tc.object))
		})
	}
}

func TestDamagedDataIsLeftToTheDecoder(t *testing.T) {
	serializer := rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs)
	info, _ := runtime.SerializerInfoForMediaType(serializer.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	data, err := runtime.Encode(serializer.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), podOnNode("node-1"))
	require.NoError(t, err)
	for end := range data {
		assert.NotPanics(t, func() { readPlace(data[:end]) })
	}
	assert.Nil(t, readPlace(data[:len(data)/4]))
}

// BenchmarkEventOfAPod decodes a pod as people have them: three containers, ten volumes, conditions and who wrote what.
func BenchmarkEventOfAPod(b *testing.B) {
	pod := podOnNode("node-1")
	pod.Spec.Containers, pod.ManagedFields = nil, nil
	for i := range 10 {
		name := fmt.Sprint("volume-", i)
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}},
		})
	}
	for i := range 3 {
		c := corev1.Container{Name: fmt.Sprint("container-", i), Image: "registry.example.com/team/app:v1.2.3"}
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("1Gi")}
		for _, volume := range pod.Spec.Volumes {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume.Name, MountPath: "/etc/" + volume.Name})
			c.Env = append(c.Env, corev1.EnvVar{Name: "DIR_OF_" + volume.Name, Value: "/etc/" + volume.Name})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
		pod.ManagedFields = append(pod.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 600)),
		})
	}
	serializer := rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion()
	info, _ := runtime.SerializerInfoForMediaType(serializer.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	data, err := runtime.Encode(serializer.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), pod)
	require.NoError(b, err)
	for name, decoder := range map[string]runtime.Decoder{
		"whole": serializer.DecoderToVersion(info.Serializer, corev1.SchemeGroupVersion),
		"place": lateSerializer{serializer}.DecoderToVersion(info.Serializer, corev1.SchemeGroupVersion),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := runtime.Decode(decoder, data)
				require.NoError(b, err)
			}
		})
	}
}
