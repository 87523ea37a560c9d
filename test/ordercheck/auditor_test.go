package ordercheck

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/revisions/revisionstest"
)

const (
	keyOfWeb      = "/registry/cert-manager.io/certificates/shop/web"
	keyOfSettings = "/registry/configmaps/shop/settings"
	keyOfShop     = "/registry/scheduling.example.com/podsequences/shop/shop"
)

// auditing is an etcd with the definition of Certificate, and a referee that watches it.
type auditing struct {
	*revisionstest.Etcd
	t   *testing.T
	ref *Referee
}

func startAuditing(t *testing.T, before ...func(*revisionstest.Etcd)) *auditing {
	t.Helper()
	etcd := revisionstest.StartEtcd(t)
	definition := definitionOf("certificates.cert-manager.io", true)
	require.NoError(t, unstructured.SetNestedField(definition.Object, "cert-manager.io", "spec", "group"))
	require.NoError(t, unstructured.SetNestedField(definition.Object, "Certificate", "spec", "names", "kind"))
	putCustom(t, etcd, "/registry/apiextensions.k8s.io/customresourcedefinitions/certificates.cert-manager.io", definition)
	for _, put := range before {
		put(etcd)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ref, err := Start(ctx, etcd.Config(), Options{})
	require.NoError(t, err)
	t.Cleanup(ref.Stop)
	return &auditing{Etcd: etcd, t: t, ref: ref}
}

// putCustom stores a custom resource, or a definition of them.
func putCustom(t *testing.T, etcd *revisionstest.Etcd, key string, object *unstructured.Unstructured) int64 {
	t.Helper()
	stored, err := object.MarshalJSON()
	require.NoError(t, err)
	return etcd.PutRaw(key, string(stored))
}

// certificateOf is a Certificate with a status.
func certificateOf(uid string, generation int64, status map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "Certificate",
		"metadata": map[string]any{"namespace": "shop", "name": "web", "uid": uid, "generation": generation},
	}}
	if status != nil {
		object.Object["status"] = status
	}
	return object
}

// oneCondition is a status with one condition.
func oneCondition(conditionType, status string) map[string]any {
	return map[string]any{"conditions": []any{map[string]any{"type": conditionType, "status": status}}}
}

func going(object *unstructured.Unstructured) *unstructured.Unstructured {
	object.SetDeletionTimestamp(&metav1.Time{Time: storyBegin})
	return object
}

// claims makes the sequence say of an object that it is satisfied, and of nothing else.
func (a *auditing) claims(of v1alpha1.ObjectReference, uid string, generation int64) int64 {
	return claims(a.Etcd, of, uid, generation)
}

func claims(etcd *revisionstest.Etcd, of v1alpha1.ObjectReference, uid string, generation int64) int64 {
	shop := sequenceOf("shop", aloneFor(of), named("app"))
	shop.Status.Groups = []v1alpha1.GroupStatus{{Objects: []v1alpha1.ObjectStatus{{
		APIVersion: of.APIVersion, Kind: of.Kind, Name: of.Name, Until: of.Until,
		UID: types.UID(uid), Generation: generation, State: v1alpha1.ObjectSatisfied,
	}}}}
	return etcd.Put(keyOfShop, shop)
}

func until(of v1alpha1.ObjectReference, required string) v1alpha1.ObjectReference {
	of.Until = required
	return of
}

