package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"example.com/podsequence/manifests"
	"example.com/podsequence/tools/sandbox/controlplane"
	"example.com/podsequence/tools/sandbox/retrywatch"
)

// Annotations that tell the simulated kubelets what becomes of a pod, see tools/sandbox/controlplane/stages.
const (
	ReadyAfter    = "sandbox.podsequence.example.com/ready-after"
	GoneAfter     = "sandbox.podsequence.example.com/gone-after"
	CompleteAfter = "sandbox.podsequence.example.com/complete-after"
	FailAfter     = "sandbox.podsequence.example.com/fail-after"
)

// storyPatience is how long a whole story may take on a loaded machine.
const storyPatience = 20 * time.Minute

// Story is one test: a namespace, and words to tell what happens in it.
type Story struct {
	testing.TB
	Cluster *Cluster
	API     client.WithWatch
	// Ctx ends some time after the story should have. Unlike that of the test it lasts while the test cleans up.
	Ctx       context.Context
	Namespace string
}

// NewStory makes a namespace, which is deleted when the test ends, unless its cluster ends with it.
func NewStory(t testing.TB, c *Cluster) *Story {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), storyPatience)
	t.Cleanup(cancel)
	ns := NewNamespace(t, c)
	if !c.ofOneTest {
		t.Cleanup(func() { assert.NoError(t, c.API.Delete(context.Background(), ns)) })
	}
	return &Story{TB: t, Cluster: c, API: c.API, Ctx: ctx, Namespace: ns.Name}
}

// NewNamespace makes a namespace in which pods can be created, and leaves it there.
func NewNamespace(t testing.TB, c *Cluster) *corev1.Namespace {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "story-"}}
	require.NoError(t, c.API.Create(t.Context(), ns))
	// Pods are refused without it, and a busy controller-manager takes its time.
	Await(t, "the account that pods need", func() bool {
		return c.API.Get(t.Context(), types.NamespacedName{Namespace: ns.Name, Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
	return ns
}

// Key is the key of an object of the story's namespace.
func (s *Story) Key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: name}
}

// Meta is the metadata of an object of the story's namespace.
func (s *Story) Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.Namespace, Name: name}
}

// Await waits for what must happen.
func (s *Story) Await(what string, happened func() bool) {
	s.Helper()
	Await(s, what, happened)
}

// Create creates objects in this order.
func (s *Story) Create(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		require.NoError(s, s.API.Create(s.Ctx, object), "create %T %s", object, object.GetName())
	}
}

// AwaitCreated creates what the API server may refuse for a while.
func (s *Story) AwaitCreated(object client.Object) {
	s.Helper()
	s.Await(object.GetName()+" to be accepted", func() bool { return s.API.Create(s.Ctx, object) == nil })
}

// Delete deletes objects in this order.
func (s *Story) Delete(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		require.NoError(s, s.API.Delete(s.Ctx, object), "delete %T %s", object, object.GetName())
	}
}

// AwaitGone waits until an object is there no more.
func (s *Story) AwaitGone(object client.Object) {
	s.Helper()
	found := object.DeepCopyObject().(client.Object)
	s.Await(object.GetName()+" to be gone", func() bool {
		return apierrors.IsNotFound(s.API.Get(s.Ctx, client.ObjectKeyFromObject(object), found))
	})
}

// Get reads an object of the story's namespace into the one given, and returns it.
func Get[T client.Object](s *Story, object T, name string) T {
	s.Helper()
	require.NoError(s, s.API.Get(s.Ctx, s.Key(name), object), "get %T %s", object, name)
	return object
}

// Patch changes an object by a merge patch: JSON, or what is encoded as such.
func (s *Story) Patch(object client.Object, patch any) {
	s.Helper()
	require.NoError(s, s.API.Patch(s.Ctx, object, Merge(s, patch)), "patch %T %s", object, object.GetName())
}

// Change edits an object, once more whenever somebody else wrote to it meanwhile. The one given says which.
func Change[T client.Object](s *Story, which T, edit func(T)) {
	s.Helper()
	change(s, which, edit, func(edited T) error { return s.API.Update(s.Ctx, edited) })
}

