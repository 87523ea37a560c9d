// Package embeddedpods adapts the generated definition of a custom resource whose spec embeds containers, as steps, and
// a pod template.
//
// What controller-gen makes of core/v1 types does not fit there, and core/v1 has no markers of ours to say so:
//   - The descriptions would make the definition several times larger than the 256 KiB that client-side apply can
//     record in its annotation. They are those of core/v1, where everybody knows to look them up.
//   - A pod template must list containers; ours must not: they are the steps. A Go client writes the list that it leaves
//     out as null, so that must do as well.
//   - To CEL, lists of type map are equal in any order, so the variables of a step and the init containers could be
//     reordered although they are immutable. What is set as a whole needs no keys to merge by.
//   - CEL takes the cost of a rule on a container's name for unbounded if it does not know how long the name can be.
//   - Fields that later releases of Kubernetes have would be pruned without a word. They are kept; whether the API server knows them is
//     found out when the controller creates the Jobs of the steps by dry run.
//   - Most of the definition would be what is deep inside of a template: volumes, affinity, containers again and again. Of that there
//     are only the defaults: without these, applying the same manifest once more would change what is stored, and is immutable.
package embeddedpods

import (
	"fmt"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// AdaptFile adapts the definition in a file.
func AdaptFile(path string) error {
	generated, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read definition: %w", err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(generated, definition); err != nil {
		return fmt.Errorf("decode definition: %w", err)
	}
	for _, version := range definition.Spec.Versions {
		if err := adapt(version.Schema.OpenAPIV3Schema); err != nil {
			return fmt.Errorf("adapt version %s: %w", version.Name, err)
		}
	}
	adapted, err := encode(definition)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, adapted, 0o644); err != nil {
		return fmt.Errorf("write definition: %w", err)
	}
	return nil
}

// encode writes the definition as controller-gen does: without a status.
func encode(definition *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(definition)
	if err != nil {
		return nil, fmt.Errorf("convert definition: %w", err)
	}
	delete(content, "status")
	encoded, err := yaml.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode definition: %w", err)
	}
	return append([]byte("---\n"), encoded...), nil
}

func adapt(schema *apiextensionsv1.JSONSchemaProps) error {
	steps, err := property(schema, "spec", "containers")
	if err != nil {
		return err
	}
	template, err := property(schema, "spec", "template")
	if err != nil {
		return err
	}
	simplify(steps.Items.Schema)
	edit(steps.Items.Schema, "name", func(name *apiextensionsv1.JSONSchemaProps) {
		name.MinLength, name.MaxLength = ptr.To[int64](1), ptr.To[int64](63)
	})

	pod, err := property(template, "spec")
	if err != nil {
		return err
	}
	edit(template, "metadata", simplify)
	simplify(pod)
	pod.Required = nil // containers were all that was required
	for _, name := range []string{"affinity", "containers", "ephemeralContainers", "initContainers", "topologySpreadConstraints", "volumes"} {
		edit(pod, name, func(deep *apiextensionsv1.JSONSchemaProps) { reduce(deep) })
	}
	edit(pod, "containers", func(containers *apiextensionsv1.JSONSchemaProps) {
		containers.Nullable = true
	})
	template.Properties["spec"] = *pod
	spec := schema.Properties["spec"]
	spec.Properties["containers"], spec.Properties["template"] = *steps, *template
	return nil
}

// property returns a copy of a property.
func property(schema *apiextensionsv1.JSONSchemaProps, path ...string) (*apiextensionsv1.JSONSchemaProps, error) {
	for _, name := range path {
		inner, ok := schema.Properties[name]
		if !ok {
			return nil, fmt.Errorf("find property %q of %q", name, path)
		}
		schema = &inner
	}
	return schema, nil
}

// edit changes a property in place.
func edit(schema *apiextensionsv1.JSONSchemaProps, name string, change func(*apiextensionsv1.JSONSchemaProps)) {
	inner := schema.Properties[name]
	change(&inner)
	schema.Properties[name] = inner
}

// simplify removes, all the way down, what only people or a merge would read.
func simplify(schema *apiextensionsv1.JSONSchemaProps) {
	for name := range schema.Properties {
		edit(schema, name, func(inner *apiextensionsv1.JSONSchemaProps) {
			simplify(inner)
			inner.Description = ""
		})
	}
	if items := schema.Items; items != nil && items.Schema != nil {
		simplify(items.Schema)
		items.Schema.Description = ""
	}
	if values := schema.AdditionalProperties; values != nil && values.Schema != nil {
		simplify(values.Schema)
		values.Schema.Description = ""
	}
	schema.XListType, schema.XListMapKeys = nil, nil
	keepUnknown(schema)
}

// keepUnknown keeps fields that the schema of an object does not have.
func keepUnknown(schema *apiextensionsv1.JSONSchemaProps) {
	if schema.Type == "object" && schema.AdditionalProperties == nil {
		schema.XPreserveUnknownFields = ptr.To(true)
	}
}

// reduce removes all of a schema but its defaults, and reports whether it has any.
func reduce(schema *apiextensionsv1.JSONSchemaProps) bool {
	has := schema.Default != nil
	for name := range schema.Properties {
		inner := schema.Properties[name]
		if !reduce(&inner) {
			delete(schema.Properties, name)
			continue
		}
		schema.Properties[name], has = inner, true
	}
	if items := schema.Items; items != nil && items.Schema != nil {
		has = reduce(items.Schema) || has
	}
	if len(schema.Properties) == 0 {
		schema.Properties, schema.AdditionalProperties = nil, nil
	}
	schema.Required, schema.XMapType = nil, nil
	keepUnknown(schema)
	return has
}