func TestRefereeFindsOutWhetherRecordsOfObjectsAreTrue(t *testing.T) {
	isReady, isNot := oneCondition("Ready", "True"), oneCondition("Ready", "False")
	web := until(certificate, "Ready")
	put := func(a *auditing, objects ...*unstructured.Unstructured) {
		for _, object := range objects {
			putCustom(a.t, a.Etcd, keyOfWeb, object)
		}
	}
	tests := map[string]struct {
		play      func(a *auditing)
		wantFalse bool
	}{
		"it is ready": {play: func(a *auditing) { put(a, certificateOf("1", 1, isReady)); a.claims(web, "1", 1) }},
		"it was, before": {play: func(a *auditing) {
			put(a, certificateOf("1", 1, isReady), certificateOf("1", 1, isNot))
			a.claims(web, "1", 1)
		}},
		"it was, and is gone": {play: func(a *auditing) { put(a, certificateOf("1", 1, isReady)); a.Delete(keyOfWeb); a.claims(web, "1", 1) }},
		"it was, and was replaced": {play: func(a *auditing) {
			put(a, certificateOf("1", 1, isReady))
			a.Delete(keyOfWeb)
			put(a, certificateOf("2", 1, nil))
			a.claims(web, "1", 1)
		}},
		"its successor is not": {
			play: func(a *auditing) {
				put(a, certificateOf("1", 1, isReady))
				a.Delete(keyOfWeb)
				put(a, certificateOf("2", 1, isNot))
				a.claims(web, "2", 1)
			},
			wantFalse: true,
		},
		"it never was": {play: func(a *auditing) {
			put(a, certificateOf("1", 1, nil), certificateOf("1", 1, isNot))
			a.claims(web, "1", 1)
		}, wantFalse: true},
		"it is only later": {play: func(a *auditing) {
			put(a, certificateOf("1", 1, isNot))
			a.claims(web, "1", 1)
			put(a, certificateOf("1", 1, isReady))
		}, wantFalse: true},
		"it never existed": {play: func(a *auditing) { a.claims(web, "1", 1) }, wantFalse: true},
		"only deleted it is": {play: func(a *auditing) {
			put(a, certificateOf("1", 1, isNot), going(certificateOf("1", 1, isReady)))
			a.claims(web, "1", 1)
		}, wantFalse: true},
		"it was before another generation": {
			play: func(a *auditing) {
				put(a, certificateOf("1", 1, isReady), certificateOf("1", 2, isNot))
				a.claims(web, "1", 2)
			},
			wantFalse: true,
		},
		"another condition is True": {play: func(a *auditing) {
			put(a, certificateOf("1", 1, oneCondition("Issuing", "True")))
			a.claims(web, "1", 1)
		}, wantFalse: true},
		"a record of an object that exists": {play: func(a *auditing) { a.Put(keyOfSettings, settingsOf("1")); a.claims(settings, "1", 0) }},
		"a record of a built-in object that does not": {
			play:      func(a *auditing) { a.Put(keyOfSettings, settingsOf("1")); a.claims(settings, "2", 0) },
			wantFalse: true,
		},
		"it is stored in another version": {play: func(a *auditing) {
			other := certificateOf("1", 1, isNot)
			other.SetAPIVersion("cert-manager.io/v2")
			put(a, other)
			a.claims(web, "1", 1)
		}},
		"it is Current without a condition": {play: func(a *auditing) { put(a, certificateOf("1", 1, nil)); a.claims(until(certificate, "Current"), "1", 1) }},
		"it is Current and not Ready": {
			play: func(a *auditing) {
				put(a, certificateOf("1", 1, isNot))
				a.claims(until(certificate, "Current"), "1", 1)
			},
			wantFalse: true,
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			a := startAuditing(t)
			test.play(a)
			verdict := a.ref.Verdict(t.Context())
			assert.Empty(t, verdict.Incomplete)
			assert.Empty(t, verdict.UncheckedRecords)
			assert.Equal(t, test.wantFalse, len(verdict.FalseRecords) == 1, verdict.String())
			assert.Equal(t, !test.wantFalse, verdict.Records == 1 && verdict.Clean(), verdict.String())
		})
	}
}

func settingsOf(uid types.UID) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings", UID: uid},
	}
}

func TestRefereeReportsAFalseRecordOnce(t *testing.T) {
	a := startAuditing(t)
	web := until(certificate, "Ready")
	putCustom(t, a.Etcd, keyOfWeb, certificateOf("1", 1, oneCondition("Ready", "False")))
	first := a.claims(web, "1", 1)
	a.claims(web, "1", 1) // says nothing new
	verdict := a.ref.VerdictFor(t.Context(), "shop")
	require.Len(t, verdict.FalseRecords, 1)
	assert.Equal(t, ExitViolation, verdict.ExitCode())
	record := verdict.FalseRecords[0]
	assert.Equal(t, revision(first).String(), record.ResourceVersion)
	record.Time = storyBegin
	assert.Equal(t, "the status of PodSequence shop/shop said at "+storyBegin.Format("15:04:05.000")+" (resource version "+record.ResourceVersion+
		") that Certificate shop/web with UID 1 is Ready, but it never was: it had 1 version up to then", record.String())
	assert.Contains(t, verdict.String(), "1 violation")
	assert.True(t, a.ref.VerdictFor(t.Context(), "elsewhere").Clean(), "another namespace has nothing to do with it")
	a.Put(keyOfShop, sequenceOf("shop", aloneFor(web), named("app")))
	a.claims(web, "1", 1)
	assert.Len(t, a.ref.Verdict(t.Context()).FalseRecords, 2, "it was taken back and claimed again")
}