// ChangeStatus is Change of a status.
func ChangeStatus[T client.Object](s *Story, which T, edit func(T)) {
	s.Helper()
	change(s, which, edit, func(edited T) error { return s.API.Status().Update(s.Ctx, edited) })
}

func change[T client.Object](s *Story, which T, edit func(T), update func(T) error) {
	s.Helper()
	require.NoError(s, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		// Decoding into an object that has been used leaves fields that are there no more.
		found := reflect.New(reflect.TypeOf(which).Elem()).Interface().(T)
		found.GetObjectKind().SetGroupVersionKind(which.GetObjectKind().GroupVersionKind()) // which an unstructured one needs
		if err := s.API.Get(s.Ctx, client.ObjectKeyFromObject(which), found); err != nil {
			return err
		}
		edit(found)
		return update(found)
	}), "change %T %s", which, which.GetName())
}

// Merge makes a merge patch of JSON, or of what is encoded as such.
func Merge(t testing.TB, patch any) client.Patch {
	t.Helper()
	if text, isText := patch.(string); isText {
		return client.RawPatch(types.MergePatchType, []byte(text))
	}
	encoded, err := json.Marshal(patch)
	require.NoError(t, err)
	return client.RawPatch(types.MergePatchType, encoded)
}

// Annotate sets one annotation.
func (s *Story) Annotate(object client.Object, key, value string) {
	s.Helper()
	s.Patch(object, map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
}

// Pod names a pod of the story's namespace, for what needs no more than the name.
func (s *Story) Pod(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: s.Meta(name)} }

// Events are those about an object of this name, or about any if it is empty.
func (s *Story) Events(name string) []eventsv1.Event {
	s.Helper()
	var list eventsv1.EventList
	require.NoError(s, s.API.List(s.Ctx, &list, client.InNamespace(s.Namespace)))
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return name != "" && e.Regarding.Name != name })
}

// WhileDown runs happens while a component is down. It starts the component again even if the test fails: others share the cluster.
func (s *Story) WhileDown(component string, happens func()) {
	s.Helper()
	defer func() { require.NoError(s, s.Cluster.StartComponent(s.Ctx, component)) }()
	require.NoError(s, s.Cluster.Kill(s.Ctx, component))
	happens()
}

// Restart kills a component and starts it.
func (s *Story) Restart(component string) {
	s.Helper()
	s.WhileDown(component, func() {})
}

// WhileControllerDown runs happens while podsequence-controller is down, so that the controller does not see it.
func (s *Story) WhileControllerDown(happens func()) {
	s.Helper()
	s.WhileDown(controlplane.PodSequenceController, happens)
}

// Audited goes through all requests of our programs that the audit log of the story's cluster has so far.
func (s *Story) Audited(see func(*Request)) {
	s.Helper()
	require.NoError(s, s.Cluster.ReadAuditLog(see))
}

// AuditedHere goes through everybody's requests about the story's namespace so far.
func (s *Story) AuditedHere(see func(*Request)) {
	s.Helper()
	require.NoError(s, s.Cluster.ReadAudit(s.Namespace, see))
}

// AllowAnything makes the API server accept any object of the kind that the definition defines, until restore is called. restore
// returns when the rules are back and refuse an object that they ought to refuse. What is created right after AllowAnything may
// still be refused for a moment, see AwaitCreated.
func (s *Story) AllowAnything(definition string, refused client.Object) (restore func()) {
	s.Helper()
	replace := func(with *apiextensionsv1.CustomResourceValidation) (before *apiextensionsv1.CustomResourceValidation) {
		found := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definition}}
		Change(s, found, func(d *apiextensionsv1.CustomResourceDefinition) {
			before, d.Spec.Versions[0].Schema = d.Spec.Versions[0].Schema, with
		})
		return before
	}
	schema := replace(&apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)},
	})
	return func() {
		s.Helper()
		replace(schema)
		s.Await("the rules to be back", func() bool {
			return s.API.Create(s.Ctx, refused.DeepCopyObject().(client.Object), client.DryRunAll) != nil
		})
	}
}

