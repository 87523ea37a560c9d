package deploymentcoordination

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "example.com/podsequence/apis/apps/v1"
)

// shelf is a cache and an API server that cost no more than a cache does. It counts what it is asked for.
type shelf struct {
	client.Client // nobody asks for more
	coordinations map[string][]v1.DeploymentCoordination
	deployments   map[string][]appsv1.Deployment
	replicaSets   map[string][]appsv1.ReplicaSet
	version       int
	requests      int // to the API server
	cacheLists    int
	statusCosts   map[string]int // of the writes of status, by namespace
}

// fill puts coordinations that all match the same Deployments into a namespace.
func (s *shelf) fill(namespace string, coordinations, deployments int) {
	for i := range coordinations {
		c := coordination("")
		c.Namespace, c.Name, c.ResourceVersion = namespace, fmt.Sprintf("c-%04d", i), "1"
		c.UID = types.UID(namespace + "/" + c.Name)
		c.Finalizers = []string{v1.Finalizer}
		s.coordinations[namespace] = append(s.coordinations[namespace], *c)
	}
	for i := range deployments {
		m := deployment(fmt.Sprintf("d-%04d", i))
		d, rs := m.Deployment, m.ReplicaSets[0]
		d.Namespace, d.ResourceVersion, d.UID = namespace, "1", types.UID(namespace+"/"+d.Name)
		rs.Namespace, rs.ResourceVersion, rs.UID, rs.OwnerReferences[0].UID = namespace, "1", d.UID+"/first", d.UID
		s.deployments[namespace] = append(s.deployments[namespace], *d)
		s.replicaSets[namespace] = append(s.replicaSets[namespace], *rs)
	}
}

// cacheOf is the shelf as a cache.
type cacheOf struct{ *shelf }

func (c cacheOf) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	c.requests--
	c.cacheLists++
	return c.shelf.List(ctx, list, options...)
}

func (s *shelf) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	s.requests++
	o := (&client.ListOptions{}).ApplyOptions(options)
	switch l := list.(type) {
	case *v1.DeploymentCoordinationList:
		l.Items = slices.Clone(s.coordinations[o.Namespace])
	case *appsv1.DeploymentList:
		l.Items = slices.Clone(s.deployments[o.Namespace])
		if o.FieldSelector != nil {
			name, _ := o.FieldSelector.RequiresExactMatch("metadata.name")
			l.Items = slices.DeleteFunc(l.Items, func(d appsv1.Deployment) bool { return d.Name != name })
		}
	case *appsv1.ReplicaSetList:
		l.Items = slices.Clone(s.replicaSets[o.Namespace])
	case *metav1.PartialObjectMetadataList:
		for _, c := range s.coordinations[o.Namespace] {
			l.Items = append(l.Items, metav1.PartialObjectMetadata{ObjectMeta: c.ObjectMeta})
		}
	}
	return nil
}

func (s *shelf) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	s.store(object)
	return nil
}

func (s *shelf) store(object client.Object) {
	s.requests++
	s.version++
	object.SetResourceVersion(strconv.Itoa(s.version + 1))
	switch o := object.(type) {
	case *appsv1.Deployment:
		all := s.deployments[o.Namespace]
		i := slices.IndexFunc(all, func(d appsv1.Deployment) bool { return d.Name == o.Name })
		all[i] = *o.DeepCopy()
	case *v1.DeploymentCoordination:
		all := s.coordinations[o.Namespace]
		i := slices.IndexFunc(all, func(c v1.DeploymentCoordination) bool { return c.Name == o.Name })
		all[i] = *o.DeepCopy()
	}
}

// shelfStatus is the subresource.
type shelfStatus struct {
	client.SubResourceWriter
	shelf *shelf
}

func (s *shelf) Status() client.SubResourceWriter { return shelfStatus{shelf: s} }

func (s shelfStatus) Update(_ context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	s.shelf.statusCosts[object.GetNamespace()] += writeCost(&object.(*v1.DeploymentCoordination).Status)
	s.shelf.store(object)
	return nil
}

// crowd is a reconciler over a shelf.
type crowd struct {
	testing.TB
	*shelf
	*reconciler
	clock *clocktesting.FakePassiveClock
}

func newCrowd(t testing.TB) *crowd {
	s := &shelf{
		coordinations: map[string][]v1.DeploymentCoordination{}, deployments: map[string][]appsv1.Deployment{},
		replicaSets: map[string][]appsv1.ReplicaSet{}, statusCosts: map[string]int{},
	}
	clock := clocktesting.NewFakePassiveClock(noon)
	return &crowd{TB: t, shelf: s, clock: clock, reconciler: &reconciler{
		cached: cacheOf{s}, live: s, writer: s, recorder: &events.FakeRecorder{}, clock: clock,
		limit: DefaultMaxCoordinations, turns: newPace(clock, plenty), namespaces: newNamespaces(),
	}}
}

