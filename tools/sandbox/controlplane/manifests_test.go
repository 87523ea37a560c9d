package controlplane

import (
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/podsequence/manifests"
)

func TestManifestsAreRenderedInAnOrderThatWorks(t *testing.T) {
	files := fstest.MapFS{
		"base/kustomization.yaml": {Data: []byte("resources: [accounts.yaml, namespace.yaml, ../crds]")},
		"base/accounts.yaml":      {Data: []byte("{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: n}}")},
		"base/namespace.yaml":     {Data: []byte("{apiVersion: v1, kind: Namespace, metadata: {name: n}}")},
		"crds/kustomization.yaml": {Data: []byte("resources: [crd.yaml]")},
		"crds/crd.yaml": {Data: []byte(
			"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: c}}")},
	}
	objects, err := renderManifests(files, "base")
	require.NoError(t, err)

	definitions, others := splitDefinitions(objects)
	assert.Equal(t, []string{"CustomResourceDefinition"}, kinds(definitions))
	assert.Equal(t, []string{"Namespace", "ServiceAccount"}, kinds(others))
}

// What the sandbox applies must be what users apply, down to the last field: it is how we know that an API server takes
// it, and that its permissions are enough.
func TestSandboxAppliesTheDefaultInstallationWithoutReplicas(t *testing.T) {
	shipped, err := renderManifests(manifests.FS, "default")
	require.NoError(t, err)
	for _, object := range shipped {
		if object.GetKind() == "Deployment" {
			object.Object["spec"].(map[string]any)["replicas"] = 0
		}
	}
	applied, err := renderManifests(manifests.FS, sandboxKustomization)
	require.NoError(t, err)
	assert.Equal(t, shipped, applied)
}

func TestLiteIsTheDefaultInstallationWithoutTheSchedulerAndNodes(t *testing.T) {
	// What only lite mode has: it adds the gate, because there is no scheduler to give pods to.
	onlyLite := []string{
		"MutatingAdmissionPolicy gating.podsequence.example.com", "MutatingAdmissionPolicyBinding gating.podsequence.example.com",
	}
	// What only node scope takes: to read nodes, and pods that are given to the scheduler.
	nodeScope := func(object *unstructured.Unstructured) bool {
		return slices.Contains([]string{
			"podsequence-controller-nodes", "routing.podsequence.example.com", "opt-in.podsequence.example.com",
		}, object.GetName())
	}
	var want []string
	shipped, err := renderManifests(manifests.FS, "default")
	require.NoError(t, err)
	for _, object := range shipped {
		if object.GetLabels()["app.kubernetes.io/component"] != "scheduler" && !nodeScope(object) {
			want = append(want, identity(object))
		}
	}
	lite, err := renderManifests(manifests.FS, "lite")
	require.NoError(t, err)
	var got, more []string
	for _, object := range lite {
		if slices.Contains(onlyLite, identity(object)) {
			more = append(more, identity(object))
		} else {
			got = append(got, identity(object))
		}
	}
	assert.Equal(t, want, got)
	assert.Equal(t, onlyLite, more)
	assert.NotContains(t, strings.Join(got, " "), PodSequenceScheduler)
}

// In place of kube-scheduler our scheduler is run as that is: what is installed is the rest.
func TestAsDefaultSchedulerIsTheDefaultInstallationWithoutOurScheduler(t *testing.T) {
	identities := func(kustomization string) map[string]*unstructured.Unstructured {
		objects, err := renderManifests(manifests.FS, kustomization)
		require.NoError(t, err)
		all := map[string]*unstructured.Unstructured{}
		for _, object := range objects {
			all[identity(object)] = object
		}
		return all
	}
	shipped, got := identities("default"), identities("as-default-scheduler")
	var more, fewer []string
	for name := range got {
		if shipped[name] == nil {
			more = append(more, name)
		}
	}
	for name := range shipped {
		if got[name] == nil && !strings.HasPrefix(name, "ConfigMap ") { // whose name has a hash
			fewer = append(fewer, name)
		}
	}
	assert.ElementsMatch(t, []string{
		"ClusterRoleBinding podsequence-as-default-scheduler", "Role podsequence-as-default-scheduler",
		"RoleBinding podsequence-as-default-scheduler",
	}, more)
	assert.ElementsMatch(t, []string{
		"Deployment podsequence-scheduler", "PodDisruptionBudget podsequence-scheduler", "Service podsequence-scheduler-metrics",
		"NetworkPolicy podsequence-scheduler-metrics",
		"MutatingAdmissionPolicy routing.podsequence.example.com", "MutatingAdmissionPolicyBinding routing.podsequence.example.com",
		"MutatingAdmissionPolicy opt-in.podsequence.example.com", "MutatingAdmissionPolicyBinding opt-in.podsequence.example.com",
	}, fewer)
	for name := range got {
		assert.NotContains(t, name, "ConfigMap podsequence-scheduler-config")
	}
	controller, err := got["Deployment podsequence-controller"].MarshalJSON()
	require.NoError(t, err)
	assert.Contains(t, string(controller), "--scheduler-names=default-scheduler,podsequence-scheduler")
}

