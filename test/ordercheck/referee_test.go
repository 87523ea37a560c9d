package ordercheck

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/revisions/revisionstest"
)

// Where the API server stores what the tests write.
const (
	keyOfTiers = "/registry/scheduling.example.com/podsequences/shop/tiers"
	keyOfDB    = "/registry/pods/shop/db"
	keyOfApp   = "/registry/pods/shop/app"
)

// startReferee starts a referee on an etcd with two tiers and their unbound pods. The last of them has resource version 4.
func startReferee(t *testing.T, options Options) (*revisionstest.Etcd, *Referee) {
	t.Helper()
	etcd := revisionstest.StartEtcd(t)
	etcd.Put(keyOfTiers, sequenceOf("tiers", named("db"), named("app")))
	etcd.Put(keyOfDB, podOf("db"))
	etcd.Put(keyOfApp, podOf("app"))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ref, err := Start(ctx, etcd.Config(), options)
	require.NoError(t, err)
	t.Cleanup(ref.Stop)
	return etcd, ref
}

func podOf(name string, edits ...podEdit) *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{SchedulerName: DefaultSchedulerName},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func sequenceOf(name string, fixes ...sequenceFix) *v1alpha1.PodSequence {
	sequence := &v1alpha1.PodSequence{
		TypeMeta:   metav1.TypeMeta{Kind: "PodSequence", APIVersion: v1alpha1.GroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name, UID: types.UID(name), Generation: 1},
	}
	for _, fix := range fixes {
		fix(sequence)
	}
	return sequence
}

var isReadyNow = isNow(corev1.ConditionTrue)

func TestRefereeCatchesAPodBoundTooEarly(t *testing.T) {
	etcd, ref := startReferee(t, Options{})
	etcd.Put(keyOfApp, podOf("app", onNode))
	etcd.Put(keyOfDB, podOf("db", isReadyNow))
	verdict := ref.Verdict(t.Context())
	require.Len(t, verdict.Violations, 1, verdict.String())
	assert.Equal(t, "shop/app", verdict.Violations[0].Pod)
	assert.Equal(t, "5", verdict.Violations[0].ResourceVersion)
	assert.Equal(t, "6", verdict.ResourceVersion)
	assert.Empty(t, verdict.Incomplete)
}