// turn takes one turn with a namespace. It reports whether there is more to do.
func (c *crowd) turn(namespace string) (more bool) {
	c.Helper()
	result, err := c.Reconcile(c.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace}})
	require.NoError(c, err)
	return result.RequeueAfter == turnPause
}

// settle takes turns until there is nothing more to do, and returns how many.
func (c *crowd) settle(namespace string) (turns int) {
	c.Helper()
	for turns = 1; c.turn(namespace); turns++ {
		require.Less(c, turns, 10000)
	}
	return turns
}

// asked is a queue that notes what is asked for.
type asked struct {
	queue
	requests []reconcile.Request
	waits    []time.Duration
}

func (a *asked) Add(request reconcile.Request) { a.AddAfter(request, 0) }

func (a *asked) AddAfter(request reconcile.Request, wait time.Duration) {
	a.requests, a.waits = append(a.requests, request), append(a.waits, wait)
}

// event delivers an object to the controller as a watch does, and returns the requests that result.
func (c *crowd) event(matters matters, object client.Object) *asked {
	a := &asked{}
	c.handler(matters).Create(c.Context(), ctrlevent.CreateEvent{Object: object}, a)
	return a
}

func (c *crowd) change(namespace string, place int) *asked {
	d := &c.deployments[namespace][place]
	setTemplate(d, "second")
	d.Generation++
	c.version++
	d.ResourceVersion = strconv.Itoa(c.version + 1)
	return c.event(ofDeployment, d)
}

func TestAnEventAsksForOneReconcileHoweverManyCoordinationsThereAre(t *testing.T) {
	c := newCrowd(t)
	c.fill("hostile", 2000, 200)
	c.settle("hostile")
	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "hostile"}}}
	assert.Equal(t, want, c.change("hostile", 0).requests)
	assert.Equal(t, want, c.event(ofReplicaSet, &c.shelf.replicaSets["hostile"][0]).requests)
	assert.Equal(t, want, c.event(ofCoordination, &c.coordinations["hostile"][0]).requests)
	assert.Empty(t, c.event(ofDeployment, deployment("d").Deployment).requests, "a namespace without coordinations")
	assert.Equal(t, []time.Duration{largePause}, c.change("hostile", 0).waits, "a large namespace waits for more to happen")

	c.fill("quiet", 1, 2)
	c.settle("quiet")
	assert.Equal(t, []time.Duration{0}, c.change("quiet", 0).waits, "a small one does not")
}

func TestATurnIsBounded(t *testing.T) {
	c := newCrowd(t)
	c.fill("hostile", 2000, 200)
	for more := true; more; {
		c.requests, c.cacheLists = 0, 0
		more = c.turn("hostile")
		assert.LessOrEqual(t, c.requests, turnRequests+2, "requests to the API server")
		assert.LessOrEqual(t, c.cacheLists, 3, "lists of what is cached")
	}
	tooMany := 0
	for _, one := range c.coordinations["hostile"] {
		degraded := meta.FindStatusCondition(one.Status.Conditions, v1.ConditionDegraded)
		require.NotNil(t, degraded, one.Name)
		if degraded.Reason == v1.ReasonTooManyCoordinations {
			assert.Empty(t, one.Status.DeploymentStates)
			tooMany++
		}
	}
	assert.Equal(t, 2000-DefaultMaxCoordinations, tooMany)

	c.requests = 0
	c.event(ofCoordination, &c.coordinations["hostile"][0])
	turns := c.settle("hostile")
	assert.Zero(t, c.requests, "nothing has changed")
	assert.LessOrEqual(t, turns, (DefaultMaxCoordinations*201+2000)/turnPairs+1)
}

func TestACoordinationOfMoreDeploymentsThanATurnComparesActs(t *testing.T) {
	c := newCrowd(t)
	c.fill("shop", 1, turnPairs)
	c.settle("shop")
	c.change("shop", 0)
	c.settle("shop")
	assert.True(t, c.deployments["shop"][0].Spec.Paused)
	c.clock.SetTime(noon.Add(settleTime))
	c.settle("shop")
	assert.False(t, c.deployments["shop"][0].Spec.Paused)
	assert.Equal(t, "shop/d-0000", c.coordinations["shop"][0].Status.ActiveDeployment)
}

