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

// expectedPolicies returns the policies of the shipped manifests that this installation should have: by its mode, the features that it
// has, and what its API server serves.
func (f *facts) expectedPolicies() ([]policy, error) {
	directories := []string{"parts/admission", "parts/admission/controller"}
	if !f.isLite() {
		directories = append(directories, "parts/admission/scheduler")
	}
	if f.mutating {
		if f.kinds["deploymentcoordinations"].served {
			directories = append(directories, "parts/policies/deploymentcoordination")
		}
		if f.isLite() {
			directories = append(directories, "parts/policies/gating")
		}
		if !f.isLite() && !f.isDefault() {
			directories = append(directories, "parts/policies/routing", "parts/policies/opt-in")
		}
	}
	var expected []policy
	for _, directory := range directories {
		found, err := policiesIn(directory)
		if err != nil {
			return nil, err
		}
		expected = append(expected, found...)
	}
	return expected, nil
}

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
