package podgroup

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// jobSet installs as much of JobSet as the API server needs to serve it, and creates one. The test creates its Jobs.
func (s *story) jobSet(name string) *unstructured.Unstructured {
	s.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "jobsets.jobset.x-k8s.io"}}
	definition.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "jobset.x-k8s.io", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "jobsets", Singular: "jobset", Kind: "JobSet", ListKind: "JobSetList"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: "v1alpha2", Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", XPreserveUnknownFields: new(true),
			}},
		}},
	}
	s.Create(definition)
	s.Cleanup(func() { s.uninstall(definition) })
	set := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}}
	set.SetNamespace(s.Namespace)
	set.SetName(name)
	s.Await("JobSets to be served", func() bool { return s.API.Create(s.Ctx, set) == nil })
	return set
}

// jobOf is a Job with the labels that its JobSet gives it.
func (s *story) jobOf(set *unstructured.Unstructured, replicated, replicas, all string, pods int32) *batchv1.Job {
	job := s.job(set.GetName()+"-"+replicated, pods, nil)
	job.Labels = map[string]string{
		"jobset.sigs.k8s.io/replicatedjob-name":     replicated,
		"jobset.sigs.k8s.io/replicatedjob-replicas": replicas,
		"jobset.sigs.k8s.io/global-replicas":        all,
	}
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, set.GroupVersionKind())}
	return job
}

// A JobSet creates the Jobs of its workers when its driver is ready. They are of the group before they are there.
func TestAJobSetWhoseJobsAreYetToBeCreated(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.expect("gang", 3)
	set := s.jobSet("training")
	s.Create(s.jobOf(set, "driver", "1", "2", 1))
	s.awaitRunning("gang", 1)
	s.expectNoLabels("gang")
	s.Create(s.jobOf(set, "workers", "1", "2", 2))
	s.awaitLabels("gang", 3)
}
