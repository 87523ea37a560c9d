package lint

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	k8sschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	batchv1alpha1 "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/manifests"
)

// Definitions hold the rules of the shipped kinds, as the API server applies them.
type Definitions struct {
	byKind map[k8sschema.GroupVersionKind]definition
}

type definition struct {
	namespaced bool
	structural *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

// NewDefinitions reads the CustomResourceDefinitions that are part of this program.
func NewDefinitions() (*Definitions, error) {
	files, err := fs.Glob(manifests.FS, "crds/*_*.yaml")
	if err != nil {
		return nil, fmt.Errorf("find definitions: %w", err)
	}
	d := &Definitions{byKind: map[k8sschema.GroupVersionKind]definition{}}
	for _, file := range files {
		text, err := manifests.FS.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read definition: %w", err)
		}
		if err := d.add(text); err != nil {
			return nil, fmt.Errorf("read definition %s: %w", path.Base(file), err)
		}
	}
	return d, nil
}

func (d *Definitions) add(text []byte) error {
	crd, err := parseDefinition(text)
	if err != nil {
		return err
	}
	for _, served := range crd.Spec.Versions {
		rules, err := apiextensions.GetSchemaForVersion(crd, served.Name)
		if err != nil {
			return err
		}
		structural, err := schema.NewStructural(rules.OpenAPIV3Schema)
		if err != nil {
			return err
		}
		validator, _, err := validation.NewSchemaValidator(rules.OpenAPIV3Schema)
		if err != nil {
			return err
		}
		kind := k8sschema.GroupVersionKind{Group: crd.Spec.Group, Version: served.Name, Kind: crd.Spec.Names.Kind}
		d.byKind[kind] = definition{
			namespaced: crd.Spec.Scope == apiextensions.NamespaceScoped, structural: structural, validator: validator,
			rules: cel.NewValidator(structural, true, celconfig.PerCallLimit),
		}
	}
	return nil
}

// parseDefinition reads a CustomResourceDefinition as the API server does.
func parseDefinition(text []byte) (*apiextensions.CustomResourceDefinition, error) {
	stored := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, stored); err != nil {
		return nil, err
	}
	crd := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(stored, crd, nil); err != nil {
		return nil, err
	}
	return crd, nil
}

// Has reports whether a kind is one of ours, in whichever version.
func (d *Definitions) Has(kind k8sschema.GroupVersionKind) bool {
	for known := range d.byKind {
		if known.GroupKind() == kind.GroupKind() {
			return true
		}
	}
	return false
}

// unknownToGo returns the paths of fields that the definition of SequentialJobs keeps, because a newer Kubernetes may have them, and that
// this program's release of it does not have. Most of them are misspelled.
func unknownToGo(kind k8sschema.GroupVersionKind, object map[string]any) (paths []string) {
	if kind != batchv1alpha1.SequentialJobKind {
		return nil
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, &batchv1alpha1.SequentialJob{}, true)
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return nil
	}
	for _, err := range strict.Errors() {
		if path, found := strings.CutPrefix(err.Error(), "unknown field "); found {
			paths = append(paths, strings.Trim(path, `"`))
		}
	}
	return paths
}

// Check returns what the API server would refuse about an object of one of our kinds, and the object with its defaults.
func (d *Definitions) Check(ctx context.Context, object *unstructured.Unstructured) (field.ErrorList, *unstructured.Unstructured) {
	kind := object.GroupVersionKind()
	rules, known := d.byKind[kind]
	if !known {
		return field.ErrorList{field.NotSupported(field.NewPath("apiVersion"), object.GetAPIVersion(), d.versions(kind.GroupKind()))}, object
	}
	var errs field.ErrorList
	written := place{rules.structural, object.Object}
	object = object.DeepCopy()
	// The API server fills in who wrote what and when; objects in files have none of it.
	unstructured.RemoveNestedField(object.Object, "status")
	unknown := pruning.PruneWithOptions(object.Object, rules.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, name := range append(unknown, unknownToGo(kind, object.Object)...) {
		errs = append(errs, unknownField(written, name))
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, rules.structural)
	defaulting.Default(object.Object, rules.structural)
	errs = append(errs, metaErrors(object, rules.namespaced)...)
	invalid := validation.ValidateCustomResource(nil, object.Object, rules.validator)
	invalid = append(invalid, objectmeta.Validate(ctx, nil, object.Object, rules.structural, false)...)
	invalid = append(invalid, listtype.ValidateListSetsAndMaps(nil, rules.structural, object.Object)...)
	errs = append(errs, invalid...)
	if rules.rules != nil && !blocks(invalid) {
		broken, _ := rules.rules.Validate(ctx, nil, rules.structural, object.Object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	for _, err := range errs {
		explainValue(written, err)
	}
	return errs, object
}

// blocks reports whether the API server does not evaluate rules after such errors: the rules could not be relied on.
func blocks(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}

func metaErrors(object *unstructured.Unstructured, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	metadata := field.NewPath("metadata")
	switch name := object.GetName(); {
	case name == "" && object.GetGenerateName() == "":
		errs = append(errs, field.Required(metadata.Child("name"), "every object has a name"))
	case name != "":
		for _, message := range metavalidation.NameIsDNSSubdomain(name, false) {
			errs = append(errs, field.Invalid(metadata.Child("name"), name, message))
		}
	}
	if !namespaced && object.GetNamespace() != "" {
		errs = append(errs, field.Forbidden(metadata.Child("namespace"), "the kind is cluster-scoped: remove the namespace"))
	}
	return errs
}

func (d *Definitions) versions(kind k8sschema.GroupKind) []string {
	var versions []string
	for known := range d.byKind {
		if known.GroupKind() == kind {
			versions = append(versions, known.GroupVersion().String())
		}
	}
	return versions
}

// CheckAll adds what the API server would refuse about an object.
func (d *Definitions) CheckAll(ctx context.Context, source string, object *unstructured.Unstructured) (Findings, *unstructured.Unstructured) {
	var findings Findings
	errs, defaulted := d.Check(ctx, object)
	for _, err := range errs {
		message := strings.TrimPrefix(err.Error(), "<nil>: ")
		findings.add(source, Name(object), Error, "Schema", "%s", message)
	}
	return findings, defaulted
}

// Name names an object as messages do.
func Name(object *unstructured.Unstructured) string {
	name := object.GetName()
	if object.GetNamespace() != "" {
		name = object.GetNamespace() + "/" + name
	}
	return object.GetKind() + " " + name
}