func TestPoliciesThatOlderClustersLackCanBeLeftOut(t *testing.T) {
	older := withKustomization(t, "older", `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../default, ../parts/policies/gating]
components:
- ../options/without/deploymentcoordination-policy
- ../options/without/routing-policy
- ../options/without/gating-policy
- ../options/without/opt-in-policy
`)
	older["whole/kustomization.yaml"] = &fstest.MapFile{Data: []byte(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../default, ../parts/policies/gating]
`)}
	for _, variant := range []string{"default", "lite"} {
		objects, err := renderManifests(manifests.FS, variant, withoutMutatingPolicies)
		require.NoError(t, err)
		for _, object := range objects {
			assert.NotContains(t, object.GetKind(), "MutatingAdmissionPolicy", "all at once")
		}
	}
	policies := []string{
		"MutatingAdmissionPolicy deploymentcoordination.podsequence.example.com",
		"MutatingAdmissionPolicyBinding deploymentcoordination.podsequence.example.com",
		"MutatingAdmissionPolicy unattended.deploymentcoordination.podsequence.example.com",
		"MutatingAdmissionPolicyBinding unattended.deploymentcoordination.podsequence.example.com",
		"MutatingAdmissionPolicy waiting.deploymentcoordination.podsequence.example.com",
		"MutatingAdmissionPolicyBinding waiting.deploymentcoordination.podsequence.example.com",
		"MutatingAdmissionPolicy routing.podsequence.example.com",
		"MutatingAdmissionPolicyBinding routing.podsequence.example.com",
		"MutatingAdmissionPolicy gating.podsequence.example.com",
		"MutatingAdmissionPolicyBinding gating.podsequence.example.com",
		"MutatingAdmissionPolicy opt-in.podsequence.example.com",
		"MutatingAdmissionPolicyBinding opt-in.podsequence.example.com",
	}
	for kustomization, want := range map[string]bool{"whole": true, "older": false} {
		objects, err := renderManifests(older, kustomization)
		require.NoError(t, err)
		var got []string
		for _, object := range objects {
			got = append(got, identity(object))
		}
		for _, policy := range policies {
			assert.Equal(t, want, slices.Contains(got, policy), "%s in %s", policy, kustomization)
		}
	}
}

// What each feature alone needs: nothing of that is there without it.
var needs = map[string][]string{
	"podsequence": {
		"CustomResourceDefinition podsequences.scheduling.example.com",
		"CustomResourceDefinition clusterpodsequences.scheduling.example.com",
		"ClusterRole podsequence-controller-podsequence",
		"ClusterRole podsequence-controller-nodes",
		"ClusterRole podsequence-scheduler",
		"Deployment podsequence-scheduler",
		"ValidatingAdmissionPolicy podsequence-cross-namespace",
		"ValidatingAdmissionPolicy podsequence-warnings",
		"MutatingAdmissionPolicy routing.podsequence.example.com",
		"MutatingAdmissionPolicy gating.podsequence.example.com",
		"MutatingAdmissionPolicy opt-in.podsequence.example.com",
		"ClusterRole podsequence-controller-objects",
		"ClusterRole podsequence-controller-common-objects",
	},
	"sequentialjob": {
		"CustomResourceDefinition sequentialjobs.batch.example.com",
		"ClusterRole podsequence-controller-sequentialjob",
		"ClusterRole podsequence-controller-jobs",
	},
	"podgroup": {
		"ClusterRole podsequence-controller-podgroup",
	},
	"deploymentcoordination": {
		"CustomResourceDefinition deploymentcoordinations.apps.containerinfra.nl",
		"ClusterRole podsequence-controller-deploymentcoordination",
		"MutatingAdmissionPolicy deploymentcoordination.podsequence.example.com",
		"MutatingAdmissionPolicy unattended.deploymentcoordination.podsequence.example.com",
		"MutatingAdmissionPolicy waiting.deploymentcoordination.podsequence.example.com",
	},
}

// Every combination: components patch what others may have taken out, and all of them the same flag.
func TestAnyFeaturesCanBeLeftOut(t *testing.T) {
	features := slices.Sorted(maps.Keys(needs))
	files := smallDefinitions(t)
	for _, variant := range []string{"default", "lite"} {
		whole, err := renderManifests(files, variant)
		require.NoError(t, err)
		for combination := 1; combination < 1<<len(features); combination++ {
			var without []string
			for i, feature := range features {
				if combination&(1<<i) != 0 {
					without = append(without, feature)
				}
			}
			t.Run(variant+" without "+strings.Join(without, ", "), func(t *testing.T) {
				reduced, err := renderManifests(files, variant, without...)
				require.NoError(t, err)
				assert.Equal(t, append(controllerArgs(t, whole), flagsFor(without)...), controllerArgs(t, reduced))
				var want []string
				for _, object := range whole {
					if !belongsTo(object, without) {
						want = append(want, identity(object))
					}
				}
				var got []string
				for _, object := range reduced {
					got = append(got, identity(object))
				}
				assert.Equal(t, want, got)
			})
		}
	}
}

func TestTheControllerMayBeLeftToNamespacesThatBindItsRoleForJobs(t *testing.T) {
	files := smallDefinitions(t)
	whole, err := renderManifests(files, "default")
	require.NoError(t, err)
	reduced, err := renderManifests(files, "default", "jobs-everywhere")
	require.NoError(t, err)
	var want []string
	for _, object := range whole {
		if identity(object) != "ClusterRoleBinding podsequence-controller-jobs" {
			want = append(want, identity(object))
		}
	}
	var got []string
	for _, object := range reduced {
		got = append(got, identity(object))
	}
	assert.Len(t, got, len(whole)-1)
	assert.Equal(t, want, got)
}

// smallDefinitions are the manifests with definitions that are quick to render, of which nothing but the name is left.
func smallDefinitions(t *testing.T) fstest.MapFS {
	t.Helper()
	files := shipped(t)
	for path, file := range files {
		if group, plural, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(path, "crds/"), ".yaml"), "_"); ok {
			file.Data = []byte("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: " + plural + "." + group + "}}")
		}
	}
	return files
}

// withKustomization are the manifests and one more kustomization, which a user would write.
func withKustomization(t *testing.T, name, content string) fstest.MapFS {
	t.Helper()
	files := smallDefinitions(t)
	files[name+"/kustomization.yaml"] = &fstest.MapFile{Data: []byte(content)}
	return files
}

func shipped(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	require.NoError(t, fs.WalkDir(manifests.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := manifests.FS.ReadFile(path)
		files[path] = &fstest.MapFile{Data: data}
		return err
	}))
	return files
}

// belongsTo reports whether an object, or what it binds, is part of one of the features.
func belongsTo(object *unstructured.Unstructured, features []string) bool {
	return slices.ContainsFunc(features, func(feature string) bool {
		if feature == "podsequence" && object.GetLabels()["app.kubernetes.io/component"] == "scheduler" {
			return true
		}
		return slices.Contains(needs[feature], strings.Replace(identity(object), "Binding ", " ", 1))
	})
}

func flagsFor(without []string) []string {
	var flags []string
	for _, feature := range without {
		flags = append(flags, "--controllers=-"+feature)
	}
	return flags
}

func controllerArgs(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	return find[appsv1.Deployment](t, objects, "Deployment "+PodSequenceController).Spec.Template.Spec.Containers[0].Args
}

// find returns the object of this identity.
func find[T any](t *testing.T, objects []*unstructured.Unstructured, wanted string) *T {
	t.Helper()
	for _, object := range objects {
		if identity(object) != wanted {
			continue
		}
		content, err := json.Marshal(object)
		require.NoError(t, err)
		found := new(T)
		require.NoError(t, json.Unmarshal(content, found))
		return found
	}
	require.Fail(t, "there is no "+wanted)
	return nil
}

// As docs/operations.md shows it.
func TestPlacementAndMemoryCanBePatched(t *testing.T) {
	objects, err := renderManifests(withKustomization(t, "patched", `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../default]
components: [../options/egress]
patches:
- target: {kind: Deployment, labelSelector: app.kubernetes.io/name=podsequence}
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: any}
    spec:
      template:
        spec:
          nodeSelector:
            node-role.kubernetes.io/infra: ""
          tolerations:
          - key: node-role.kubernetes.io/infra
            operator: Exists
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: podsequence-scheduler, namespace: podsequence-system}
    spec:
      template:
        spec:
          containers:
          - name: podsequence-scheduler
            env: [{name: GOMEMLIMIT, value: 3686MiB}]
            resources:
              requests: {memory: 2Gi}
              limits: {memory: 4Gi}
