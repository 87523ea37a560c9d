package integration

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

// storedKind is a kind of ours, of which earlier releases stored objects.
type storedKind struct {
	// definition is today's, a file of manifests/crds.
	definition string
	namespaced bool
	// gone are the fields of status that exist no more, or have another type, by the definition that changed that.
	gone map[string]string
	// read reads an object as our programs do.
	read func(*testing.T, map[string]any) any
}

var storedKinds = map[string]storedKind{
	"podsequences": {
		definition: v1alpha1.GroupVersion.Group + "_podsequences.yaml", namespaced: true,
		// readyPodsInCurrentGroup was a list of names. The others are of failures, which end by name, and of timeouts on nodes, which count
		// anew after a restart.
		gone: map[string]string{
			"readyPodsInCurrentGroup": "6e53e04", "cronJobUID": "52be96c", "peers": "52be96c", "nodes": "7b26b64", "timedOut": "7b26b64",
			"readyBefore": "7b26b64", "cronJobName": "1ee85ab",
		},
		read: func(t *testing.T, object map[string]any) any {
			stored := order.Read(object)
			assert.Empty(t, stored.Unreadable)
			return stored.PodSequence
		},
	},
	"clusterpodsequences": {
		definition: v1alpha1.GroupVersion.Group + "_clusterpodsequences.yaml",
		gone: map[string]string{
			"cronJobUID": "52be96c", "peers": "52be96c", "nodes": "7b26b64", "timedOut": "7b26b64", "readyBefore": "7b26b64",
			"cronJobName": "1ee85ab",
		},
		read: func(t *testing.T, object map[string]any) any {
			stored := order.ReadCluster(object)
			assert.Empty(t, stored.Unreadable)
			return stored.Cluster
		},
	},
	"sequentialjobs": {
		definition: batchapi.GroupVersion.Group + "_sequentialjobs.yaml", namespaced: true,
		read: readInto[batchapi.SequentialJob],
	},
	"deploymentcoordinations": {
		definition: appsapi.GroupVersion.Group + "_deploymentcoordinations.yaml", namespaced: true,
		gone: map[string]string{"pauseReverts": "afb4d98", "pauseRevertedAt": "afb4d98"}, // the rule of turns needs neither
		read: readInto[appsapi.DeploymentCoordination],
	},
}

func readInto[T any](t *testing.T, object map[string]any) any {
	into := new(T)
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object, into))
	return into
}

// What any earlier definition stored reads the same with today's, our programs read all of it, and today's rules accept it.
//
// Today's definition and the earlier ones are versions of one definition here: what is written through one of them is stored by
// its rules and read by today's. It has another group, because all tests of the cluster use the one that is installed.
//
// It runs before the parallel tests: beside ten of them, an API server on a slow machine takes longer over a definition of so many
// versions than it gives a request.
func TestStoredObjectsOfEveryEarlierDefinitionReadTheSame(t *testing.T) {
	slow.Test(t)
	s := newStory(t)
	for plural, kind := range storedKinds {
		t.Run(plural, func(t *testing.T) {
			earlier, objects := readEarlierDefinitions(t, plural), readStoredObjects(t, plural)
			definition := versionedDefinition(t, kind.definition, s.Namespace+".example.com", earlier)
			require.NoError(t, s.API.Create(s.Ctx, definition))
			t.Cleanup(func() { assert.NoError(t, s.API.Delete(s.Ctx, definition)) })
			for i, d := range earlier {
				t.Run("stored since "+d.Since, func(t *testing.T) {
					if d.Refused != "" {
						whole := versionedDefinition(t, kind.definition, s.Namespace+"."+d.Since+".example.com", nil)
						addVersion(t, whole, d.version(), d.Schema)
						assert.ErrorContains(t, s.API.Create(s.Ctx, whole, client.DryRunAll), d.Refused)
					}
					trip := roundTrip{T: t, story: s, kind: kind, group: definition.Spec.Group, by: d, known: earlier[:i+1]}
					for _, o := range objects {
						if trip.knows(o.Since) {
							if !trip.knows(o.RefusedSince) {
								trip.check(o.Object)
							}
							trip.checkAnew(o)
						}
					}
					require.Equal(t, earlier[0].Since, objects[0].Since, "all definitions allow the first object")
					for _, status := range d.statuses(t) {
						object := objects[0].Object.DeepCopy()
						object.Object["status"] = status
						trip.check(object) // its spec was accepted before
					}
				})
			}
		})
	}
}

// roundTrip is the way of objects from an earlier definition to today's.
type roundTrip struct {
	*testing.T
	story *story
	kind  storedKind
	group string
	by    earlierDefinition
	// known are the definitions up to that one.
	known []earlierDefinition
	count int
}

// knows reports whether the definition has what came with another one.
func (r *roundTrip) knows(since string) bool {
	return slices.ContainsFunc(r.known, func(d earlierDefinition) bool { return d.Since == since })
}

