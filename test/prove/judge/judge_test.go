package judge

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

const (
	label = "world"
	shop  = "w-shop"
)

// thing is an object of a world, or changes one.
type thing func(*[]client.Object)

func with(objects ...client.Object) thing {
	return func(all *[]client.Object) { *all = append(*all, objects...) }
}

func node(name string, fixes ...func(*corev1.Node)) thing {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{label: "w"}, CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour)),
	}}
	for _, fix := range fixes {
		fix(n)
	}
	return with(n)
}

func pod(name, tier string, fixes ...func(*corev1.Pod)) thing {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: name, UID: "uid", Labels: map[string]string{"tier": tier}},
		Spec:       corev1.PodSpec{SchedulerName: ourScheduler},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "waiting for group 1/2",
		}}},
	}
	for _, fix := range fixes {
		fix(p)
	}
	return with(p)
}

func ready(p *corev1.Pod) {
	p.Spec.NodeName = "n1"
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
	}
}

func failed(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "n1", corev1.PodFailed }
func gated(p *corev1.Pod) {
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
}
func ofAnother(p *corev1.Pod) { p.Spec.SchedulerName = "another-scheduler" }
func silent(p *corev1.Pod)    { p.Status.Conditions = nil }
func terminating(p *corev1.Pod) {
	p.DeletionTimestamp, p.Finalizers = ptr.To(metav1.Now()), []string{"example.com/x"}
}

func order(fixes ...func(*v1alpha1.PodSequence)) thing {
	ps := &v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "s", Generation: 1}}
	ps.Status.ObservedGeneration = 1
	for _, tier := range []string{"db", "app"} {
		ps.Spec.PodGroups = append(ps.Spec.PodGroups, v1alpha1.PodGroup{Name: tier, PodSelector: &v1alpha1.LabelSelector{
			MatchLabels: map[string]v1alpha1.LabelValue{"tier": v1alpha1.LabelValue(tier)},
		}})
	}
	for _, fix := range fixes {
		fix(ps)
	}
	return with(ps)
}

func onNodes(ps *v1alpha1.PodSequence)   { ps.Spec.Scope = v1alpha1.ScopeNode }
func suspended(ps *v1alpha1.PodSequence) { ps.Spec.Suspend = true; withCondition(ps, "Suspended") }
func dryRun(ps *v1alpha1.PodSequence)    { ps.Spec.DryRun = true; withCondition(ps, "DryRun") }
func skipFirst(ps *v1alpha1.PodSequence) { ps.Spec.PodGroups[0].Skip = true }
func free(ps *v1alpha1.PodSequence)      { ps.Spec.PodGroups[1].DependsOn = []string{} }
func completed(ps *v1alpha1.PodSequence) {
	ps.Status.Phase, ps.Status.CurrentIndex = v1alpha1.PhaseCompleted, ptr.To[int32](2)
}
func expecting(ps *v1alpha1.PodSequence) { ps.Spec.PodGroups[0].ExpectedPods = 2 }
func oneIsEnough(ps *v1alpha1.PodSequence) {
	expecting(ps)
	ps.Spec.PodGroups[0].MinAvailable = ptr.To(intstr.FromInt32(1))
}

func withCondition(ps *v1alpha1.PodSequence, kind string) {
	ps.Status.Conditions = append(ps.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue})
}

func deployment(replicas, readyReplicas int32) thing {
	return with(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "db"},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"tier": "db"}},
		}},
		Status: appsv1.DeploymentStatus{Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: readyReplicas},
	})
}

// naming makes a pod name a PodSequence by its label.
func naming(sequence string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[v1alpha1.SequenceLabel] = sequence }
}

func saysThatOneIsMissing(p *corev1.Pod) {
	p.Status.Conditions[0].Message = "waiting for PodSequence w-shop/other, which does not exist: create it"
}

// requiring makes the namespace require a sequence.
func requiring(all *[]client.Object) {
	(*all)[0].SetAnnotations(map[string]string{v1alpha1.RequireSequenceAnnotation: v1alpha1.RequireSequence})
}

