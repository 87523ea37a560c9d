package podsequence

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestTheEventOfAReadyGroupCountsItsObjects(t *testing.T) {
	objects := func(n int) []v1alpha1.ObjectStatus { return make([]v1alpha1.ObjectStatus, n) }
	for want, group := range map[string]v1alpha1.GroupStatus{
		"2 of 2 pods":            {Ready: 2, Expected: 2},
		"0 of 0 pods":            {},
		"1 object":               {Objects: objects(1)},
		"3 objects":              {Objects: objects(3)},
		"2 of 2 pods, 1 object":  {Ready: 2, Expected: 2, Objects: objects(1)},
		"2 of 3 pods, 2 objects": {Ready: 2, Expected: 3, Objects: objects(2)},
	} {
		assert.Equal(t, want, whatIsReady(group))
	}
}
