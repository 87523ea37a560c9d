package controlplane

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"example.com/podsequence/tools/sandbox/kustomizations"
)

const (
	// shippedDirectory is where the shipped manifests are in the repository.
	shippedDirectory = "manifests"
	// sandboxKustomization is the default installation with no replicas: the programs run as processes here.
	sandboxKustomization = "sandbox"
	// asDefaultKustomization is that of a cluster whose scheduler is ours.
	asDefaultKustomization = "sandbox-as-default-scheduler"
	fieldOwner             = client.FieldOwner("podsequence-sandbox")
)

// withoutMutatingPolicies is the component, below manifests/options/without, for API servers before 1.36.
const withoutMutatingPolicies = "mutating-policies"

// mutatingPolicies are served by default since Kubernetes 1.36.
var mutatingPolicies = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy"}

// composition is a kustomization that a user would write to leave out features.
const composition = "composition"

// renderManifests builds a kustomization and returns its objects in an order in which they can be created. Features are
// left out by the components under manifests/options/without.
func renderManifests(files fs.FS, kustomization string, without ...string) ([]*unstructured.Unstructured, error) {
	memory := filesys.MakeFsInMemory()
	if err := copyTo(memory, shippedDirectory, files); err != nil {
		return nil, err
	}
	if err := copyTo(memory, kustomizations.Directory, kustomizations.FS); err != nil {
		return nil, err
	}
	kustomization = placeOf(memory, kustomization)
	if len(without) > 0 {
		if err := compose(memory, kustomization, without); err != nil {
			return nil, err
		}
		kustomization = composition
	}
	options := krusty.MakeDefaultOptions()
	// Then kustomizations choose their order; by default namespaces and definitions come first and admission policies
	// last.
	options.Reorder = krusty.ReorderOptionUnspecified
	resources, err := krusty.MakeKustomizer(options).Run(memory, kustomization)
	if err != nil {
		return nil, fmt.Errorf("render manifests: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, resource := range resources.Resources() {
		content, err := resource.Map()
		if err != nil {
			return nil, fmt.Errorf("decode manifest %s: %w", resource.CurId(), err)
		}
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return objects, nil
}

func compose(memory filesys.FileSystem, kustomization string, without []string) error {
	content := "kind: Kustomization\nsortOptions: {order: legacy}\nresources: [../" + kustomization + "]\ncomponents:\n"
	for _, feature := range without {
		content += "- ../" + shippedDirectory + "/options/without/" + feature + "\n"
	}
	if err := memory.WriteFile(composition+"/kustomization.yaml", []byte(content)); err != nil {
		return fmt.Errorf("write kustomization: %w", err)
	}
	return nil
}

// placeOf is where a kustomization is: with the shipped ones, or with those of the sandbox, which earlier releases shipped.
func placeOf(memory filesys.FileSystem, kustomization string) string {
	if shipped := path.Join(shippedDirectory, kustomization); memory.Exists(shipped) {
		return shipped
	}
	return path.Join(kustomizations.Directory, kustomization)
}

// copyTo turns embedded files into what kustomize reads, below a directory.
func copyTo(memory filesys.FileSystem, directory string, files fs.FS) error {
	err := fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		return memory.WriteFile(path.Join(directory, file), content)
	})
	if err != nil {
		return fmt.Errorf("read embedded manifests: %w", err)
	}
	return nil
}

// splitDefinitions sets apart the custom resource definitions, which must be served before what comes after them.
func splitDefinitions(objects []*unstructured.Unstructured) (definitions, others []*unstructured.Unstructured) {
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			definitions = append(definitions, object)
		} else {
			others = append(others, object)
		}
	}
	return definitions, others
}

// discoveryLag is how long to try again, some 20 s together: discovery may list a kind only a moment after its definition is established.
var discoveryLag = wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.5, Steps: 13}

func applyAll(ctx context.Context, applier client.Client, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		configuration := client.ApplyConfigurationFromUnstructured(object)
		err := retry.OnError(discoveryLag, meta.IsNoMatchError, func() error {
			return applier.Apply(ctx, configuration, fieldOwner, client.ForceOwnership)
		})
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// waitForDefinitions returns when the API server serves the kinds that were defined.
func waitForDefinitions(ctx context.Context, config *rest.Config, definitions []*unstructured.Unstructured) error {
	clientset, err := apiextensions.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client for definitions: %w", err)
	}
	for _, definition := range definitions {
		named := cache.NewListWatchFromClient(clientset.ApiextensionsV1().RESTClient(), "customresourcedefinitions", "",
			fields.OneTermEqualSelector(metav1.ObjectNameField, definition.GetName()))
		err := waitFor(ctx, startTimeout, definition.GetName(), named, &apiextensionsv1.CustomResourceDefinition{}, established)
		if err != nil {
			return err
		}
	}
	return nil
}

func established(object runtime.Object) bool {
	for _, condition := range object.(*apiextensionsv1.CustomResourceDefinition).Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
