package revisions

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// registry is the API server's --etcd-prefix, which the sandbox leaves at its default.
const registry = "/registry/"

// decoder reads both forms of storage: protobuf for what is built in, JSON for custom resources.
var decoder = clientgoscheme.Codecs.UniversalDeserializer()

// Kind is a kind of object to follow, of each of which an F is kept.
type Kind[F any] struct {
	prefix string
	read   func(value []byte, at Revision) (F, error)
}

// KindOf returns the kind whose objects the API server stores under a path: that is the plural, such as "pods", but
// "minions" for nodes and "controllers" for ReplicationControllers; for a custom resource it is "GROUP/PLURAL". Of each
// object it keeps what keep makes of it.
func KindOf[T any, O interface {
	*T
	metav1.Object
	runtime.Object
}, F any](path string, keep func(O) F) Kind[F] {
	return Kind[F]{
		prefix: registry + path + "/",
		read: func(value []byte, at Revision) (F, error) {
			object := O(new(T))
			decoded, stored, err := decoder.Decode(value, nil, object)
			if err != nil {
				return *new(F), err
			}
			if decoded != runtime.Object(object) {
				return *new(F), fmt.Errorf("it is stored as a %s, which is no %T", stored, object)
			}
			// What is stored has none: it is the revision of the write itself.
			object.SetResourceVersion(at.String())
			return keep(object), nil
		},
	}
}
