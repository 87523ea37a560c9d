package placement

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/podsequence/pkg/sequence/spec"
)

func TestANodeIsOpenToTheGroupsThatAreReleasedThere(t *testing.T) {
	released := Standing{Known: true, Released: 0b0011}
	assert.True(t, released.IsOpen(1))
	assert.False(t, released.IsOpen(2))
	assert.Equal(t, spec.GroupSet(0b0011), released.Open())
	assert.Zero(t, Standing{Released: 0b0011}.Open(), "a node that is not known")
}

func TestAnEmptyNode(t *testing.T) {
	ofGPUs := &spec.Group{NodeSelector: labels.SelectorFromSet(labels.Set{"gpu": "yes"})}
	s := &spec.Sequence{Groups: []*spec.Group{ofGPUs, {Awaited: 0b1}, {Awaited: 0b11}}}
	assert.Equal(t, Standing{Passed: 0b1, Released: 0b11, Known: true}, OnEmptyNode(s, nil, false, 0b1), "the first group is for other nodes")
	assert.Equal(t, Standing{Released: 0b1, Known: true}, OnEmptyNode(s, map[string]string{"gpu": "yes"}, false, 0b1))
	assert.Zero(t, OnEmptyNode(s, nil, true, 0b1).Released, "the namespace does not allow the sequence")
	suspended := &spec.Sequence{Groups: s.Groups, Suspended: true}
	assert.Zero(t, OnEmptyNode(suspended, nil, false, 0).Released)
	assert.Equal(t, spec.GroupSet(0b1), OnEmptyNode(suspended, nil, false, 0b1).Released)
}