- target: {kind: NetworkPolicy, name: podsequence-egress}
  patch: |
    - {op: replace, path: /spec/egress/0/ports/1/port, value: 16443}
`), "patched")
	require.NoError(t, err)
	for _, program := range []string{PodSequenceScheduler, PodSequenceController} {
		pod := find[appsv1.Deployment](t, objects, "Deployment "+program).Spec.Template.Spec
		assert.Equal(t, map[string]string{"kubernetes.io/os": "linux", "node-role.kubernetes.io/infra": ""}, pod.NodeSelector)
		assert.Len(t, pod.Tolerations, 1)
	}
	container := find[appsv1.Deployment](t, objects, "Deployment "+PodSequenceScheduler).Spec.Template.Spec.Containers[0]
	assert.Equal(t, "4Gi", container.Resources.Limits.Memory().String())
	assert.Contains(t, container.Env, corev1.EnvVar{Name: "GOMEMLIMIT", Value: "3686MiB"})
	assert.Len(t, container.Env, 2, "what is not patched stays")
	egress := find[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy podsequence-egress").Spec.Egress
	assert.Equal(t, int32(16443), egress[0].Ports[1].Port.IntVal)
}

func identity(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}

func kinds(objects []*unstructured.Unstructured) []string {
	var kinds []string
	for _, object := range objects {
		kinds = append(kinds, object.GetKind())
	}
	return kinds
}
