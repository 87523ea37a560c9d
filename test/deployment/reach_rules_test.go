package deployment

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// reachOf are what is expected of objects, by kind: that they reach us, and none of our neighbours.
var reachOf = map[string]func(*reach, *unstructured.Unstructured){
	"apps/Deployment": func(r *reach, o *unstructured.Unstructured) {
		r.expectPods(o, as[appsv1.Deployment](r, o).Spec.Selector)
	},
	"policy/PodDisruptionBudget": func(r *reach, o *unstructured.Unstructured) {
		r.expectPods(o, as[policyv1.PodDisruptionBudget](r, o).Spec.Selector)
	},
	"networking.k8s.io/NetworkPolicy": func(r *reach, o *unstructured.Unstructured) {
		r.expectPods(o, &as[networkingv1.NetworkPolicy](r, o).Spec.PodSelector)
	},
	"/Service": func(r *reach, o *unstructured.Unstructured) {
		r.expectPods(o, &metav1.LabelSelector{MatchLabels: as[corev1.Service](r, o).Spec.Selector})
	},
	"monitoring.coreos.com/ServiceMonitor": (*reach).expectServices,
	"/ResourceQuota":                       (*reach).expectOwnQuota,
	"/Namespace": func(r *reach, o *unstructured.Unstructured) {
		assert.Equal(r, systemNamespace, o.GetName(), "a namespace that is not ours is changed")
	},
	"flowcontrol.apiserver.k8s.io/FlowSchema": (*reach).expectOurRequests,

	"/ServiceAccount": func(r *reach, o *unstructured.Unstructured) { assert.Contains(r, ourAccounts, o.GetName()) },
	"rbac.authorization.k8s.io/RoleBinding": func(r *reach, o *unstructured.Unstructured) {
		r.expectSubjects(o, as[rbacv1.RoleBinding](r, o).Subjects)
	},
	"rbac.authorization.k8s.io/ClusterRoleBinding": func(r *reach, o *unstructured.Unstructured) {
		r.expectSubjects(o, as[rbacv1.ClusterRoleBinding](r, o).Subjects)
	},
	"rbac.authorization.k8s.io/Role": func(r *reach, o *unstructured.Unstructured) {
		r.expectNamesOfOurs(o, as[rbacv1.Role](r, o).Rules)
	},
	"rbac.authorization.k8s.io/ClusterRole": (*reach).expectOurGroups,

	// What neighbours write is looked at when all policies are there.
	"admissionregistration.k8s.io/ValidatingAdmissionPolicy":        (*reach).expectNothing,
	"admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding": (*reach).expectNothing,
	"admissionregistration.k8s.io/MutatingAdmissionPolicy":          (*reach).expectNothing,
	"admissionregistration.k8s.io/MutatingAdmissionPolicyBinding":   (*reach).expectNothing,

	// Whoever reads them does so by name, or wants them from everywhere.
	"/ConfigMap":                           (*reach).expectNothing,
	"monitoring.coreos.com/PrometheusRule": (*reach).expectNothing,
	"apiextensions.k8s.io/CustomResourceDefinition": func(r *reach, o *unstructured.Unstructured) {
		group, _, err := unstructured.NestedString(o.Object, "spec", "group")
		require.NoError(r, err)
		assert.Contains(r, ourGroups, group)
	},

	// Those of helm test.
	"/Pod": (*reach).expectNothing,
	"scheduling.example.com/PodSequence": func(r *reach, o *unstructured.Unstructured) {
		for _, group := range as[v1alpha1.PodSequence](r, o).Spec.PodGroups {
			assert.Nil(r, group.PodSelector, "pods of others may have the labels")
			for _, name := range group.Pods {
				assert.True(r, strings.HasPrefix(name, "podsequence-test-"), name)
			}
		}
	},
}

var (
	ourAccounts = []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController}
	ourGroups   = []string{"scheduling.example.com", "batch.example.com", "apps.containerinfra.nl"}
)

// expectOf looks at the reach of each object. A kind that has no rule yet fails the test.
func (r *reach) expectOf(objects []*unstructured.Unstructured) {
	r.Helper()
	require.NotEmpty(r, objects)
	for _, object := range objects {
		kind := object.GroupVersionKind().GroupKind()
		expect := reachOf[kind.Group+"/"+kind.Kind]
		if expect == nil {
			assert.Fail(r, "no rule says what objects of the kind may reach", "%s %s", kind, object.GetName())
			continue
		}
		if namespace := object.GetNamespace(); namespace != "" && kind.Kind != "RoleBinding" {
			assert.Equal(r, r.namespace, namespace, "%s %s", kind, object.GetName())
		}
		expect(r, object)
	}
	r.expectNeighboursWrite()
	r.expectCriticalPods()
}

