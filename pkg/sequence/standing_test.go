package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/pkg/sequence/order"
)

func TestANodeIsOpenToTheGroupsThatAreReleasedThere(t *testing.T) {
	at := standing{known: true, released: 0b0011}
	assert.True(t, at.isOpen(1))
	assert.False(t, at.isOpen(2))
	assert.Equal(t, order.GroupSet(0b0011), at.open())
	assert.Zero(t, standing{released: 0b0011}.open(), "a node that is not known")
}
