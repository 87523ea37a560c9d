package feed

import (
	"bytes"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Every event of a pod comes to this watch, too, and most of a pod is nothing that the engine looks at: volumes, containers, who wrote which
// field. That is cut out of the bytes before they are decoded, which is most of what an event costs, and of what is in memory while a list
// comes in.

// kept are the fields of a message that are kept, by their numbers, with those inside them.
type kept []kept

var (
	whole  = kept{}    // all of a field
	hollow = kept{nil} // that there is a field, and nothing inside
)

// keptOfPod is what the engine looks at. Numbers of fields are those of generated.proto in k8s.io/api/core/v1 and
// k8s.io/apimachinery/pkg/apis/meta/v1.
var keptOfPod = kept{
	1: { // metadata
		1: whole, 3: whole, 5: whole, 6: whole, // name, namespace, uid, resourceVersion
		8: whole, 9: whole, // creationTimestamp, deletionTimestamp
		11: whole, 12: whole, 13: whole, // labels, annotations, ownerReferences
	},
	2: { // spec
		2:  {11: hollow}, // containers: whether they have a readinessProbe
		7:  whole,        // nodeSelector
		10: whole,        // nodeName
		18: whole,        // affinity
		19: whole,        // schedulerName
		38: whole,        // schedulingGates
		43: whole,        // schedulingGroup
	},
	3: { // status
		1: whole, 2: whole, // phase, conditions
		8:  {2: whole, 3: whole, 5: whole}, // containerStatuses: state, lastState, restartCount
		11: whole,                          // nominatedNodeName
	},
}

// keptOf is what the engine looks at of what the API server sends, by its encoded type. That is a runtime.Unknown: its fields are the type,
// what is of that type, and how this is encoded. A list of pods has its metadata, and its items.
var keptOf = map[string]kept{
	encodedType("Pod"):     {typeOfUnknown: whole, 2: keptOfPod, 3: whole, 4: whole},
	encodedType("PodList"): {typeOfUnknown: whole, 2: {1: whole, 2: keptOfPod}, 3: whole, 4: whole},
}

// typeOfUnknown comes first.
const typeOfUnknown = 1

func encodedType(kind string) string {
	meta := runtime.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: kind}
	encoded, err := meta.Marshal()
	utilruntime.Must(err)
	return string(encoded)
}

// appendKept appends what is kept of a message. It reports whether that is a message.
func (k kept) appendKept(lean, message []byte) ([]byte, bool) {
	for len(message) > 0 {
		number, content, end := first(message)
		if end == 0 {
			return nil, false
		}
		if int(number) < len(k) && k[number] != nil {
			if inside := k[number]; content == 0 || len(inside) == 0 {
				lean = append(lean, message[:end]...)
			} else if lean = inside.appendInside(lean, message[:end], content); lean == nil {
				return nil, false
			}
		}
		message = message[end:]
	}
	return lean, true
}

// appendInside is appendKept for what is inside a field; nil if that is no message. Its length may become smaller, and is written with as
// many bytes as before, which every reader of protobuf takes.
func (k kept) appendInside(lean, field []byte, content int) []byte {
	begin, size := len(lean), protowire.SizeVarint(uint64(len(field)-content))
	lean, ok := k.appendKept(append(lean, field[:content]...), field[content:])
	if !ok {
		return nil
	}
	for at, length := begin+content-size, len(lean)-begin-content; at < begin+content; at, length = at+1, length>>7 {
		lean[at] = byte(length&0x7f) | 0x80
	}
	lean[begin+content-1] &= 0x7f
	return lean
}

// first returns the number of the first field of a message, and where it ends; 0 if it is damaged. Content is where its bytes begin; 0 if it
// has a number.
func first(message []byte) (number protowire.Number, content, end int) {
	// Most are texts or messages of less than 128 bytes, with a number below 16.
	if len(message) > 1 && message[0]&0x87 == byte(protowire.BytesType) && message[0]>>3 > 0 && message[1] < 0x80 {
		if end = 2 + int(message[1]); end <= len(message) {
			return protowire.Number(message[0] >> 3), 2, end
		}
		return 0, 0, 0
	}
	number, wire, tag := protowire.ConsumeTag(message)
	if tag < 0 {
		return 0, 0, 0
	}
	if wire == protowire.BytesType {
		length, size := protowire.ConsumeVarint(message[tag:])
		if content = tag + size; size < 0 || length > uint64(len(message)-content) {
			return 0, 0, 0
		}
		return number, content, content + int(length)
	}
	length := protowire.ConsumeFieldValue(number, wire, message[tag:])
	if length < 0 {
		return 0, 0, 0
	}
	return number, 0, tag + length
}

// protobufPrefix begins an object in protobuf, see k8s.io/apimachinery/pkg/runtime/serializer/protobuf.
var protobufPrefix = []byte("k8s\x00")

// leanPod cuts out of a pod in protobuf, or a list of pods, what the engine does not look at, in place: data is spent, as client-go decodes
// each answer and each event once (Result.Get of k8s.io/client-go/rest, Decoder of its package watch). It returns anything else as it is.
func leanPod(data []byte) ([]byte, error) {
	unknown, isProtobuf := bytes.CutPrefix(data, protobufPrefix)
	if !isProtobuf {
		return data, nil
	}
	number, content, end := first(unknown)
	if number != typeOfUnknown || content == 0 {
		return data, nil
	}
	look, isPods := keptOf[string(unknown[content:end])]
	if !isPods {
		return data, nil
	}
	// What is kept never gets ahead of what is read.
	lean, ok := look.appendKept(data[:len(protobufPrefix)], unknown)
	if !ok {
		return nil, errors.New("decode pods: the protobuf is damaged")
	}
	return lean, nil
}

// leanSerializer makes watches and lists bring lean pods.
type leanSerializer struct{ runtime.NegotiatedSerializer }

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (s leanSerializer) DecoderToVersion(decoder runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return leanDecoder{s.NegotiatedSerializer.DecoderToVersion(decoder, version)}
}

type leanDecoder struct{ runtime.Decoder }

// Decode implements runtime.Decoder.
func (d leanDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	lean, err := leanPod(data)
	if err != nil {
		return nil, nil, err
	}
	return d.Decoder.Decode(lean, defaults, into)
}