// A hostile namespace begins from nothing, with everything to be written; beside it another one changes a Deployment.
func TestAHostileNamespaceDoesNotDelayTheRolloutsOfAnother(t *testing.T) {
	c := newCrowd(t)
	c.fill("hostile", 2000, 200)
	c.fill("quiet", 1, 2)
	c.settle("quiet")

	queue := newQueue("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	for i := range 200 {
		c.change("hostile", i)
	}
	queue.Add(c.event(ofCoordination, &c.coordinations["hostile"][0]).requests[0])
	queue.Add(c.change("quiet", 0).requests[0])
	c.clock.SetTime(noon.Add(time.Minute)) // so that nobody waits for more changes to come
	before := 0
	for c.coordinations["quiet"][0].Status.ActiveDeployment == "" {
		require.Less(t, before, 10000)
		request, _ := queue.Get()
		if request.Namespace == "hostile" {
			before++
		} else {
			c.clock.SetTime(c.clock.Now().Add(time.Minute))
		}
		if c.turn(request.Namespace) || request.Namespace == "quiet" {
			queue.Add(request)
		}
		queue.Done(request)
	}
	assert.LessOrEqual(t, before, 3, "turns of the hostile namespace before the other one's Deployment is active")
}

// Somebody else, such as the leader before us, has given a Deployment its turn, and the cache does not say so yet.
func TestNothingIsActivatedByACacheThatLags(t *testing.T) {
	for name, happens := range map[string]func(c *crowd, live *shelf){
		"another coordination has a turn by now": func(c *crowd, live *shelf) {
			live.coordinations["shop"][1].Status.ActiveDeployment = "shop/d-0001"
			live.coordinations["shop"][1].ResourceVersion = "9"
		},
		"there is another coordination by now": func(_ *crowd, live *shelf) {
			live.fill("shop", 3, 0)
			live.coordinations["shop"] = live.coordinations["shop"][2:]
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, live := newCrowd(t), newCrowd(t).shelf
			c.fill("shop", 2, 2)
			live.fill("shop", 2, 2)
			c.settle("shop")
			live.coordinations["shop"] = slices.Clone(c.coordinations["shop"])
			c.live = live
			c.change("shop", 0)
			c.settle("shop") // it is pending since now
			live.coordinations["shop"] = slices.Clone(c.coordinations["shop"])
			happens(c, live)
			c.clock.SetTime(noon.Add(time.Minute))
			c.settle("shop")
			for _, one := range c.coordinations["shop"] {
				assert.Empty(t, one.Status.ActiveDeployment, one.Name)
			}
			assert.True(t, c.deployments["shop"][0].Spec.Paused)

			live.coordinations["shop"] = slices.Clone(c.coordinations["shop"])
			c.event(ofCoordination, &c.coordinations["shop"][0]) // the event that was awaited
			c.settle("shop")
			assert.Equal(t, "shop/d-0000", c.coordinations["shop"][0].Status.ActiveDeployment)
		})
	}
}

func TestWhatIsGoneIsForgotten(t *testing.T) {
	c := newCrowd(t)
	c.fill("shop", 3, 3)
	c.settle("shop")
	n := c.namespaces.known["shop"]
	assert.Len(t, n.templates, 3)
	n.written["gone"], n.failures["gone"], n.again["gone"] = "99", 1, noon
	c.deployments["shop"] = c.deployments["shop"][:1]
	c.settle("shop")
	assert.Len(t, n.templates, 1)
	for _, uid := range []types.UID{"gone"} {
		assert.NotContains(t, n.written, uid)
		assert.NotContains(t, n.failures, uid)
		assert.NotContains(t, n.again, uid)
	}
	c.coordinations["shop"] = nil
	c.settle("shop")
	assert.Empty(t, c.namespaces.known)
}

// A pointer into a list would keep all of it, and each Deployment's template is of another list.
func TestWhatIsRememberedOfATemplateKeepsNoList(t *testing.T) {
	m := deployment("a")
	current := (&namespace{templates: map[types.UID]knownTemplate{}}).template(&m).current
	assert.Equal(t, m.ReplicaSets[0], current)
	assert.NotSame(t, m.ReplicaSets[0], current)
}

// BenchmarkOneEvent is one event in a namespace of 2,000 coordinations that match the same 200 Deployments, until there is
// nothing more to do about it; and one turn of it, which is what others wait for.
func BenchmarkOneEvent(b *testing.B) {
	for _, size := range []struct{ coordinations, deployments int }{{1, 2}, {100, 200}, {2000, 200}} {
		b.Run(fmt.Sprintf("%dx%d", size.coordinations, size.deployments), func(b *testing.B) {
			c := newCrowd(b)
			c.fill("hostile", size.coordinations, size.deployments)
			c.settle("hostile")
			turns := 0
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				c.version++
				d := &c.deployments["hostile"][0]
				d.ResourceVersion = strconv.Itoa(c.version + 1)
				c.event(ofDeployment, d)
				turns += c.settle("hostile")
			}
			b.ReportMetric(float64(turns)/float64(b.N), "turns/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(turns), "ns/turn")
		})
	}
}