func TestRefereeReadsEveryKindWhereTheAPIServerStoresIt(t *testing.T) {
	etcd, ref := startReferee(t, Options{})
	template := tierTemplate("db")
	for key, object := range map[string]runtime.Object{
		"deployments/shop/x":  &appsv1.Deployment{ObjectMeta: meta("x"), Spec: appsv1.DeploymentSpec{Template: template}},
		"replicasets/shop/x":  &appsv1.ReplicaSet{ObjectMeta: meta("x"), Spec: appsv1.ReplicaSetSpec{Template: template}},
		"statefulsets/shop/x": &appsv1.StatefulSet{ObjectMeta: meta("x"), Spec: appsv1.StatefulSetSpec{Template: template}},
		"daemonsets/shop/x":   &appsv1.DaemonSet{ObjectMeta: meta("x"), Spec: appsv1.DaemonSetSpec{Template: template}},
		"jobs/shop/x":         &batchv1.Job{ObjectMeta: meta("x"), Spec: batchv1.JobSpec{Template: template}},
		"controllers/shop/x": &corev1.ReplicationController{
			ObjectMeta: meta("x"), Spec: corev1.ReplicationControllerSpec{Template: &template},
		},
	} {
		etcd.Put("/registry/"+key, object)
		events := ref.History(t.Context()).events
		last := events[len(events)-1]
		if assert.NotNil(t, last.workload, key) {
			assert.Equal(t, "db", last.workload.template.Get("tier"), key)
		}
		etcd.Delete("/registry/" + key)
	}
	etcd.Put("/registry/minions/node-1", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	events := ref.History(t.Context()).events
	assert.NotNil(t, events[len(events)-1].node)
	etcd.Put("/registry/scheduling.example.com/clusterpodsequences/across", &v1alpha1.ClusterPodSequence{
		TypeMeta:   metav1.TypeMeta{Kind: "ClusterPodSequence", APIVersion: v1alpha1.GroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{Name: "across", UID: "across", Generation: 1},
		Spec: v1alpha1.ClusterPodSequenceSpec{PodGroups: []v1alpha1.ClusterPodGroup{
			{PodGroup: v1alpha1.PodGroup{Pods: []string{"x"}, DependsOn: []string{}}, Namespaces: []string{"far"}}}},
	})
	events = ref.History(t.Context()).events
	if across := events[len(events)-1].sequence; assert.NotNil(t, across) {
		assert.True(t, across.isCluster())
		assert.Equal(t, []string{"far"}, across.groups[0].home.names)
		assert.Equal(t, []string{}, across.groups[0].dependsOn)
	}
	definition, err := definitionOf("podsequences.scheduling.example.com", true).MarshalJSON()
	require.NoError(t, err)
	etcd.PutRaw("/registry/apiextensions.k8s.io/customresourcedefinitions/podsequences.scheduling.example.com", string(definition))
	events = ref.History(t.Context()).events
	if read := events[len(events)-1].definition; assert.NotNil(t, read) {
		assert.True(t, read.installed)
	}
	assert.Empty(t, ref.Verdict(t.Context()).Incomplete)
}

func TestRefereeDatesEventsByWhatTheAPIWrote(t *testing.T) {
	etcd, ref := startReferee(t, Options{})
	hour := time.Now().Add(-time.Hour).Truncate(time.Second)
	etcd.Put(keyOfDB, podOf("db", func(p *corev1.Pod) {
		setCondition(p, corev1.PodReady, corev1.ConditionTrue, metav1.NewTime(hour))
		p.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Hour)) // is no time that has been
	}))
	etcd.Put(keyOfApp, podOf("app", onNode))
	events := ref.History(t.Context()).events
	assert.WithinDuration(t, hour, events[len(events)-1].earliest, 0)
	assert.WithinDuration(t, time.Now(), events[len(events)-1].arrived, time.Minute)
}

func TestRefereeIsToldOfAStoppedScheduler(t *testing.T) {
	_, ref := startReferee(t, Options{})
	stop := Stop{From: storyBegin, To: storyBegin.Add(time.Minute)}
	ref.SchedulerStopped(stop)
	assert.Equal(t, []Stop{stop}, ref.History(t.Context()).stops)
}

func TestRefereeIsToldOfAnAPIServerThatLagged(t *testing.T) {
	_, ref := startReferee(t, Options{})
	lag := Lag{From: storyBegin, To: storyBegin.Add(time.Minute), By: time.Second}
	ref.Lagged(lag)
	assert.Equal(t, []Lag{lag}, ref.History(t.Context()).lags)
}

func TestRefereeGivesVerdictsAsOftenAsAsked(t *testing.T) {
	etcd, ref := startReferee(t, Options{})
	assert.Equal(t, 0, ref.Verdict(t.Context()).Bindings)
	etcd.Put(keyOfDB, podOf("db", isReadyNow))
	etcd.Put(keyOfApp, podOf("app", onNode))
	verdict := ref.VerdictFor(t.Context(), testNamespace)
	assert.Equal(t, 1, verdict.Bindings)
	assert.True(t, verdict.Clean(), verdict.String())
	assert.Equal(t, 0, ref.VerdictFor(t.Context(), "other").Bindings)
}

func TestRefereeForgetsWhatNoReplayNeeds(t *testing.T) {
	etcd, ref := startReferee(t, Options{})
	before := len(ref.History(t.Context()).events)
	for range 10 {
		etcd.Put(keyOfDB, podOf("db", func(p *corev1.Pod) { p.Status.Message = "chatty" }))
	}
	assert.Len(t, ref.History(t.Context()).events, before)
}