// named returns a copy of an object with a name of its own, and the kind that it has by today's definition.
func (r *roundTrip) named(object *unstructured.Unstructured) (*unstructured.Unstructured, schema.GroupVersionKind) {
	r.count++
	named := object.DeepCopy()
	named.SetName(fmt.Sprintf("%s-%s-%d", object.GetName(), r.by.Since, r.count))
	if r.kind.namespaced {
		named.SetNamespace(r.story.Namespace)
	}
	return named, schema.GroupVersionKind{Group: r.group, Version: object.GroupVersionKind().Version, Kind: object.GetKind()}
}

// checkAnew creates an object by today's definition.
func (r *roundTrip) checkAnew(o storedObject) {
	r.Helper()
	anew, today := r.named(o.Object)
	anew.SetGroupVersionKind(today)
	err := r.story.API.Create(r.story.Ctx, anew, client.DryRunAll)
	if o.Refused == "" {
		assert.NoError(r, err, "today's rules must accept what earlier ones did")
	} else {
		assert.ErrorContains(r, err, o.Refused)
	}
}

// check stores an object by the earlier definition, reads it by today's, and edits it.
func (r *roundTrip) check(object *unstructured.Unstructured) {
	r.Helper()
	want, today := r.named(object)
	r.store(want)
	want.SetGroupVersionKind(today)
	r.fillIn(want)

	got := &unstructured.Unstructured{}
	got.SetGroupVersionKind(today)
	require.NoError(r, r.story.API.Get(r.story.Ctx, client.ObjectKeyFromObject(want), got))
	stored := got.DeepCopy()
	for field, since := range r.kind.gone {
		if !r.knows(since) {
			removeField(want.Object["status"], field)
			removeField(got.Object["status"], field)
		}
	}
	for _, part := range []string{"spec", "status"} {
		assert.Equal(r, want.Object[part], got.Object[part], "%s of %s, read with today's definition", part, want.GetName())
	}

	again, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.kind.read(r.T, stored.Object))
	require.NoError(r, err)
	for _, part := range []string{"spec", "status"} {
		r.expectKept(want.GetName()+" "+part, want.Object[part], again[part])
	}
	stored.SetLabels(map[string]string{"edited": "true"})
	assert.NoError(r, r.story.API.Update(r.story.Ctx, stored, client.DryRunAll), "today's rules must accept an edit of what is stored")
}

// store writes an object by the earlier definition, which must know all of it.
func (r *roundTrip) store(object *unstructured.Unstructured) {
	r.Helper()
	strict := client.WithFieldValidation(r.story.API, metav1.FieldValidationStrict)
	written := object.DeepCopy()
	written.SetGroupVersionKind(schema.GroupVersionKind{Group: r.group, Version: r.by.version(), Kind: object.GetKind()})
	delete(written.Object, "status")
	var err error
	cluster.Await(r, "the definition to be served", func() bool {
		err = strict.Create(r.story.Ctx, written)
		return err == nil || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
	})
	require.NoError(r, err, "the earlier definition must know all of %s", object.GetName())
	if status := object.Object["status"]; status != nil {
		written.Object["status"] = runtime.DeepCopyJSONValue(status)
		require.NoError(r, strict.Status().Update(r.story.Ctx, written), "the earlier definition must know all of %s", object.GetName())
	}
}

// fillIn adds what definitions have filled in since then. All other defaults are in the objects.
func (r *roundTrip) fillIn(object *unstructured.Unstructured) {
	if object.Object["status"] == nil { // tools must not take an object without status for ready
		object.Object["status"] = map[string]any{"observedGeneration": int64(-1)}
	}
	groups, _, err := unstructured.NestedSlice(object.Object, "spec", "podGroups")
	require.NoError(r, err)
	for _, group := range groups {
		if group := group.(map[string]any); group["requiredStatus"] == nil {
			group["requiredStatus"] = string(v1alpha1.RequireReady)
		}
	}
	if groups != nil {
		require.NoError(r, unstructured.SetNestedSlice(object.Object, groups, "spec", "podGroups"))
	}
}

// expectKept expects all that is wanted. There may be more: fields that our programs write although they are empty.
func (r *roundTrip) expectKept(path string, want, got any) {
	r.Helper()
	switch want := want.(type) {
	case map[string]any:
		fields, _ := got.(map[string]any)
		for name := range want {
			r.expectKept(path+"."+name, want[name], fields[name])
		}
	case []any:
		list, _ := got.([]any)
		if assert.Len(r, list, len(want), path) {
			for i := range want {
				r.expectKept(fmt.Sprintf("%s[%d]", path, i), want[i], list[i])
			}
		}
	default:
		if got == nil && reflect.ValueOf(want).IsZero() {
			return // our programs leave it out
		}
		assert.Equal(r, want, got, "%s, read by our programs and written again", path)
	}
}
