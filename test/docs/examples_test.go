package docs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/tools/podseqctl"
	"example.com/podsequence/tools/podseqctl/lint"
)

// Users copy what the documentation shows. Whole objects are checked as the API server and kubectl podseq lint would; of fragments
// only that they are YAML.
func TestExamplesAreValid(t *testing.T) {
	whole, fragments := 0, 0
	for _, p := range pages(t) {
		for _, b := range p.Blocks {
			if b.Language() != "yaml" {
				continue
			}
			place := fmt.Sprintf("%s:%d", p.File, b.Number)
			if b.Is("fragment") {
				fragments++
				var any any
				assert.NoError(t, yaml.Unmarshal([]byte(b.Text), &any), place)
				continue
			}
			whole++
			for _, err := range check(t, b.Text) {
				assert.NoError(t, err, place)
			}
		}
	}
	assert.Greater(t, whole, 20)
	assert.NotZero(t, fragments)
}

// check returns what is wrong about the objects of a block.
func check(t *testing.T, text string) []error {
	t.Helper()
	definitions, err := lint.NewDefinitions()
	require.NoError(t, err)
	strict := serializer.NewCodecFactory(clientgoscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var errs []error
	ours := false
	decoder := utilyaml.NewDocumentDecoder(io.NopCloser(strings.NewReader(text)))
	for buffer := make([]byte, len(text)+1); ; {
		n, err := decoder.Read(buffer)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(buffer[:n], &object.Object); err != nil {
			errs = append(errs, err)
			continue
		}
		kind := object.GroupVersionKind()
		switch {
		case definitions.Has(kind):
			ours = true
		case object.GetName() == "":
			errs = append(errs, errors.New("an object has no name: if the block is a part of an object, say so by ```yaml fragment"))
		default:
			_, _, err := strict.Decode(buffer[:n], nil, nil)
			errs = append(errs, err)
		}
	}
	if ours {
		errs = append(errs, lintText(t, text))
	}
	return errs
}

// lintText runs kubectl podseq lint on a block.
func lintText(t *testing.T, text string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "example.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	var out bytes.Buffer
	command := podseqctl.NewCommand(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}, podseqctl.Options{})
	command.SetArgs([]string{"lint", "-f", file})
	if err := command.ExecuteContext(t.Context()); err != nil {
		return fmt.Errorf("%w\n%s", err, out.String())
	}
	return nil
}

// An example that is wrong in one of these ways would mislead users, and must be found.
func TestWrongExamplesAreFound(t *testing.T) {
	for name, text := range map[string]string{
		"a field of ours that does not exist": "apiVersion: scheduling.example.com/v1alpha1\nkind: PodSequence\nmetadata: {name: shop}\n" +
			"spec: {podGroups: [{podselector: {}}]}\n",
		"a rule of ours is broken": "apiVersion: scheduling.example.com/v1alpha1\nkind: PodSequence\nmetadata: {name: shop}\n" +
			"spec: {podGroups: [{pods: [db-0], podSelector: {}}]}\n",
		"a field of Kubernetes that does not exist": "apiVersion: v1\nkind: Pod\nmetadata: {name: db-0}\nspec: {schedulingGate: []}\n",
		"a kind of nobody":                          "apiVersion: v1\nkind: Pot\nmetadata: {name: db-0}\n",
		"a part of an object":                       "spec: {podGroups: []}\n",
	} {
		t.Run(name, func(t *testing.T) {
			found := errors.Join(check(t, text)...)
			assert.Error(t, found)
		})
	}
}
