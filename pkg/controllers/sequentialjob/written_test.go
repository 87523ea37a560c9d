package sequentialjob

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

func TestAnOlderCopyThanWasWritten(t *testing.T) {
	object := makeWorld(1).object
	m := newWritten()
	object.ResourceVersion = "100"
	assert.False(t, m.isOlder(object), "nothing was written")
	m.remember(object)
	for version, want := range map[string]bool{"99": true, "100": false, "101": false, "1000": false, "not a version": false} {
		object.ResourceVersion = version
		assert.Equal(t, want, m.isOlder(object), version)
	}
	object.ResourceVersion = "99"
	m.forget(types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
	assert.False(t, m.isOlder(object), "it is gone")
}
