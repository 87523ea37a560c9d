package podtemplate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestValidate(t *testing.T) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}}}
	assert.Empty(t, Validate(template, field.NewPath("spec")), "what is missing has its default")
	assert.Empty(t, template.Spec.RestartPolicy, "the template is not changed")
	template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/data"}}
	errs := Validate(template, field.NewPath("spec"))
	require.Len(t, errs, 1)
	assert.Equal(t, "spec.spec.containers[0].volumeMounts[0].name", errs[0].Field)
}