// broken is what the judge finds wrong with these things.
func broken(t *testing.T, things ...thing) []string {
	t.Helper()
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop, Labels: map[string]string{label: "w"}}}}
	for _, add := range things {
		add(&objects)
	}
	api := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithObjects(objects...).Build()
	f, err := gather(context.Background(), api, label, "w")
	require.NoError(t, err)
	return expect(f).broken
}

func TestWhatMustBeSo(t *testing.T) {
	const (
		appWaits  = "pod w-shop/app (UID uid) has no node, but all groups are ready that it waits for, in 1 sequences, and node n1 takes it"
		toolWaits = "pod w-shop/tool (UID uid) has no node, but all groups are ready that it waits for, in 0 sequences, and node n1 takes it"
		dbWaits   = "pod w-shop/db (UID uid) has no node, but all groups are ready that it waits for, in 1 sequences, and node n1 takes it"
	)
	for sentence, tc := range map[string]struct {
		things []thing
		want   []string
	}{
		"a pod of the first group must have a node":      {[]thing{order(), node("n1"), pod("db", "db")}, []string{dbWaits}},
		"a pod waits for a group that is not ready":      {[]thing{order(), node("n1"), pod("app", "app")}, nil},
		"a pod must have a node when the group is ready": {[]thing{order(), node("n1"), pod("db", "db", ready), pod("app", "app")}, []string{appWaits}},
		"a gated pod, too":                               {[]thing{order(), node("n1"), pod("db", "db", ready), pod("app", "app", gated)}, []string{appWaits}},
		"so must one of another scheduler":               {[]thing{order(), node("n1"), pod("db", "db", ready), pod("app", "app", gated, ofAnother)}, []string{appWaits}},
		"but not on nodes, where its gate stays":         {[]thing{order(onNodes), node("n1"), pod("db", "db", ready), pod("app", "app", gated, ofAnother)}, nil},
		"a pod that names a missing sequence waits":      {[]thing{order(), node("n1"), pod("db", "db", naming("other"), saysThatOneIsMissing)}, nil},
		"and says so":                                     {[]thing{order(), node("n1"), pod("db", "db", naming("other"))}, []string{"pod w-shop/db (UID uid) does not say that it waits for PodSequence w-shop/other, which does not exist"}},
		"one that is there does not hold it":              {[]thing{order(), node("n1"), pod("db", "db", naming("s"))}, []string{dbWaits}},
		"nor the gate of one that no group has":           {[]thing{order(), node("n1"), pod("tool", "tool", gated, naming("s"))}, []string{toolWaits}},
		"nobody can hold a pod of another scheduler":      {[]thing{order(), node("n1"), pod("tool", "tool", ofAnother, naming("other"))}, []string{toolWaits}},
		"unless it has a gate":                            {[]thing{order(), node("n1"), pod("tool", "tool", gated, ofAnother, naming("other"))}, nil},
		"a namespace may require a sequence":              {[]thing{requiring, order(), node("n1"), pod("tool", "tool")}, nil},
		"and one that has the pod does":                   {[]thing{requiring, order(), node("n1"), pod("db", "db")}, []string{dbWaits}},
		"of pods of another scheduler it requires none":   {[]thing{requiring, order(), node("n1"), pod("tool", "tool", ofAnother)}, []string{toolWaits}},
		"a node that takes no pods is none":               {[]thing{order(), node("n1", func(n *corev1.Node) { n.Spec.Unschedulable = true }), pod("db", "db")}, nil},
		"a gate that no sequence lifts stays":             {[]thing{node("n1"), pod("db", "db", gated)}, nil},
		"a pod that is going needs no node":               {[]thing{order(), node("n1"), pod("db", "db", terminating)}, nil},
		"a pod that is going is not ready":                {[]thing{order(), node("n1"), pod("db", "db", ready, terminating), pod("app", "app")}, nil},
		"a failed pod of nobody is not ready":             {[]thing{order(), node("n1"), pod("db", "db", failed), pod("app", "app")}, nil},
		"what is suspended need not go on":                {[]thing{order(suspended), node("n1"), pod("db", "db")}, nil},
		"a dry run holds nothing":                         {[]thing{order(dryRun), node("n1"), pod("app", "app")}, []string{appWaits}},
		"a suspended sequence may hold, dry run or not":   {[]thing{order(dryRun, suspended), node("n1"), pod("app", "app")}, nil},
		"a skipped group holds nothing":                   {[]thing{order(skipFirst), node("n1"), pod("app", "app")}, []string{appWaits}},
		"nor does one on which none depends":              {[]thing{order(free), node("n1"), pod("app", "app")}, []string{appWaits}},
		"a workload that wants more pods is not ready":    {[]thing{order(), node("n1"), deployment(2, 1), pod("db", "db", ready), pod("app", "app")}, nil},
		"a workload that has all is":                      {[]thing{order(), node("n1"), deployment(1, 1), pod("db", "db", ready), pod("app", "app")}, []string{appWaits}},
		"fewer pods than expected are not enough":         {[]thing{order(expecting), node("n1"), pod("db", "db", ready), pod("app", "app")}, nil},
		"unless fewer are available":                      {[]thing{order(oneIsEnough), node("n1"), pod("db", "db", ready), pod("app", "app")}, []string{appWaits}},
		"a node is open where the group before is ready":  {[]thing{order(onNodes), node("n1"), pod("db", "db", ready), pod("app", "app")}, []string{appWaits}},
		"and no other node is":                            {[]thing{order(onNodes), node("n2"), pod("db", "db", ready), pod("app", "app")}, nil},
		"nothing says why a pod waits":                    {[]thing{order(), node("n1"), pod("app", "app", silent)}, []string{"pod w-shop/app (UID uid) has no node, and nothing says why"}},
		"status says that all is ready":                   {[]thing{order(completed), node("n1"), pod("db", "db", ready), pod("app", "app", ready)}, nil},
		"status of an older generation":                   {[]thing{order(func(ps *v1alpha1.PodSequence) { ps.Generation = 2 })}, []string{"status of PodSequence w-shop/s is of generation 1, not 2"}},
		"status does not say that nothing more may start": {[]thing{order(func(ps *v1alpha1.PodSequence) { ps.Spec.Suspend = true })}, []string{"condition Suspended of PodSequence w-shop/s is wrong: suspend is true"}},
		"status does not say that all is ready": {[]thing{order(), node("n1"), pod("db", "db", ready), pod("app", "app", ready)}, []string{
			"PodSequence w-shop/s is , but all its groups are ready", "PodSequence w-shop/s is at group -1, but all its groups are ready",
		}},
	} {
		t.Run(sentence, func(t *testing.T) { assert.Equal(t, tc.want, broken(t, tc.things...)) })
	}
}