func (r *reach) expectNothing(*unstructured.Unstructured) {}

// expectPods asserts that a selector selects pods of ours and of nobody else.
func (r *reach) expectPods(o *unstructured.Unstructured, selector *metav1.LabelSelector) {
	r.Helper()
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	require.NoError(r, err)
	reached := 0
	for _, pod := range r.pods {
		if !parsed.Matches(labels.Set(pod.Labels)) {
			continue
		}
		reached++
		assert.Contains(r, r.accounts, pod.Spec.ServiceAccountName, "%s %s reaches pod %s", o.GetKind(), o.GetName(), pod.Name)
	}
	assert.Positive(r, reached, "%s %s reaches no pod of PodSequence", o.GetKind(), o.GetName())
}

// expectServices asserts that Prometheus scrapes our Services, and sends its token to nobody else.
func (r *reach) expectServices(o *unstructured.Unstructured) {
	matched, _, err := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
	require.NoError(r, err)
	namespaces, _, err := unstructured.NestedStringSlice(o.Object, "spec", "namespaceSelector", "matchNames")
	require.NoError(r, err)
	assert.Equal(r, []string{r.namespace}, namespaces)
	var reached []string
	for _, service := range r.services {
		if labels.SelectorFromSet(matched).Matches(labels.Set(service.Labels)) {
			reached = append(reached, service.Name)
		}
	}
	var want []string
	for _, account := range r.accounts {
		want = append(want, account+"-metrics")
	}
	assert.ElementsMatch(r, want, reached)
}

// expectOwnQuota asserts that a quota counts no pods but ours, unless everything in the namespace is ours.
func (r *reach) expectOwnQuota(o *unstructured.Unstructured) {
	assert.Equal(r, systemNamespace, r.namespace, "quota %s counts pods of neighbours", o.GetName())
}

// expectCriticalPods asserts that neighbours can have as many critical pods as before.
func (r *reach) expectCriticalPods() {
	r.Helper()
	if r.namespace == systemNamespace {
		return
	}
	for i := range 26 {
		pod := r.neighbourPod(fmt.Sprintf("scaled-%d", i))
		create(r.site, pod)
		r.Cleanup(func() { r.remove(pod) })
	}
}

// expectOurRequests asserts that a FlowSchema is for requests of our ServiceAccounts and of nobody else.
func (r *reach) expectOurRequests(o *unstructured.Unstructured) {
	r.Helper()
	for _, rule := range as[flowcontrolv1.FlowSchema](r, o).Spec.Rules {
		for _, subject := range rule.Subjects {
			require.NotNil(r, subject.ServiceAccount, o.GetName())
			assert.Equal(r, r.namespace, subject.ServiceAccount.Namespace, o.GetName())
			assert.Contains(r, ourAccounts, subject.ServiceAccount.Name, o.GetName())
		}
	}
	var uid string
	cluster.Await(r, "the API server to use FlowSchema "+o.GetName(), func() bool {
		schema := get(r.site, &flowcontrolv1.FlowSchema{}, "", o.GetName())
		uid = string(schema.UID)
		return slices.ContainsFunc(schema.Status.Conditions, func(condition flowcontrolv1.FlowSchemaCondition) bool {
			return condition.Type == flowcontrolv1.FlowSchemaConditionDangling && condition.Status == flowcontrolv1.ConditionFalse
		})
	})
	assert.NotEqual(r, uid, r.flowSchemaOf(r.neighbour), "requests of a neighbour are treated as ours")
	// Kubernetes' own FlowSchemas come first in kube-system, and say the same.
	if r.namespace != metav1.NamespaceSystem && o.GetName() == "podsequence-leader-election" {
		assert.Equal(r, uid, r.flowSchemaOf(r.accounts[0]))
	}
}

// flowSchemaOf is the UID of the FlowSchema of a ServiceAccount that asks for a Lease.
func (r *reach) flowSchemaOf(account string) string {
	r.Helper()
	config := rest.CopyConfig(r.cluster.Config())
	config.Impersonate.UserName = "system:serviceaccount:" + r.namespace + ":" + account
	config.Impersonate.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + r.namespace, "system:authenticated"}
	browser, err := rest.HTTPClientFor(config)
	require.NoError(r, err)
	response, err := browser.Get(config.Host + "/apis/coordination.k8s.io/v1/namespaces/" + r.namespace + "/leases/podsequence-controller")
	require.NoError(r, err)
	require.NoError(r, response.Body.Close())
	require.NotEqual(r, http.StatusInternalServerError, response.StatusCode)
	uid := response.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID)
	require.NotEmpty(r, uid)
	return uid
}

