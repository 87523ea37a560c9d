package deploymentcoordination

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/pkg/sequence"
)

// TestAtMostOneRolls runs the real reconciler in a world in which users, the Deployment controller, PodSequences, crashes and
// overlapping coordinations act at random, also between any two of its writes. After every single write it checks that no more
// than one Deployment with pending changes is unpaused, not counting those that a user has unpaused. It works out what is pending
// in its own, dumb way: this template has never been rolled out since the last other one was.
func TestAtMostOneRolls(t *testing.T) {
	seeds := uint64(8)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed)
			if seed%2 == 1 { // statuses often have to wait
				w.statusWrites = 2
				w.restart()
			}
			for range 80 {
				w.somethingHappens()
			}
			// When nothing more happens, everything has its turn.
			w.quiet = true
			for range 25 {
				w.reconcileAll()
				w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
				w.deploymentController(true)
			}
			for name := range w.rolledOut {
				d := w.deployment(name)
				require.Equal(t, image(d), w.rolledOut[name], "%s never had its turn", name)
				require.False(t, d.Spec.Paused, "%s is still paused", name)
			}
		})
	}
}

var (
	errCrash   = errors.New("crashed")
	errRefused = apierrors.NewTooManyRequests("the API server is busy", 1)
)

// world is a namespace with Deployments a to d.
type world struct {
	*testing.T
	ctx        context.Context
	random     *rand.Rand
	clock      *clocktesting.FakePassiveClock
	client     client.WithWatch // does not go through the interceptor
	reconciler *reconciler
	rolledOut  map[string]string // the image that each Deployment rolled out last
	quiet      bool              // no crashes, no interference
	inside     bool              // something is happening between two writes
	held       map[string]bool   // the images whose pods a PodSequence holds
	resumed    map[string]string // the image that somebody resumed of each Deployment
	crashed    bool              // nothing is written until a restart
	// statusWrites is how many statuses may be written in a second.
	statusWrites int
}

// WouldHold makes the world a Holder.
func (w *world) WouldHold(pods ...*corev1.Pod) (sequence.Hold, bool) {
	if w.quiet || !w.held[pods[0].Spec.Containers[0].Image] {
		return sequence.Hold{}, true
	}
	return sequence.Hold{Sequence: types.NamespacedName{Namespace: pods[0].Namespace, Name: "order"}}, true
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		T: t, ctx: t.Context(), random: rand.New(rand.NewPCG(seed, 0)), // a test that can be repeated
		clock: nil, rolledOut: map[string]string{}, held: map[string]bool{}, resumed: map[string]string{}, statusWrites: plenty,
	}
	w.clock = clocktesting.NewFakePassiveClock(noon)
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1.AddToScheme(scheme))
	builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1.DeploymentCoordination{}).
		WithIndex(&appsv1.Deployment{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} })
	for _, name := range []string{"a", "b", "c", "d"} {
		m := deployment(name)
		if name != "d" {
			m.Deployment.Labels["team"] = "x"
		}
		builder = builder.WithObjects(m.Deployment, m.ReplicaSets[0])
		w.rolledOut[name] = "first"
	}
	all := coordination("")
	builder = builder.WithObjects(all)
	if seed%3 == 0 { // overlaps
		other := coordination("")
		other.Name, other.UID = "other", "uid-other"
		other.Spec.LabelSelector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"team": "x"}}
		builder = builder.WithObjects(other)
	}
	w.client = builder.Build()
	w.restart()
	return w
}