// Watch fills the list with the objects of its kind in the story's namespace, and returns all later changes of them.
func (s *Story) Watch(ctx context.Context, list client.ObjectList) watch.Interface {
	s.Helper()
	changes, err := retrywatch.Start(ctx, s.API, list, client.InNamespace(s.Namespace))
	require.NoError(s, err)
	return changes
}

// Sample returns the objects of a sample, for the namespace of the story.
func (s *Story) Sample(file string) []*unstructured.Unstructured {
	s.Helper()
	content, err := manifests.FS.ReadFile("samples/" + file)
	require.NoError(s, err)
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLToJSONDecoder(bytes.NewReader(content))
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return objects
		} else {
			require.NoError(s, err)
		}
		object := &unstructured.Unstructured{}
		require.NoError(s, object.UnmarshalJSON(raw))
		object.SetNamespace(s.Namespace)
		objects = append(objects, object)
	}
}

// CreateSample creates what a sample has, after a change to each object. The API server must know every field.
func (s *Story) CreateSample(file string, change func(*unstructured.Unstructured)) {
	s.Helper()
	strict := client.WithFieldValidation(s.API, metav1.FieldValidationStrict)
	for _, object := range s.Sample(file) {
		change(object)
		require.NoError(s, strict.Create(s.Ctx, object), "create %s of %s", object.GetKind(), file)
	}
}

// Person makes somebody who has the role. A story has one.
func (s *Story) Person(role string) *Person {
	s.Helper()
	p := &Person{Story: s, User: "system:serviceaccount:" + s.Namespace + ":person", Kubeconfig: filepath.Join(s.TempDir(), "kubeconfig")}
	account := &corev1.ServiceAccount{ObjectMeta: s.Meta("person")}
	s.Create(account, &rbacv1.RoleBinding{
		ObjectMeta: s.Meta("person"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: account.Name}},
	})
	request := &authenticationv1.TokenRequest{}
	require.NoError(s, s.API.SubResource("token").Create(s.Ctx, account, request))
	config := s.Cluster.Config()
	require.NoError(s, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: request.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u", Namespace: s.Namespace}},
		CurrentContext: "x",
	}, p.Kubeconfig))
	return p
}

// BackUp reads the namespace as a backup tool does.
func (s *Story) BackUp() Backup {
	s.Helper()
	backup := Backup{}
	for _, each := range backedUp {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(each.kind)
		require.NoError(s, s.API.List(s.Ctx, list, client.InNamespace(s.Namespace)))
		backup[each.resource] = list.Items
	}
	return backup
}

// Row asks the API server for the row of an object, as kubectl get does.
func (s *Story) Row(object client.Object) Row {
	s.Helper()
	kind, err := apiutil.GVKForObject(object, Scheme)
	require.NoError(s, err)
	mapping, err := s.API.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	require.NoError(s, err)
	path := "/apis/" + kind.GroupVersion().String()
	if object.GetNamespace() != "" {
		path += "/namespaces/" + object.GetNamespace()
	}
	config := s.Cluster.Config()
	web, err := rest.HTTPClientFor(config)
	require.NoError(s, err)
	defer web.CloseIdleConnections()
	request, err := http.NewRequestWithContext(s.Ctx, http.MethodGet, config.Host+path+"/"+mapping.Resource.Resource+"/"+object.GetName(), nil)
	require.NoError(s, err)
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := web.Do(request)
	require.NoError(s, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(s, http.StatusOK, response.StatusCode)
	var table metav1.Table
	require.NoError(s, json.NewDecoder(response.Body).Decode(&table))
	require.Len(s, table.Rows, 1)
	return newRow(&table)
}

// Restore creates the objects of a backup in the namespace as Velero does: with new UIDs, without owners, and without status. It leaves out
// pods and Jobs that have ended, and objects that exist.
func (s *Story) Restore(backup Backup, how Restore) {
	s.Helper()
	restoration{s, how}.run(backup)
}

// IsReady reports whether a pod is ready.
func IsReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// IsHeld reports whether a pod says that it waits for its group. That it has gates the API server says by itself.
func IsHeld(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse &&
			c.Reason == corev1.PodReasonSchedulingGated && strings.HasPrefix(c.Message, "waiting for group")
	})
}

// Unchanged leaves an object of a sample as it is.
func Unchanged(*unstructured.Unstructured) {}
