package sequentialjob

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"example.com/podsequence/internal/statusbudget"
	"example.com/podsequence/pkg/controllers/sequentialjob"
	"example.com/podsequence/test/harness/cluster"
)

// killer ends a controller at one of its writes. What it does after that never reaches the API server.
type killer struct {
	at    int // the write, counted from 0; none if negative
	after bool

	lock   sync.Mutex
	writes int
	dead   chan struct{}
}

var errDead = errors.New("the controller was killed")

func newKiller(at int, after bool) *killer {
	return &killer{at: at, after: after, dead: make(chan struct{})}
}

func (k *killer) around(write func() error) error {
	k.lock.Lock()
	defer k.lock.Unlock()
	select {
	case <-k.dead:
		return errDead
	default:
	}
	fatal := k.writes == k.at
	k.writes++
	if fatal && !k.after {
		close(k.dead)
		return errDead
	}
	err := write()
	if fatal {
		close(k.dead)
		return errDead
	}
	return err
}

// newClient makes a client whose writes go through the killer.
func (k *killer) newClient(config *rest.Config, options client.Options) (client.Client, error) {
	c, err := client.NewWithWatch(config, options)
	if err != nil {
		return nil, err
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return k.around(func() error { return c.Create(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return k.around(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return k.around(func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return k.around(func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	}), nil
}

// startController runs the controller of this story's namespace in this process, until it is killed; then it is started
// once more, and lives.
func (s *story) startController(k *killer) {
	ctx, cancel := context.WithCancel(context.Background())
	var lives sync.WaitGroup
	lives.Go(func() {
		life, end := context.WithCancel(ctx)
		defer end()
		go func() {
			select {
			case <-k.dead:
				end()
			case <-life.Done():
			}
		}()
		s.runController(life, k)
		if ctx.Err() == nil {
			s.runController(ctx, newKiller(-1, false))
		}
	})
	s.Cleanup(func() { cancel(); lives.Wait() })
}

func (s *story) runController(ctx context.Context, k *killer) {
	mgr, err := ctrl.NewManager(s.Cluster.Config(), ctrl.Options{
		Scheme:                  cluster.Scheme,
		Metrics:                 server.Options{BindAddress: "0"},
		Cache:                   cache.Options{DefaultNamespaces: map[string]cache.Config{s.Namespace: {}}},
		Controller:              config.Controller{SkipNameValidation: ptr.To(true)},
		NewClient:               k.newClient,
		GracefulShutdownTimeout: ptr.To(time.Minute),
	})
	budget := statusbudget.New(1000) // never exhausted
	if assert.NoError(s, err) && assert.NoError(s, sequentialjob.Add(mgr, clock.RealClock{}, budget)) {
		assert.NoError(s, mgr.Start(ctx))
	}
}

// countJobs counts how many Jobs of each name are ever created in the namespace.
func (s *story) countJobs() (count func() map[string]int) {
	s.Helper()
	w := s.Watch(s.Ctx, &batchv1.JobList{})
	const last = "last"
	counts := map[string]int{}
	var counting sync.WaitGroup
	counting.Go(func() {
		for event := range w.ResultChan() {
			if event.Type != watch.Added {
				continue
			}
			name := event.Object.(client.Object).GetName()
			if name == last {
				return
			}
			counts[name]++
		}
	})
	return func() map[string]int {
		s.Create(s.foreignJob(last)) // when it is seen, all that were created before have been counted
		counting.Wait()
		w.Stop()
		return counts
	}
}
