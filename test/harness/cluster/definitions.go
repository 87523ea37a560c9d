package cluster

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AllowAnything makes the API server accept any object of the kind that the definition defines, until restore is called. restore
// returns when the rules are back and refuse an object that they ought to refuse. What is created right after AllowAnything may
// still be refused for a moment, see AwaitCreated.
func (s *Story) AllowAnything(definition string, refused client.Object) (restore func()) {
	s.Helper()
	replace := func(with *apiextensionsv1.CustomResourceValidation) (before *apiextensionsv1.CustomResourceValidation) {
		found := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definition}}
		Change(s, found, func(d *apiextensionsv1.CustomResourceDefinition) {
			before, d.Spec.Versions[0].Schema = d.Spec.Versions[0].Schema, with
		})
		return before
	}
	schema := replace(&apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)},
	})
	return func() {
		s.Helper()
		replace(schema)
		s.Await("the rules to be back", func() bool {
			return s.API.Create(s.Ctx, refused.DeepCopyObject().(client.Object), client.DryRunAll) != nil
		})
	}
}
