package release

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"example.com/podsequence/tools/holds"
)

// server is an API server whose answers a test changes.
type server struct {
	client.WithWatch
	// forbidden are verbs and resources that the user may not.
	forbidden []string
	// admit is what the admission policies do to new pods.
	admit func(*corev1.Pod) error
	// beforeDelete happens just before a pod is deleted.
	beforeDelete func(client.WithWatch)
	// noEvents refuses events.
	noEvents bool
}

func newServer(objects ...client.Object) *server {
	s := &server{admit: func(*corev1.Pod) error { return nil }, beforeDelete: func(client.WithWatch) {}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	s.WithWatch = fake.NewClientBuilder().WithObjects(append(objects, namespace)...).WithInterceptorFuncs(interceptor.Funcs{
		Create: s.create, Patch: patch,
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			s.beforeDelete(c)
			return c.Delete(ctx, object, options...)
		},
	}).Build()
	return s
}

func (s *server) create(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
	switch o := object.(type) {
	case *authorizationv1.SelfSubjectAccessReview:
		attributes := o.Spec.ResourceAttributes
		o.Status.Allowed = !slices.Contains(s.forbidden, attributes.Verb+" "+attributes.Resource)
		return nil
	case *corev1.Pod:
		return s.admit(o)
	case *eventsv1.Event:
		if s.noEvents {
			return apierrors.NewForbidden(eventsv1.Resource("events"), "", errors.New("no right to create"))
		}
	}
	return c.Create(ctx, object, options...)
}

// patch answers a dry run with the patched object, as an API server does.
func patch(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if _, limited := ctx.Deadline(); limited {
		return errors.New("the request may be cut off in the middle")
	}
	if !slices.Contains(options, client.PatchOption(client.DryRunAll)) {
		return c.Patch(ctx, object, patch, options...)
	}
	before, err := json.Marshal(object)
	if err != nil {
		return err
	}
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	after, err := strategicpatch.StrategicMergePatch(before, data, object)
	if err != nil {
		return err
	}
	reflect.ValueOf(object).Elem().SetZero() // decoding keeps what is no longer there
	return json.Unmarshal(after, object)
}

// heldReplicaSet is a ReplicaSet without a Deployment, whose controller has seen its template.
func heldReplicaSet() *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: meta("web"), Spec: appsv1.ReplicaSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: template(),
	}}
}

func (s *server) release(t *testing.T, o Options) (*Result, error) {
	t.Helper()
	o.Reason, o.Now = "the scheduler is down", time.Now()
	if o.DryRun == "" {
		o.DryRun = DryRunNone
	}
	if o.Patience == 0 {
		o.Patience = time.Millisecond
	}
	return New(s, planner.Finder).Release(t.Context(), holds.Workload{Kind: "replicaset", Namespace: "shop", Name: "web"}, o)
}

// actions lists what a result says was done.
func actions(result *Result) []string {
	var lines []string
	for _, done := range result.Done {
		lines = append(lines, done.Action+" "+done.Object)
	}
	return lines
}

func (s *server) podNames(t *testing.T) []string {
	t.Helper()
	var list corev1.PodList
	require.NoError(t, s.List(t.Context(), &list))
	var names []string
	for _, pod := range list.Items {
		names = append(names, pod.Name)
	}
	return names
}

func TestATemplateIsChangedBeforeItsPods(t *testing.T) {
	set := heldReplicaSet()
	s := newServer(set, pod("web-1", "ours", set), pod("web-2", "gated", set), pod("web-3", "ours bound", set))
	s.beforeDelete = func(c client.WithWatch) {
		found := &appsv1.ReplicaSet{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(set), found))
		assert.Equal(t, holds.Hold{}, planner.InTemplate(&found.Spec.Template))
	}
	result, err := s.release(t, Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"patched replicaset/web", "recorded event", "deleted pod/web-1", "patched pod/web-2"}, actions(result))
	assert.Equal(t, []string{"web-2", "web-3"}, s.podNames(t))
	var events eventsv1.EventList
	require.NoError(t, s.List(t.Context(), &events))
	require.Len(t, events.Items, 1)
	assert.Equal(t, "somebody released ReplicaSet shop/web from PodSequence: the scheduler is down", events.Items[0].Note)
}

