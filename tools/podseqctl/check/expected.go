package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"example.com/podsequence/manifests"
)

// policy is a policy that an installation has.
type policy struct{ plural, name string }

// policiesIn returns the policies in the files of a directory.
func policiesIn(directory string) ([]policy, error) {
	files, err := fs.Glob(manifests.FS, directory+"/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("find the shipped policies: %w", err)
	}
	plurals := map[string]string{"ValidatingAdmissionPolicy": validating, "MutatingAdmissionPolicy": mutating}
	var found []policy
	for _, file := range files {
		content, err := manifests.FS.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the shipped policies: %w", err)
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content))
		for {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("read the shipped policies in %s: %w", file, err)
			}
			if plural := plurals[object.GetKind()]; plural != "" {
				found = append(found, policy{plural, object.GetName()})
			}
		}
	}
	return found, nil
}