func TestWhatStaysWrongIsAViolation(t *testing.T) {
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop, Labels: map[string]string{label: "w"}}}}
	for _, add := range []thing{order(), node("n1"), pod("db", "db")} {
		add(&objects)
	}
	judge := &Judge{API: fake.NewClientBuilder().WithScheme(cluster.Scheme).WithObjects(objects...).Build(), Label: label, Value: "w"}
	verdict, err := judge.Settle(t.Context())
	require.NoError(t, err)
	assert.Len(t, verdict.Violations, 1)
}

func TestWhatIsWrittenWithoutEnd(t *testing.T) {
	began := time.Now()
	c := changes{}
	c.note(began, map[string]string{"Pod a/b": "1", "Pod a/c": "1"}, map[string]string{"Pod a/b": "2", "PodSequence a/s": "1"})
	c.note(began.Add(time.Second), map[string]string{"Pod a/b": "2", "PodSequence a/s": "1"}, map[string]string{"Pod a/b": "2", "PodSequence a/s": "2"})
	assert.Equal(t, []string{"Pod a/b", "Pod a/c", "PodSequence a/s"}, c.since(began.Add(-time.Second)))
	assert.Empty(t, endless(c.since(began.Add(-time.Second))), "a pod changes, too")
	assert.Equal(t, []string{"PodSequence a/s is written without end, though nothing else changes"}, endless(c.since(began)))
}
