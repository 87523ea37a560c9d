package deployment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"example.com/podsequence/test/harness/cluster"
)

// thief is the user agent of those who use the token of one of our programs. What they ask for is not what the programs do.
const thief = "thief"

var (
	pods         = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	secrets      = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	accounts     = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	roles        = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
	leases       = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	jobs         = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	sequences    = schema.GroupVersionResource{Group: "scheduling.example.com", Version: "v1alpha1", Resource: "podsequences"}
	steps        = schema.GroupVersionResource{Group: "batch.example.com", Version: "v1alpha1", Resource: "sequentialjobs"}
	coordination = schema.GroupVersionResource{Group: "apps.containerinfra.nl", Version: "v1", Resource: "deploymentcoordinations"}
)

// attempts are writes with somebody's token, all of them dry runs: admission is the same.
type attempts struct {
	*testing.T
	dynamic.Interface
	namespace string
}

// stealToken returns what can be tried with a token of the ServiceAccount of one of our programs.
func stealToken(s *site, program, namespace string) attempts {
	s.Helper()
	clientset, err := kubernetes.NewForConfig(s.cluster.Config())
	require.NoError(s, err)
	response, err := clientset.CoreV1().ServiceAccounts(systemNamespace).CreateToken(s.Context(), program,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(s, err)
	config := rest.AnonymousClientConfig(s.cluster.Config())
	config.BearerToken, config.UserAgent = response.Status.Token, thief
	return attemptsWith(s, config, namespace)
}

func attemptsWith(s *site, config *rest.Config, namespace string) attempts {
	s.Helper()
	client, err := dynamic.NewForConfig(config)
	require.NoError(s, err)
	return attempts{s.T, client, namespace}
}

// attempt is one write, which returns why it was refused.
type attempt func(attempts) error

func patching(resource schema.GroupVersionResource, name string, kind types.PatchType, patch string, subresource ...string) attempt {
	return func(a attempts) error {
		_, err := a.Resource(resource).Namespace(a.namespace).Patch(a.Context(), name, kind, []byte(patch),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, subresource...)
		return err
	}
}

func patchingPod(name, patch string) attempt {
	return patching(pods, name, types.StrategicMergePatchType, patch)
}

func patchingPodStatus(name, patch string) attempt {
	return patching(pods, name, types.StrategicMergePatchType, patch, "status")
}

// creating creates an object, or what its subresource asks for.
func creating(resource schema.GroupVersionResource, namespace, object string, subresource ...string) attempt {
	return func(a attempts) error {
		content := &unstructured.Unstructured{}
		require.NoError(a, content.UnmarshalJSON([]byte(object)))
		if namespace == "" {
			namespace = a.namespace
		}
		_, err := a.Resource(resource).Namespace(namespace).Create(a.Context(), content,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}, subresource...)
		return err
	}
}

// updating writes an object as it is.
func updating(resource schema.GroupVersionResource, namespace, name string) attempt {
	return func(a attempts) error {
		if namespace == "" {
			namespace = a.namespace
		}
		objects := a.Resource(resource).Namespace(namespace)
		// The program whose token this is may renew its lease meanwhile.
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			object, err := objects.Get(a.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			_, err = objects.Update(a.Context(), object, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		})
	}
}

// deleting deletes an object as our programs do: what it owns goes first.
func deleting(resource schema.GroupVersionResource, name string) attempt {
	return deletingWith(resource, name, metav1.DeletePropagationForeground)
}

func deletingWith(resource schema.GroupVersionResource, name string, propagation metav1.DeletionPropagation) attempt {
	return func(a attempts) error {
		return a.Resource(resource).Namespace(a.namespace).Delete(a.Context(), name,
			metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}, PropagationPolicy: &propagation})
	}
}

// deletingAll deletes all objects of the resource in the namespace in one request.
func deletingAll(resource schema.GroupVersionResource) attempt {
	return func(a attempts) error {
		return a.Resource(resource).Namespace(a.namespace).DeleteCollection(a.Context(),
			metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, metav1.ListOptions{})
	}
}

// applying creates or changes an object by server-side apply.
func applying(resource schema.GroupVersionResource, name, object string, subresource ...string) attempt {
	return func(a attempts) error {
		force := true
		_, err := a.Resource(resource).Namespace(a.namespace).Patch(a.Context(), name, types.ApplyPatchType, []byte(object),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: thief, Force: &force}, subresource...)
		return err
	}
}

// awaitRefusal waits until a policy counts: it does not at once.
func (a attempts) awaitRefusal(try attempt, policy string) {
	a.Helper()
	cluster.Await(a, policy+" to count", func() bool { return try(a) != nil })
	require.ErrorContains(a, try(a), "ValidatingAdmissionPolicy '"+policy+"'")
}

// expectRefused sees that each of these attempts is refused, with a message that has this part.
func (a attempts) expectRefused(refused map[string]struct {
	try  attempt
	want string
}) {
	a.Helper()
	for name, tc := range refused {
		a.Run(name+" is refused", func(t *testing.T) {
			err := tc.try(attempts{t, a.Interface, a.namespace})
			assert.True(t, apierrors.IsForbidden(err), "got %v", err)
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

// expectAccepted sees that each of these attempts is accepted.
func (a attempts) expectAccepted(accepted map[string]attempt) {
	a.Helper()
	for name, try := range accepted {
		a.Run(name+" is accepted", func(t *testing.T) {
			assert.NoError(t, try(attempts{t, a.Interface, a.namespace}))
		})
	}
}
