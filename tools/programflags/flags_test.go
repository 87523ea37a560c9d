package programflags

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestAFlag(t *testing.T) {
	for name, tc := range map[string]struct {
		args  []string
		want  []string
		given bool
	}{
		"that is not given has no values": {[]string{"--v=2", "--names-of-others=a"}, nil, false},
		"that is empty is given":          {[]string{"--names="}, nil, true},
		"may have several values":         {[]string{"--v=2", "--names=a,b"}, []string{"a", "b"}, true},
		"may be given as two arguments":   {[]string{"--names", "a,b", "--v=2"}, []string{"a", "b"}, true},
		"may be given several times":      {[]string{"--names=a", "--names=b"}, []string{"a", "b"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := &appsv1.Deployment{}
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Args: tc.args}}
			values, given := Values(deployment, "--names")
			assert.ElementsMatch(t, tc.want, values)
			assert.Equal(t, tc.given, given)
		})
	}
}