// expectSubjects asserts that permissions go to our ServiceAccounts, or to the scheduler of the cluster in place of ours.
func (r *reach) expectSubjects(o *unstructured.Unstructured, subjects []rbacv1.Subject) {
	r.Helper()
	require.NotEmpty(r, subjects)
	for _, subject := range subjects {
		if subject.Kind == rbacv1.UserKind {
			assert.Equal(r, "system:kube-scheduler", subject.Name, o.GetName())
			continue
		}
		assert.Equal(r, rbacv1.ServiceAccountKind, subject.Kind, o.GetName())
		assert.Equal(r, r.namespace, subject.Namespace, o.GetName())
		assert.Contains(r, ourAccounts, subject.Name, o.GetName())
	}
}

// expectNamesOfOurs asserts that a role in the namespace is for objects with names of ours. What creates an object cannot be limited
// to a name; policies do that.
func (r *reach) expectNamesOfOurs(o *unstructured.Unstructured, rules []rbacv1.PolicyRule) {
	r.Helper()
	for _, rule := range rules {
		switch {
		case len(rule.ResourceNames) > 0:
			for _, name := range rule.ResourceNames {
				assert.Contains(r, ourAccounts, name, o.GetName())
			}
		case slices.Equal(rule.Resources, []string{"events"}):
			assert.ElementsMatch(r, []string{"create", "patch"}, rule.Verbs, o.GetName())
		default:
			assert.Equal(r, []string{"leases"}, rule.Resources, o.GetName())
			assert.Equal(r, []string{"create"}, rule.Verbs, o.GetName())
		}
	}
}

// expectOurGroups asserts that people get permissions for kinds of ours only, and for reading what ClusterPodSequences select. What our
// ServiceAccounts may do anywhere is in the table of permissions.
func (r *reach) expectOurGroups(o *unstructured.Unstructured) {
	r.Helper()
	role := as[rbacv1.ClusterRole](r, o)
	if strings.HasPrefix(role.Name, "podsequence-scheduler") || strings.HasPrefix(role.Name, "podsequence-controller") {
		return
	}
	for _, rule := range role.Rules {
		if role.Name == "podsequence-cluster-view" && slices.Equal(rule.Resources, []string{"namespaces", "nodes"}) {
			assert.Subset(r, []string{"get", "list", "watch"}, rule.Verbs, role.Name)
			continue
		}
		assert.Subset(r, ourGroups, rule.APIGroups, role.Name)
	}
}

// expectNeighboursWrite asserts that what neighbours create is accepted, and nothing of ours added to it.
func (r *reach) expectNeighboursWrite() {
	r.Helper()
	config := rest.CopyConfig(r.cluster.Config())
	config.Impersonate.UserName = "system:serviceaccount:" + r.namespace + ":" + r.neighbour
	neighbour, err := client.New(config, client.Options{Scheme: cluster.Scheme})
	require.NoError(r, err)
	meta := metav1.ObjectMeta{Namespace: r.namespace, Name: "written"}
	pod := r.neighbourPod(meta.Name)
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "written"}}, Spec: *pod.Spec.DeepCopy()}
	deployment := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Template: template, Selector: metav1.SetAsLabelSelector(template.Labels),
	}}
	job := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: *template.DeepCopy()}}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	cluster.Eventually(r, "the permissions of the neighbour", func() error {
		return neighbour.Create(r.Context(), pod.DeepCopy(), client.DryRunAll)
	})
	for _, object := range []client.Object{pod, deployment, job, &coordinationv1.Lease{ObjectMeta: meta}} {
		require.NoError(r, neighbour.Create(r.Context(), object, client.DryRunAll), "%T", object)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		require.NoError(r, err)
		delete(content["metadata"].(map[string]any), "managedFields")
		assert.NotRegexp(r, `podsequence\.example\.com|podsequence-scheduler|containerinfra|paused`, fmt.Sprint(content), "%T", object)
	}
}

// remove deletes an object at once.
func (r *reach) remove(object client.Object) {
	assert.NoError(r, client.IgnoreNotFound(r.cluster.API.Delete(context.Background(), object, client.GracePeriodSeconds(0))))
}

// as decodes an object.
func as[T any](r *reach, o *unstructured.Unstructured) *T {
	r.Helper()
	var typed T
	require.NoError(r, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed))
	return &typed
}
