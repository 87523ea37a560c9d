package inventory

import (
	"testing"

	"github.com/stretchr/testify/assert"

	coordinationv1 "example.com/podsequence/apis/apps/v1"
)

func TestTheMarkOfAPauseIsThatOfDeploymentCoordinations(t *testing.T) {
	assert.Equal(t, coordinationv1.PausedByAnnotation, pausedByAnnotation)
}