// restart makes a reconciler that knows nothing but what the API says.
func (w *world) restart() {
	w.crashed = false
	intercepted := interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return w.write(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return w.write(func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
	w.reconciler = &reconciler{
		cached: intercepted, live: intercepted, writer: intercepted, recorder: events.NewFakeRecorder(10000), clock: w.clock,
		holder: w, limit: DefaultMaxCoordinations, turns: newPace(w.clock, w.statusWrites), namespaces: newNamespaces(),
	}
}

// write is where the world can interfere: a crash before or after the write, or somebody else who is faster.
func (w *world) write(do func() error) error {
	if w.crashed {
		return errCrash
	}
	if w.quiet {
		return do()
	}
	switch w.random.IntN(16) {
	case 0:
		w.crashed = true
		return errCrash
	case 1:
		if err := do(); err != nil {
			return err
		}
		w.check("a write before a crash")
		w.crashed = true
		return errCrash
	case 2:
		return errRefused
	case 3:
		if err := do(); err != nil {
			return err
		}
		w.check("a write whose answer is lost")
		return errRefused
	case 4:
		w.inside = true
		w.somethingHappens()
		w.inside = false
	}
	err := do()
	w.check("a write")
	return err
}

func (w *world) somethingHappens() {
	defer w.check("something happened")
	switch n := w.random.IntN(24); {
	case n == 11:
		w.resume()
	case n == 10:
		held := []string{"first", "second", "third"}[w.random.IntN(3)]
		w.held[held] = !w.held[held]
	case n < 3 || n == 12 || n == 13:
		w.changeTemplate()
	case n < 4:
		w.scale()
	case n < 7 || (n > 11 && n < 18) || w.inside:
		w.deploymentController(false)
	default:
		w.reconcileAll()
	}
	w.clock.SetTime(w.clock.Now().Add(time.Duration(w.random.IntN(1500)) * time.Millisecond))
}

func (w *world) reconcileAll() {
	w.reconciler.namespaces.note("shop", true)
	for turns := 0; ; turns++ {
		require.Less(w, turns, 1000, "it never comes to an end")
		request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop"}}
		result, err := w.reconciler.Reconcile(w.ctx, request)
		require.NoError(w, err)
		if w.crashed {
			w.restart()
			return
		}
		if result.RequeueAfter != turnPause {
			return
		}
	}
}

func (w *world) deployment(name string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	require.NoError(w, w.client.Get(w.ctx, types.NamespacedName{Namespace: "shop", Name: name}, d))
	return d
}

func (w *world) anyDeployment() *appsv1.Deployment {
	return w.deployment([]string{"a", "b", "c", "d"}[w.random.IntN(4)])
}

func image(d *appsv1.Deployment) string { return d.Spec.Template.Spec.Containers[0].Image }

// changeTemplate is also the admission policy: a matching Deployment that is active in none is paused.
func (w *world) changeTemplate() {
	d := w.anyDeployment()
	before := image(d)
	setTemplate(d, []string{"first", "second", "third"}[w.random.IntN(3)])
	if image(d) == before {
		return
	}
	d.Generation++
	var all v1.DeploymentCoordinationList
	require.NoError(w, w.client.List(w.ctx, &all))
	for i := range all.Items {
		c := &all.Items[i]
		selector, err := asSelector(c.Spec.LabelSelector)
		require.NoError(w, err)
		if selector.Matches(labels.Set(d.Labels)) && c.Status.ActiveDeployment != "shop/"+d.Name && !d.Spec.Paused {
			d.Spec.Paused = true
			d.Annotations = map[string]string{v1.PausedByAnnotation: c.Name}
		}
	}
	require.NoError(w, w.client.Update(w.ctx, d))
}

func (w *world) scale() {
	d := w.anyDeployment()
	d.Spec.Replicas = new(int32(1 + w.random.IntN(4)))
	d.Generation++
	require.NoError(w, w.client.Update(w.ctx, d))
}

// resume takes a Deployment out of the order, whoever paused it. That is not our doing: it does not count as long as it has not
// rolled out. Or it only unpauses it: that counts as long as nobody has paused it again.
func (w *world) resume() {
	d := w.anyDeployment()
	if !d.Spec.Paused {
		return
	}
	d.Spec.Paused = false
	if w.random.IntN(2) == 0 {
		delete(d.Annotations, v1.PausedByAnnotation)
	}
	w.resumed[d.Name] = image(d)
	require.NoError(w, w.client.Update(w.ctx, d))
}

// deploymentController takes a step with one Deployment, or finishes with all.
func (w *world) deploymentController(all bool) {
	if !all {
		w.sync(w.anyDeployment(), w.random.IntN(2) == 0)
		return
	}
	for name := range w.rolledOut {
		w.sync(w.deployment(name), true)
	}
}

// sync rolls out the template if the Deployment is not paused: by half, or to the end.
func (w *world) sync(d *appsv1.Deployment, toTheEnd bool) {
	var list appsv1.ReplicaSetList
	require.NoError(w, w.client.List(w.ctx, &list))
	want := *d.Spec.Replicas
	exists := false
	var total, updated int32
	for i := range list.Items {
		rs := &list.Items[i]
		if !strings.HasPrefix(rs.Name, d.Name+"-") {
			continue
		}
		current := rs.Spec.Template.Spec.Containers[0].Image == image(d)
		exists = exists || current
		if !d.Spec.Paused {
			switch {
			case current:
				*rs.Spec.Replicas = want
			case toTheEnd:
				*rs.Spec.Replicas = 0
			}
		}
		size := *rs.Spec.Replicas
		require.NoError(w, w.client.Update(w.ctx, rs))
		rs.Status.Replicas = size
		require.NoError(w, w.client.Status().Update(w.ctx, rs))
		total += size
		if current {
			updated += size
		}
	}
	if !exists && !d.Spec.Paused {
		require.NoError(w, w.client.Create(w.ctx, replicaSet(d, image(d), 0)))
	}
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: total, UpdatedReplicas: updated, AvailableReplicas: total,
	}
	require.NoError(w, w.client.Status().Update(w.ctx, d))
	if exists && total == updated && updated == want {
		w.rolledOut[d.Name] = image(d)
	} else if !d.Spec.Paused && exists && image(d) != w.rolledOut[d.Name] {
		w.rolledOut[d.Name] = "" // on the way from one to the other: both are yet to be rolled out
	}
}

func (w *world) check(after string) {
	var list appsv1.DeploymentList
	require.NoError(w, w.client.List(w.ctx, &list))
	var rolling []string
	for i := range list.Items {
		d := &list.Items[i]
		if d.Spec.Paused || image(d) == w.rolledOut[d.Name] || image(d) != w.resumed[d.Name] {
			delete(w.resumed, d.Name)
		}
		// Of one that is being deleted its controller starts nothing any more.
		if !d.Spec.Paused && image(d) != w.rolledOut[d.Name] && w.resumed[d.Name] == "" && d.DeletionTimestamp == nil {
			rolling = append(rolling, d.Name)
		}
	}
	require.LessOrEqual(w, len(rolling), 1, "after %s these are unpaused with changes to roll out: %v", after, rolling)
}

// A conflict is what the world's interference looks like; it must not be taken for an error.
func TestAConflictIsNoError(t *testing.T) {
	w := newWorld(t, 1)
	w.quiet = true
	conflicted := false
	w.reconciler.writer = interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			conflicted = true
			return apierrors.NewConflict(appsv1.Resource("deployments"), "a", errors.New("changed"))
		},
	})
	w.reconcileAll()
	require.True(t, conflicted)
}
