package feed

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Most events of a cluster are of pods that have a node, in namespaces that are not of interest. All that such an event does is to move the
// watch on, or to say that the pod waits for a node no longer. So no more is decoded of it than where the pod is, until it is known whether
// it is of interest. That may change until the event enters, so its bytes are kept until then.

// undecoded is a pod that has a node, of which nothing but its metadata has been decoded.
type undecoded struct {
	metav1.PartialObjectMetadata
	node string
	// whole decodes all of it.
	whole func() (runtime.Object, error)
}

// place returns the pod without anything but its metadata and its node.
func (u *undecoded) place() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: u.ObjectMeta, Spec: corev1.PodSpec{NodeName: u.node}}
}

// decodePod returns the pod of an event: no more than its place if nobody is interested in more. It is called with deliver held.
func (f *Feed) decodePod(obj any) (*corev1.Pod, error) {
	pod, isUndecoded := obj.(*undecoded)
	if !isUndecoded {
		return as[*corev1.Pod](obj)
	}
	if f.interest.namespaces[pod.Namespace] == nil {
		return pod.place(), nil
	}
	whole, err := pod.whole()
	if err != nil {
		return nil, err
	}
	return as[*corev1.Pod](whole)
}

// lateSerializer makes watches bring pods that have a node undecoded.
type lateSerializer struct{ runtime.NegotiatedSerializer }

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (s lateSerializer) DecoderToVersion(decoder runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return lateDecoder{s.NegotiatedSerializer.DecoderToVersion(decoder, version)}
}

type lateDecoder struct{ runtime.Decoder }

// Decode implements runtime.Decoder.
func (d lateDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	pod := readPlace(data)
	if pod == nil || into != nil {
		return d.Decoder.Decode(data, defaults, into)
	}
	kept := bytes.Clone(data)
	pod.whole = func() (runtime.Object, error) { return runtime.Decode(d.Decoder, kept) }
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	return pod, &kind, nil
}

// protobufPrefix begins an object in protobuf, see k8s.io/apimachinery/pkg/runtime/serializer/protobuf.
var protobufPrefix = []byte("k8s\x00")

// Numbers of fields, see the .proto files of k8s.io/apimachinery/pkg/runtime and k8s.io/api/core/v1.
const (
	unknownType protowire.Number = 1 // of runtime.Unknown
	unknownRaw  protowire.Number = 2
	podSpec     protowire.Number = 2
	podSpecNode protowire.Number = 10
)

// readPlace reads the metadata and the node of a pod; nil if it has no node, or if the data is something else, or not in protobuf.
func readPlace(data []byte) *undecoded {
	object, isProtobuf := bytes.CutPrefix(data, protobufPrefix)
	if !isProtobuf {
		return nil
	}
	var kind runtime.TypeMeta
	if kind.Unmarshal(field(object, unknownType)) != nil || kind.Kind != "Pod" || kind.APIVersion != corev1.SchemeGroupVersion.String() {
		return nil
	}
	raw := field(object, unknownRaw)
	node := field(field(raw, podSpec), podSpecNode)
	if len(node) == 0 {
		return nil
	}
	pod := &undecoded{node: string(node)}
	// What else the pod has is none of these fields, and is skipped.
	if pod.PartialObjectMetadata.Unmarshal(raw) != nil {
		return nil
	}
	return pod
}

// field returns the bytes of a field of a message; nil if it has none, or if nobody can tell.
func field(message []byte, number protowire.Number) []byte {
	for len(message) > 0 {
		found, wire, length := protowire.ConsumeTag(message)
		if length < 0 {
			return nil
		}
		message = message[length:]
		if found == number && wire == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			return value
		}
		if length = protowire.ConsumeFieldValue(found, wire, message); length < 0 {
			return nil
		}
		message = message[length:]
	}
	return nil
}