func TestRefereeMissesNothingWhileItIsCutOff(t *testing.T) {
	etcd, ref := startReferee(t, Options{})
	etcd.Cut()
	etcd.Put(keyOfApp, podOf("app", onNode))
	etcd.Delete(keyOfApp)
	etcd.Reconnect()
	verdict := ref.Verdict(t.Context())
	// The pod came and went while nothing was watched, and yet is judged.
	assert.Len(t, verdict.Violations, 1, verdict.String())
	assert.Empty(t, verdict.Incomplete)
}

func TestRefereeOwnsUpToAGap(t *testing.T) {
	etcd, ref := startReferee(t, Options{})
	etcd.Cut()
	etcd.Put(keyOfApp, podOf("app", onNode))
	etcd.Compact(etcd.Put(keyOfDB, podOf("db", isReadyNow)))
	etcd.Reconnect()
	verdict := ref.Verdict(t.Context())
	assert.Equal(t, []string{
		"watch etcd after resource version 4: etcdserver: mvcc: required revision has been compacted",
	}, verdict.Incomplete)
	assert.Equal(t, ExitIncomplete, verdict.ExitCode())
	assert.Equal(t, "4", verdict.ResourceVersion, "the verdict must end where the record does")
}

func TestRefereeCannotJudgeWhatItCannotRead(t *testing.T) {
	etcd, ref := startReferee(t, Options{})
	etcd.PutRaw(keyOfTiers, `{"kind":"PodSequence","apiVersion":"scheduling.example.com/v1alpha1",`+
		`"metadata":{"namespace":"shop","name":"tiers","uid":"tiers","generation":2},"spec":{"podGroups":"db"}}`)
	verdict := ref.Verdict(t.Context())
	require.Len(t, verdict.Incomplete, 1)
	assert.Contains(t, verdict.Incomplete[0], "PodSequence shop/tiers: it cannot be read: ")

	corrected := sequenceOf("tiers", named("db"), named("late"))
	corrected.Generation = 3
	etcd.Put(keyOfTiers, corrected)
	etcd.Put("/registry/pods/shop/late", podOf("late"))
	etcd.Put("/registry/pods/shop/late", podOf("late", onNode))
	assert.Len(t, ref.Verdict(t.Context()).Violations, 1, "the record goes on")
}

func TestRefereeIsNeverCleanWhenItCannotAsk(t *testing.T) {
	etcd, ref := startReferee(t, Options{FenceTimeout: 300 * time.Millisecond})
	etcd.Cut()
	etcd.Put(keyOfApp, podOf("app", onNode))
	verdict := ref.Verdict(t.Context())
	assert.Equal(t, ExitIncomplete, verdict.ExitCode())
	require.NotEmpty(t, verdict.Incomplete)
	assert.Contains(t, verdict.Incomplete[0], "ask etcd for its revision")

	etcd.Reconnect()
	assert.Eventually(t, func() bool { return len(ref.Verdict(t.Context()).Violations) == 1 }, time.Minute, time.Millisecond,
		"a late watch may catch up")
}

func TestRefereeThatWasStoppedSaysSo(t *testing.T) {
	_, ref := startReferee(t, Options{})
	ref.Stop()
	assert.Equal(t, []string{"the watch of etcd was stopped"}, ref.Verdict(t.Context()).Incomplete)
}

func TestRefereeKnowsWhenASequenceIsCompleted(t *testing.T) {
	etcd, ref := startReferee(t, Options{})
	done := sequenceOf("tiers", named("db"), named("app"))
	done.Status.Phase = v1alpha1.PhaseCompleted
	done.Status.ObservedGeneration = done.Generation
	key := types.NamespacedName{Namespace: testNamespace, Name: "tiers"}

	isCompleted := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		return ref.AwaitCompleted(ctx, key)
	}
	assert.ErrorContains(t, isCompleted(), "await completion of PodSequence shop/tiers")

	etcd.Put(keyOfTiers, done)
	assert.NoError(t, ref.AwaitCompleted(t.Context(), key))

	edited := done.DeepCopy()
	edited.Generation++
	etcd.Put(keyOfTiers, edited)
	require.Empty(t, ref.Verdict(t.Context()).Incomplete)
	assert.Error(t, isCompleted(), "the status speaks of an older spec")
}