func TestAPodThatGetsANodeMeanwhileIsNotDeleted(t *testing.T) {
	set := heldReplicaSet()
	s := newServer(set, pod("web-1", "ours", set))
	s.beforeDelete = func(c client.WithWatch) {
		found := &corev1.Pod{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-1"}, found))
		found.Spec.NodeName = "node-1"
		require.NoError(t, c.Update(t.Context(), found))
	}
	result, err := s.release(t, Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"patched replicaset/web", "recorded event"}, actions(result))
	assert.Equal(t, []string{"web-1"}, s.podNames(t))
}

func TestAPodWithANewMessageIsDeletedAllTheSame(t *testing.T) {
	set := heldReplicaSet()
	s := newServer(set, pod("web-1", "ours", set))
	messages := 0
	s.beforeDelete = func(c client.WithWatch) {
		if messages++; messages > 2 {
			return
		}
		found := &corev1.Pod{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-1"}, found))
		found.Annotations = map[string]string{"message": time.Now().String()}
		require.NoError(t, c.Update(t.Context(), found))
	}
	result, err := s.release(t, Options{})
	require.NoError(t, err)
	assert.Contains(t, actions(result), "deleted pod/web-1")
	assert.Empty(t, s.podNames(t))
}

func TestNoPodIsDeletedBeforeTheControllerKnowsTheTemplate(t *testing.T) {
	set := heldReplicaSet()
	set.Generation = 2
	set.Status.ObservedGeneration = 1
	s := newServer(set, pod("web-1", "ours", set))
	result, err := s.release(t, Options{})
	require.ErrorContains(t, err, "its controller has not noticed it within 1ms: does kube-controller-manager run?")
	assert.Equal(t, []string{"patched replicaset/web", "recorded event"}, actions(result), "what was done is said")
	assert.Equal(t, []string{"web-1"}, s.podNames(t))
}

func TestNothingIsChanged(t *testing.T) {
	optIn := func(c client.Client) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{optInLabel: optIn}}}
		if err := c.Update(context.Background(), namespace); err != nil {
			panic(err)
		}
	}
	hold := func(pod *corev1.Pod) error {
		pod.Spec.SchedulerName = ourScheduler
		return nil
	}
	refuse := func(*corev1.Pod) error { return errors.New("exceeded quota") }
	for name, tc := range map[string]struct {
		prepare func(*server)
		options Options
		wantErr string
	}{
		"without permissions, all of which are named": {
			prepare: func(s *server) { s.forbidden = []string{"patch replicasets", "delete pods"} },
			wantErr: "you may not patch replicasets and delete pods in namespace shop, so nothing was changed: ask for the role edit there",
		},
		"if a policy would hold new pods again": {
			prepare: func(s *server) { s.admit = hold },
			wantErr: "new pods of replicaset/web would get schedulerName podsequence-scheduler again: an admission policy or a webhook adds it.",
		},
		"if the namespace opts in": {
			prepare: func(s *server) { s.admit = hold; optIn(s) },
			wantErr: "Remove the label first, then run this command again:\n  kubectl label namespace shop podsequence.example.com/scheduling-",
		},
		"if the namespace opts in and a quota refuses the trial": {
			prepare: func(s *server) { s.admit = refuse; optIn(s) },
			wantErr: "namespace shop opts in",
		},
		"if the namespace opts in, in a dry run without the server": {
			prepare: func(s *server) { optIn(s) }, options: Options{DryRun: DryRunClient}, wantErr: "namespace shop opts in",
		},
		"in a dry run without the server": {prepare: func(*server) {}, options: Options{DryRun: DryRunClient}},
		"in a dry run with the server":    {prepare: func(*server) {}, options: Options{DryRun: DryRunServer}},
	} {
		t.Run(name, func(t *testing.T) {
			set := heldReplicaSet()
			s := newServer(set, pod("web-1", "ours", set))
			tc.prepare(s)
			result, err := s.release(t, tc.options)
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				assert.Empty(t, result.Done)
			} else {
				require.NoError(t, err)
				assert.Equal(t, []string{"patched replicaset/web", "deleted pod/web-1"}, actions(result))
			}
			found := &appsv1.ReplicaSet{}
			require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(set), found))
			assert.Equal(t, ourScheduler, found.Spec.Template.Spec.SchedulerName)
			assert.Equal(t, []string{"web-1"}, s.podNames(t))
		})
	}
}

