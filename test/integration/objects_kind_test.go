package integration

import (
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/controllers/podsequence/objectwatch"
	"example.com/podsequence/test/harness/cluster"
)

// certificates is a kind of a story's own, as an operator brings one. It is served in two versions: objects are stored in v1beta1, and
// sequences name v1.
type certificates struct {
	*story
	group string
}

// newCertificates names a kind that is not installed yet.
func (s *story) newCertificates() *certificates {
	return &certificates{s, s.Namespace + ".example.org"}
}

// installed is a kind that the controller may read.
func (s *story) installedCertificates() *certificates {
	s.Helper()
	k := s.newCertificates()
	k.permit()
	k.install()
	return k
}

func (k *certificates) definition() *apiextensionsv1.CustomResourceDefinition {
	version := func(name string, isStored bool) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: isStored,
			Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
			},
			Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
		}
	}
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "certificates." + k.group}}
	definition.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: k.group, Scope: apiextensionsv1.NamespaceScoped,
		Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "certificates", Singular: "certificate", Kind: "Certificate", ListKind: "CertificateList"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", false), version("v1beta1", true)},
	}
	return definition
}

// install creates the definition. The kind may be served a moment later.
func (k *certificates) install() {
	k.Helper()
	k.Create(k.definition())
	k.Cleanup(func() { _ = client.IgnoreNotFound(k.API.Delete(k.Ctx, k.definition())) })
}

// uninstall deletes the definition, with all objects.
func (k *certificates) uninstall() {
	k.Helper()
	k.Delete(k.definition())
	k.AwaitGone(k.definition())
}

// permit lets the controller read the kind, as the message says.
func (k *certificates) permit() {
	k.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "read-" + k.group, Labels: map[string]string{objectwatch.AggregationLabel: "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{k.group}, Resources: []string{"certificates"}, Verbs: []string{"get", "list", "watch"}}},
	}
	k.Create(role)
	k.Cleanup(func() { assert.NoError(k, k.API.Delete(k.Ctx, role)) })
}

func (k *certificates) object(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"secretName": name}}}
	object.SetAPIVersion(k.group + "/v1beta1")
	object.SetKind("Certificate")
	object.SetNamespace(k.Namespace)
	object.SetName(name)
	return object
}

// create creates a certificate that no controller has seen.
func (k *certificates) create(name string) {
	k.Helper()
	k.AwaitCreated(k.object(name))
}

// setReady writes the condition Ready, as of a time.
func (k *certificates) setReady(name, status string, since time.Time) {
	k.Helper()
	cluster.ChangeStatus(k.Story, k.object(name), func(object *unstructured.Unstructured) {
		object.Object["status"] = map[string]any{"conditions": []any{map[string]any{
			"type": "Ready", "status": status, "reason": "Story", "message": "says the story",
			"lastTransitionTime": since.UTC().Format(time.RFC3339), "observedGeneration": object.GetGeneration(),
		}}}
	})
}

func (k *certificates) reference(name, until string) v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{APIVersion: k.group + "/v1", Kind: "Certificate", Name: name, Until: until}
}

// objectIn is what status records of the only object of the first group.
func (s *story) objectIn(sequence string) v1alpha1.ObjectStatus {
	s.Helper()
	groups := s.getSequence(sequence).Status.Groups
	if len(groups) == 0 || len(groups[0].Objects) == 0 {
		return v1alpha1.ObjectStatus{}
	}
	return groups[0].Objects[0]
}

// awaitObject waits until status records the state of the only object of the first group, and returns the record.
func (s *story) awaitObject(sequence string, state v1alpha1.ObjectState) v1alpha1.ObjectStatus {
	s.Helper()
	s.Await("the object of "+sequence+" to be "+string(state), func() bool { return s.objectIn(sequence).State == state })
	return s.objectIn(sequence)
}

// uidOf is the UID of a certificate.
func (k *certificates) uidOf(name string) string {
	k.Helper()
	object := k.object(name)
	require.NoError(k, k.API.Get(k.Ctx, client.ObjectKeyFromObject(object), object))
	return string(object.GetUID())
}