func TestRefereeBelievesRecordsThatNobodyCanCheck(t *testing.T) {
	web := until(certificate, "Ready")
	tests := map[string]struct {
		before func(*revisionstest.Etcd)
		play   func(*auditing)
		want   string // empty: it is not looked at
	}{
		"one from before the watch": {before: func(etcd *revisionstest.Etcd) { claims(etcd, web, "1", 1) }},
		"one of a sequence from before the watch, and the object may be too": {
			before: func(etcd *revisionstest.Etcd) { etcd.Put(keyOfShop, sequenceOf("shop", aloneFor(web), named("app"))) },
			play:   func(a *auditing) { a.claims(web, "1", 1) },
			want:   "nothing is known of what was deleted before the start",
		},
		"one of a kind that is not stored": {
			play: func(a *auditing) {
				a.claims(v1alpha1.ObjectReference{APIVersion: "metrics.example.org/v1", Kind: "Load", Name: "x"}, "1", 1)
			},
			want: "nobody knows where a Load of metrics.example.org/v1 is stored",
		},
		"one of an object that cannot be read": {
			play: func(a *auditing) { a.PutRaw(keyOfWeb, "k8s:enc:nonsense"); a.claims(web, "1", 1) },
			want: "PodSequence shop/shop at resource version 4, Certificate shop/web: ",
		},
		"one of which etcd has forgotten the past": {
			play: func(a *auditing) {
				putCustom(a.t, a.Etcd, keyOfWeb, certificateOf("1", 1, oneCondition("Ready", "True")))
				broken := putCustom(a.t, a.Etcd, keyOfWeb, certificateOf("1", 1, oneCondition("Ready", "False")))
				a.ref.Verdict(a.t.Context()) // has seen what is compacted
				a.Compact(broken)
				a.claims(web, "1", 1)
			},
			want: "compacted",
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			if test.before == nil {
				test.before = func(*revisionstest.Etcd) {}
			}
			a := startAuditing(t, test.before)
			if test.play != nil {
				test.play(a)
			}
			verdict := a.ref.Verdict(t.Context())
			assert.True(t, verdict.Clean(), verdict.String())
			assert.Zero(t, verdict.Records)
			if test.want == "" {
				assert.Empty(t, verdict.UncheckedRecords)
				return
			}
			require.Len(t, verdict.UncheckedRecords, 1)
			assert.Contains(t, verdict.UncheckedRecords[0], test.want)
			assert.Contains(t, verdict.String(), "1 record of an object believed unchecked")
		})
	}
}

func TestRefereeChecksRecordsOfClusterPodSequences(t *testing.T) {
	a := startAuditing(t)
	putCustom(t, a.Etcd, keyOfWeb, certificateOf("1", 1, oneCondition("Ready", "True")))
	a.Put("/registry/minions/node-1", &corev1.Node{
		TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "1"},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	})
	across := &v1alpha1.ClusterPodSequence{
		TypeMeta:   metav1.TypeMeta{Kind: "ClusterPodSequence", APIVersion: v1alpha1.GroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{Name: "across", UID: "across", Generation: 1},
		Status: v1alpha1.PodSequenceStatus{Groups: []v1alpha1.GroupStatus{{Objects: []v1alpha1.ObjectStatus{
			{APIVersion: "cert-manager.io/v1", Kind: "Certificate", Namespace: "shop", Name: "web", Until: "Ready", UID: "1", State: v1alpha1.ObjectSatisfied},
			{APIVersion: "v1", Kind: "Node", Name: "node-1", Until: "Ready", UID: "1", State: v1alpha1.ObjectSatisfied},
			{APIVersion: "v1", Kind: "Node", Name: "node-1", Until: "Healthy", UID: "1", State: v1alpha1.ObjectSatisfied},
		}}}},
	}
	a.Put("/registry/scheduling.example.com/clusterpodsequences/across", across)
	verdict := a.ref.Verdict(t.Context())
	assert.Equal(t, 2, verdict.Records, verdict.String())
	require.Len(t, verdict.FalseRecords, 1)
	assert.Contains(t, verdict.FalseRecords[0].String(), "that Node node-1 with UID 1 is Healthy, but it never was")
}

