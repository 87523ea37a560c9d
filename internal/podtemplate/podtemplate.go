// Package podtemplate checks pod templates by the rules of the API server.
package podtemplate

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
)

// Validate returns what the API server would refuse of a pod template that is at the path.
func Validate(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	defaulted := corev1.PodTemplate{Template: *template.DeepCopy()}
	corev1conversion.SetObjectDefaults_PodTemplate(&defaulted)
	var internal core.PodTemplateSpec
	if err := corev1conversion.Convert_v1_PodTemplateSpec_To_core_PodTemplateSpec(&defaulted.Template, &internal, nil); err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	return validation.ValidatePodTemplateSpec(&internal, path, podutil.GetValidationOptionsFromPodTemplate(&internal, nil))
}
