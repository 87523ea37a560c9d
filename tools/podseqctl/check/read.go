package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// Reader reads from the API server.
type Reader struct {
	Core    kubernetes.Interface
	Dynamic dynamic.Interface
}

// ourKind is one of the kinds that PodSequence defines.
type ourKind struct {
	schema.GroupVersion
	plural, name string
}

// ourKinds are all of them. Only the first is needed to hold pods.
var ourKinds = []ourKind{
	{v1alpha1.GroupVersion, v1alpha1.PodSequenceResource.Resource, "PodSequence"},
	{v1alpha1.GroupVersion, v1alpha1.ClusterPodSequenceResource.Resource, "ClusterPodSequence"},
	{schema.GroupVersion{Group: "batch.example.com", Version: "v1alpha1"}, "sequentialjobs", "SequentialJob"},
	{schema.GroupVersion{Group: "apps.containerinfra.nl", Version: "v1"}, "deploymentcoordinations", "DeploymentCoordination"},
}

// The kinds of policies, and of their bindings.
const (
	validating = "validatingadmissionpolicies"
	mutating   = "mutatingadmissionpolicies"
	ofBindings = "bindings"
)

var admission = schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}

// ourLabels select the programs.
const ourLabels = "app.kubernetes.io/name=podsequence"

// read reads everything. It fails only if the API server cannot be reached.
func (r *Reader) read(ctx context.Context, options Options) (*facts, error) {
	f := &facts{
		Options: options, kinds: map[string]*kind{}, policies: map[string]*policies{},
		deployments: map[string]*appsv1.Deployment{}, pods: map[string][]corev1.Pod{}, leases: map[string]*lease{},
	}
	server, err := r.Core.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w; check the kubeconfig and the network, then the API server itself", err)
	}
	f.server = server.GitVersion
	r.readKinds(ctx, f)
	r.readPrograms(ctx, f)
	r.readLeases(ctx, f)
	r.readPolicies(ctx, f)
	r.readRights(ctx, f)
	r.readSequences(ctx, f)
	f.waitingIn, f.waitingErr = wide(f.Namespace, func(namespace string) error {
		pods, err := r.Core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName="})
		if err == nil {
			f.waiting = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Spec.NodeName != "" || !report.TellsWait(&pod) })
		}
		return err
	})
	return f, nil
}

// wide reads from all namespaces if that is allowed, else from one. It returns which, empty for all.
func wide(namespace string, read func(namespace string) error) (string, error) {
	if err := read(metav1.NamespaceAll); !apierrors.IsForbidden(err) {
		return metav1.NamespaceAll, err
	}
	return namespace, read(namespace)
}

// readKinds asks discovery, which everybody may, and the definitions, which few may.
func (r *Reader) readKinds(ctx context.Context, f *facts) {
	definitions := r.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, each := range ourKinds {
		found := &kind{}
		served, err := r.serves(each.GroupVersion, each.plural)
		if err != nil {
			f.kindsErr = err
			return
		}
		found.served = served
		f.kinds[each.plural] = found
		if definition, err := definitions.Get(ctx, each.plural+"."+each.Group, metav1.GetOptions{}); err == nil {
			found.trouble = troubleOf(definition)
		}
	}
	f.mutating, _ = r.serves(admission, mutating)
}

// serves reports whether the API server serves a resource.
func (r *Reader) serves(of schema.GroupVersion, plural string) (bool, error) {
	list, err := r.Core.Discovery().ServerResourcesForGroupVersion(of.String())
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask what is served of %s: %w", of, err)
	}
	return slices.ContainsFunc(list.APIResources, func(resource metav1.APIResource) bool { return resource.Name == plural }), nil
}

// troubleOf says what is wrong with a definition.
func troubleOf(definition *unstructured.Unstructured) string {
	if definition.GetDeletionTimestamp() != nil {
		return "is being deleted"
	}
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, each := range conditions {
		condition, ok := each.(map[string]any)
		if !ok || condition["status"] != "False" {
			continue
		}
		switch condition["type"] {
		case "Established", "NamesAccepted":
			return fmt.Sprintf("is not %v: %v", condition["type"], condition["message"])
		}
	}
	return ""
}

// readPrograms finds the Deployments in any namespace, and the pods beside them.
func (r *Reader) readPrograms(ctx context.Context, f *facts) {
	f.deploymentsIn, f.deploymentsErr = wide(f.Installation, func(namespace string) error {
		list, err := r.Core.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{LabelSelector: ourLabels})
		if err != nil {
			return err
		}
		for i := range list.Items {
			f.deployments[componentOf(&list.Items[i])] = &list.Items[i]
		}
		return nil
	})
	pods, err := r.Core.CoreV1().Pods(f.installation()).List(ctx, metav1.ListOptions{LabelSelector: ourLabels})
	if err != nil {
		return // the Deployments say how many are ready
	}
	for _, pod := range pods.Items {
		f.pods[componentOf(&pod)] = append(f.pods[componentOf(&pod)], pod)
	}
}

func componentOf(object metav1.Object) string {
	return object.GetLabels()["app.kubernetes.io/component"]
}

// readLeases reads who leads. A lease that looks stale is read again after a while.
func (r *Reader) readLeases(ctx context.Context, f *facts) {
	names := map[string]types.NamespacedName{
		controller: {Namespace: f.installation(), Name: "podsequence-controller"},
		scheduler:  {Namespace: f.installation(), Name: "podsequence-scheduler"},
	}
	switch {
	case f.isDefault():
		names[scheduler] = types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: "kube-scheduler"}
	case f.isLite(), f.isWithoutSequences():
		delete(names, scheduler)
	}
	stale := false
	for program, name := range names {
		found := r.lease(ctx, name)
		f.leases[program] = found
		stale = stale || found.err == nil && found.isStale(f.Now)
	}
	if !stale || f.Again == 0 {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-time.After(f.Again):
	}
	for _, before := range f.leases {
		if before.err == nil {
			now := r.lease(ctx, before.name)
			before.renewing = now.err == nil && renewedAt(now.Lease).After(renewedAt(before.Lease).Time)
		}
	}
}

func (r *Reader) lease(ctx context.Context, name types.NamespacedName) *lease {
	found, err := r.Core.CoordinationV1().Leases(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	return &lease{name: name, Lease: found, err: err}
}

// readPolicies reads which policies there are, and which have a binding.
func (r *Reader) readPolicies(ctx context.Context, f *facts) {
	for _, plural := range []string{validating, mutating} {
		found := &policies{there: map[string]bool{}, bound: map[string]bool{}}
		f.policies[plural] = found
		if plural == mutating && !f.mutating {
			continue
		}
		list, err := r.Dynamic.Resource(admission.WithResource(plural)).List(ctx, metav1.ListOptions{})
		if err != nil {
			found.err = err
			continue
		}
		for i := range list.Items {
			found.there[list.Items[i].GetName()] = true
		}
		list, err = r.Dynamic.Resource(admission.WithResource(strings.TrimSuffix(plural, "ies")+"y"+ofBindings)).List(ctx, metav1.ListOptions{})
		if err != nil {
			found.err = err
			continue
		}
		for i := range list.Items {
			policy, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "policyName")
			found.bound[policy] = true
		}
	}
}

// readRights asks what the user may do in the namespace.
func (r *Reader) readRights(ctx context.Context, f *facts) {
	const view, edit = "view", "edit"
	ask := func(what, role string, attributes ...authorizationv1.ResourceAttributes) {
		asked := right{what: what, role: role, allowed: true}
		for _, attribute := range attributes {
			attribute.Namespace = f.Namespace
			review, err := r.Core.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attribute},
			}, metav1.CreateOptions{})
			if err != nil {
				asked.err = err
				break
			}
			asked.allowed = asked.allowed && review.Status.Allowed
		}
		f.rights = append(f.rights, asked)
	}
	ours, plural := v1alpha1.GroupVersion.Group, v1alpha1.PodSequenceResource.Resource
	ask("read PodSequences", view, authorizationv1.ResourceAttributes{Group: ours, Resource: plural, Verb: "get"},
		authorizationv1.ResourceAttributes{Group: ours, Resource: plural, Verb: "list"})
	ask("read pods", view, authorizationv1.ResourceAttributes{Resource: "pods", Verb: "list"})
	ask("suspend and skip", edit, authorizationv1.ResourceAttributes{Group: ours, Resource: plural, Verb: "patch"})
	ask("release", edit, authorizationv1.ResourceAttributes{Resource: "pods", Verb: "patch"},
		authorizationv1.ResourceAttributes{Group: "apps", Resource: "deployments", Verb: "patch"})
}

// readSequences reads the sequences of all namespaces, else those of one.
func (r *Reader) readSequences(ctx context.Context, f *facts) {
	add := func(list *unstructured.UnstructuredList) {
		for i := range list.Items {
			if each, err := snapshot.NewSequence(&list.Items[i]); err == nil {
				f.sequences = append(f.sequences, each)
			}
		}
	}
	f.sequencesIn, f.sequencesErr = wide(f.Namespace, func(namespace string) error {
		list, err := r.Dynamic.Resource(v1alpha1.PodSequenceResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err == nil {
			add(list)
		}
		return err
	})
	if apierrors.IsNotFound(f.sequencesErr) {
		f.sequencesErr = nil // the kind is not installed, which another line says
	}
	if list, err := r.Dynamic.Resource(v1alpha1.ClusterPodSequenceResource).List(ctx, metav1.ListOptions{}); err == nil {
		add(list)
	}
	slices.SortFunc(f.sequences, snapshot.Compare)
}

// Examine reads from the API server, and says what it finds.
func (r *Reader) Examine(ctx context.Context, options Options) (Report, error) {
	f, err := r.read(ctx, options)
	if err != nil {
		return nil, err
	}
	if f.isAbsent() {
		return append(f.judgeKinds(), f.judgeVersions()...), nil
	}
	var report Report
	for _, judge := range []func(*facts) []Line{
		(*facts).judgeKinds, (*facts).judgePrograms, (*facts).judgeLeases, (*facts).judgeVersions, (*facts).judgePolicies,
		(*facts).judgeSequences, (*facts).judgeWaiting, (*facts).judgeRights,
	} {
		report = append(report, judge(f)...)
	}
	return report, nil
}