func TestRefereeLooksRecordsUpWhenEtcdIsBack(t *testing.T) {
	a := startAuditing(t)
	a.Cut()
	a.claims(until(certificate, "Ready"), "1", 1)
	a.Reconnect()
	assert.Len(t, a.ref.Verdict(t.Context()).FalseRecords, 1)
}

func TestCurrentIsReadSimply(t *testing.T) {
	replicas := int32(2)
	deployment := func(updated, available int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: "x"},
			Spec: appsv1.DeploymentSpec{Replicas: &replicas}, Status: appsv1.DeploymentStatus{UpdatedReplicas: updated, AvailableReplicas: available},
		}
	}
	for want, all := range map[bool][]map[string]any{
		true: {
			{"apiVersion": "example.org/v1", "kind": "X"},
			{"apiVersion": "example.org/v1", "kind": "X", "status": oneCondition("Available", "False")},
			{"apiVersion": "example.org/v1", "kind": "X", "status": "text"},
			{"apiVersion": "v1", "kind": "Service", "status": oneCondition("Ready", "False")},
			{"apiVersion": "v1", "kind": "Pod", "status": map[string]any{"phase": "Succeeded"}},
			{"apiVersion": "v1", "kind": "Pod", "status": oneCondition("Ready", "True")},
			{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": map[string]any{"phase": "Bound"}},
			{"apiVersion": "batch/v1", "kind": "Job"},
		},
		false: {
			{"apiVersion": "example.org/v1", "kind": "X", "status": oneCondition("Ready", "Unknown")},
			{"apiVersion": "example.org/v1", "kind": "X", "status": oneCondition("Stalled", "True")},
			{"apiVersion": "example.org/v1", "kind": "X", "metadata": map[string]any{"generation": int64(2)}, "status": map[string]any{"observedGeneration": int64(1)}},
			{"apiVersion": "v1", "kind": "Pod", "status": oneCondition("Ready", "False")},
			{"apiVersion": "v1", "kind": "PersistentVolumeClaim"},
			{"apiVersion": "batch/v1", "kind": "Job", "status": oneCondition("Failed", "True")},
			{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"},
		},
	} {
		for _, object := range all {
			assert.Equal(t, want, isCurrent(&unstructured.Unstructured{Object: object}), object)
		}
	}
	for want, all := range map[bool][]*appsv1.Deployment{
		true:  {deployment(2, 2), deployment(2, 3)},
		false: {deployment(0, 0), deployment(1, 2), deployment(2, 1)},
	} {
		for _, object := range all {
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
			require.NoError(t, err)
			assert.Equal(t, want, isCurrent(&unstructured.Unstructured{Object: fields}), object.Status)
		}
	}
}

func TestObjectsAreLookedForWhereTheAPIServerStoresThem(t *testing.T) {
	for want, of := range map[string]v1alpha1.ObjectReference{
		"/registry/services/specs/shop/x":                            {APIVersion: "v1", Kind: "Service", Namespace: "shop", Name: "x"},
		"/registry/services/endpoints/shop/x":                        {APIVersion: "v1", Kind: "Endpoints", Namespace: "shop", Name: "x"},
		"/registry/minions/x":                                        {APIVersion: "v1", Kind: "Node", Name: "x"},
		"/registry/ingress/shop/x":                                   {APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Namespace: "shop", Name: "x"},
		"/registry/endpointslices/shop/x":                            {APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice", Namespace: "shop", Name: "x"},
		"/registry/storageclasses/x":                                 {APIVersion: "storage.k8s.io/v1", Kind: "StorageClass", Name: "x"},
		"/registry/apiextensions.k8s.io/customresourcedefinitions/x": {APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "x"},
	} {
		assert.Equal(t, []string{want}, keysOf(of, nil))
	}
}