// Where the label of the namespace does nothing, as before Kubernetes 1.36, or where a quota is used up, pods are released.
func TestWhatDoesNotHoldNewPodsIsNoReasonToRefuse(t *testing.T) {
	for name, prepare := range map[string]func(*server){
		"a label without its policy": func(s *server) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{optInLabel: optIn}}}
			require.NoError(t, s.Update(t.Context(), namespace))
		},
		"a quota": func(s *server) { s.admit = func(*corev1.Pod) error { return errors.New("exceeded quota") } },
	} {
		t.Run(name, func(t *testing.T) {
			set := heldReplicaSet()
			s := newServer(set, pod("web-1", "ours", set))
			prepare(s)
			_, err := s.release(t, Options{})
			require.NoError(t, err)
			assert.Empty(t, s.podNames(t))
		})
	}
}

// The API server would refuse another note: the reason would be lost.
func TestALongReasonIsCutBetweenCharacters(t *testing.T) {
	for _, start := range []string{"", "a", "aa", "aaa"} {
		s := newServer(heldReplicaSet())
		_, err := New(s, planner.Finder).Release(t.Context(), holds.Workload{Kind: "replicaset", Namespace: "shop", Name: "web"},
			Options{Reason: start + strings.Repeat("🔥", 1024), DryRun: DryRunNone, Now: time.Now(), Patience: time.Millisecond})
		require.NoError(t, err)
		var events eventsv1.EventList
		require.NoError(t, s.List(t.Context(), &events))
		require.Len(t, events.Items, 1)
		note := events.Items[0].Note
		assert.LessOrEqual(t, len(note), 1024)
		assert.Equal(t, "🔥...", note[len(note)-len("🔥..."):])
	}
}

func TestAnEventThatIsNotWrittenIsSaid(t *testing.T) {
	s := newServer(heldReplicaSet())
	s.noEvents = true
	result, err := s.release(t, Options{})
	require.NoError(t, err)
	require.ErrorContains(t, result.NoEvent, "no right to create")
	assert.Equal(t, []string{"patched replicaset/web"}, actions(result))
}

func TestTheOwnerIsReleasedInstead(t *testing.T) {
	d := deployment(false)
	set := heldReplicaSet()
	set.Name = "web-1"
	controlledBy(set, d)
	operator := &appsv1.StatefulSet{ObjectMeta: meta("db")}
	controlledBy(operator, d)
	unknown := pod("lws-0", "ours", nil)
	unknown.OwnerReferences = []metav1.OwnerReference{{APIVersion: "x.example.com/v1", Kind: "LeaderWorkerSet", Name: "lws", Controller: new(true)}}
	s := newServer(d, set, operator, pod("web-1-a", "ours", set), pod("web-1-b", "gated", set), unknown)
	for name, tc := range map[string]struct {
		kind, name string
		wantErr    string
	}{
		"of a ReplicaSet":                {kind: "replicaset", name: "web-1", wantErr: "replicaset/web-1 belongs to deployment/web: release that instead: kubectl podseq release -n shop deployment/web"},
		"of a pod of our scheduler":      {kind: "pod", name: "web-1-a", wantErr: "pod/web-1-a belongs to deployment/web: release that instead"},
		"not of a pod that has a gate":   {kind: "pod", name: "web-1-b"},
		"not of a workload":              {kind: "statefulset", name: "db"},
		"of a kind that is not known":    {kind: "pod", name: "lws-0", wantErr: "pod/lws-0 belongs to leaderworkerset/lws, of a kind that this command does not know: change the pod template there"},
		"but what does not exist is not": {kind: "pod", name: "nothing", wantErr: "pod/nothing does not exist in namespace shop: kubectl get pods -n shop lists those that do"},
	} {
		t.Run(name, func(t *testing.T) {
			w := holds.Workload{Kind: tc.kind, Namespace: "shop", Name: tc.name}
			_, err := New(s, planner.Finder).Release(t.Context(), w, Options{DryRun: DryRunClient})
			if tc.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.wantErr)
			}
		})
	}
}
