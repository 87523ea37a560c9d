// Package apidoc writes docs/api.md from the definitions of our kinds, which controller-gen makes from the types in apis/.
package apidoc

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const preface = `# API reference

` + "`make generate`" + ` writes this page from the types in ` + "`apis/`" + `: do not edit it. What the fields mean together is in
[semantics](semantics.md), [SequentialJob](sequentialjob.md) and [DeploymentCoordination](deploymentcoordination.md).
`

// embedded are types of Kubernetes itself, which its own reference describes: their fields are left out.
var embedded = map[string]string{
	".spec.containers[]":                "a [Container](https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.37/#container-v1-core)",
	".spec.template":                    "a [PodTemplateSpec](https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.37/#podtemplatespec-v1-core)",
	".status.conditions[]":              "a [Condition](https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.37/#condition-v1-meta)",
	".status.nodeStatus[].conditions[]": "a [Condition](https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.37/#condition-v1-meta)",
}

// order is the order of the kinds on the page. Other kinds come after these.
var order = []string{"PodSequence", "ClusterPodSequence", "SequentialJob", "DeploymentCoordination"}

// Page returns the page for the definitions in a directory.
func Page(directory string) (string, error) {
	definitions, err := readDefinitions(directory)
	if err != nil {
		return "", err
	}
	page := &strings.Builder{}
	page.WriteString(preface)
	for _, definition := range definitions {
		for _, version := range definition.Spec.Versions {
			describeKind(page, &definition.Spec, version)
		}
	}
	return page.String(), nil
}

// readDefinitions returns the definitions in a directory in the order of the page.
func readDefinitions(directory string) ([]apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*_*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list definitions: %w", err)
	}
	definitions := make([]apiextensionsv1.CustomResourceDefinition, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read definition: %w", err)
		}
		if err := yaml.Unmarshal(text, &definitions[i]); err != nil {
			return nil, fmt.Errorf("decode %s: %w", file, err)
		}
	}
	slices.SortStableFunc(definitions, func(a, b apiextensionsv1.CustomResourceDefinition) int {
		return cmp.Compare(place(a.Spec.Names.Kind), place(b.Spec.Names.Kind))
	})
	return definitions, nil
}

// place returns the index of a kind in order, or the length of order if it is not there.
func place(kind string) int {
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return len(order)
}

func describeKind(page *strings.Builder, spec *apiextensionsv1.CustomResourceDefinitionSpec, version apiextensionsv1.CustomResourceDefinitionVersion) {
	schema := version.Schema.OpenAPIV3Schema
	fmt.Fprintf(page, "\n## %s\n\n`%s/%s`, %s", spec.Names.Kind, spec.Group, version.Name, strings.ToLower(string(spec.Scope)))
	if len(spec.Names.ShortNames) > 0 {
		fmt.Fprintf(page, ", short name `%s`", strings.Join(spec.Names.ShortNames, "`, `"))
	}
	if len(spec.Names.Categories) > 0 {
		fmt.Fprintf(page, ", category `%s`", strings.Join(spec.Names.Categories, "`, `"))
	}
	fmt.Fprintf(page, ". %s\n", prose(schema.Description))
	for _, part := range []string{"spec", "status"} {
		fmt.Fprintf(page, "\n### %s %s\n\n| field | type | default | meaning |\n|---|---|---|---|\n", spec.Names.Kind, part)
		root := schema.Properties[part]
		describeFields(page, "."+part, &root)
		if rules := root.XValidations; len(rules) > 0 {
			page.WriteString("\nRules:\n\n")
			for _, rule := range rules {
				fmt.Fprintf(page, "- %s\n", message(rule))
			}
		}
	}
}

// describeFields writes a line for each field of an object, and of what is in it.
func describeFields(page *strings.Builder, path string, object *apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.SortedFunc(maps.Keys(object.Properties), cmp.Compare[string]) {
		field := object.Properties[name]
		fieldPath := path + "." + name
		defaulted := ""
		if field.Default != nil {
			defaulted = "`" + string(field.Default.Raw) + "`"
		} else if slices.Contains(object.Required, name) {
			defaulted = "required"
		}
		inner, innerPath := &field, fieldPath
		if field.Items != nil {
			inner, innerPath = field.Items.Schema, fieldPath+"[]"
		} else if values := field.AdditionalProperties; values != nil && values.Schema != nil && values.Schema.Type == "object" {
			inner, innerPath = values.Schema, fieldPath+"[]"
		}
		fmt.Fprintf(page, "| `%s` | %s | %s | %s |\n", strings.TrimPrefix(fieldPath, "."), typeOf(&field, innerPath), defaulted, meaning(&field, inner))
		if embedded[innerPath] == "" && embedded[fieldPath] == "" {
			describeFields(page, innerPath, inner)
		}
	}
}

func typeOf(field *apiextensionsv1.JSONSchemaProps, path string) string {
	switch {
	case embedded[path] != "" && field.Items != nil:
		return "list, each " + embedded[path]
	case embedded[path] != "":
		return embedded[path]
	case field.XIntOrString:
		return "int or string"
	case field.Items != nil:
		return "list of " + field.Items.Schema.Type + bounds(field.MinItems, field.MaxItems)
	case field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil:
		return "map to " + field.AdditionalProperties.Schema.Type
	case field.Format == "date-time":
		return "time"
	}
	return field.Type
}

func bounds(least, most *int64) string {
	switch {
	case least != nil && most != nil:
		return fmt.Sprintf(", %d to %d", *least, *most)
	case most != nil:
		return fmt.Sprintf(", up to %d", *most)
	}
	return ""
}

// meaning is the description of a field, its values, and the rules about it.
func meaning(field, inner *apiextensionsv1.JSONSchemaProps) string {
	text := prose(field.Description)
	var values []string
	for _, value := range slices.Concat(field.Enum, inner.Enum) {
		if v := "`" + strings.Trim(string(value.Raw), `"`) + "`"; !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	if len(values) > 0 {
		text += " One of " + strings.Join(values, ", ") + "."
	}
	if field.Minimum != nil {
		text += " At least " + strconv.FormatFloat(*field.Minimum, 'f', -1, 64) + "."
	}
	if field.Maximum != nil {
		text += " At most " + strconv.FormatFloat(*field.Maximum, 'f', -1, 64) + "."
	}
	rules := field.XValidations
	if inner != field {
		rules = slices.Concat(rules, inner.XValidations)
	}
	for _, rule := range rules {
		text += " *Rule:* " + message(rule) + "."
	}
	return strings.TrimSpace(strings.ReplaceAll(text, "|", "\\|"))
}

func message(rule apiextensionsv1.ValidationRule) string {
	if rule.Message != "" {
		return strings.TrimSuffix(prose(rule.Message), ".")
	}
	return "`" + line(rule.Rule) + "`"
}

// literal escapes the characters that mean something in Markdown: '_' and '*' would emphasize what is between two of them, and
// '<' would begin a tag.
var literal = strings.NewReplacer("_", `\_`, "*", `\*`, "<", `\<`)

// prose is a text in one line that Markdown shows as it is.
func prose(text string) string { return literal.Replace(line(text)) }

// line is a text in one line.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }
