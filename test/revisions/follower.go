// Package revisions follows the objects of a cluster through the revisions of its etcd.
//
// etcd is the API server's own history. It has every write, of all kinds in one order, and a resource version is the
// revision of a write. The watches that the API server offers are copies of it in memory, one for each kind, which a
// restart empties; what they would have reported cannot be asked for later. A watch of etcd resumes wherever it was, until the
// API server compacts the revision: five minutes later at the earliest.
package revisions

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// reconnect is patient but never slow: by default pauses grow to two minutes while etcd is down.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: time.Second},
	MinConnectTimeout: 5 * time.Second,
}

// ErrBeforeStart says that only what was deleted before the start can have been stored under a key before.
var ErrBeforeStart = errors.New("nothing is known of what was deleted before the start")

// Revision is a revision of etcd, which is a resource version. None is zero.
type Revision int64

// String is the revision as a resource version.
func (r Revision) String() string { return strconv.FormatInt(int64(r), 10) }

// Change is a write of one object.
type Change[F any] struct {
	// Revision is that of the write. For what was there at the start it is that of the last write before.
	Revision Revision
	// Arrived is when the follower heard of it.
	Arrived time.Time
	// Deleted says that the object is gone.
	Deleted bool
	// Object is what it has become, or what it last was.
	Object F
	// Before is what it was before the write, the zero value if it was not there.
	Before F
}

// Follower follows some kinds of object of one cluster. It only ever reads.
type Follower[F any] struct {
	client *clientv3.Client
	kinds  []Kind[F]
	take   func(Change[F])
	start  Revision
	stop   context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	objects map[string]F  // by key, as of upTo
	upTo    Revision      // every change up to here has been taken
	gap     error         // why nothing after upTo will be
	changed chan struct{} // closed and replaced at each change, so that waiting for one takes no polling
	// deletions are, by key and also of keys of no kind that is followed, the revisions since the start that deleted it.
	deletions map[string][]Revision
}

// Follow returns once take has been given what there is; then it gives it every change, in order, until Stop. It waits
// for an etcd that does not answer yet until the context ends, which has no say later. Calls of take, and of what is given
// to Await and View, do not overlap, so that these need no lock among themselves.
func Follow[F any](ctx context.Context, config clientv3.Config, take func(Change[F]), kinds ...Kind[F]) (*Follower[F], error) {
	config.MaxUnaryRetries = math.MaxInt32
	config.DialOptions = append(slices.Clone(config.DialOptions), grpc.WithConnectParams(reconnect))
	config.Logger = zap.NewNop() // all that matters is returned
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of etcd: %w", err)
	}
	f := &Follower[F]{
		client: client, kinds: kinds, take: take,
		ended: make(chan struct{}), objects: map[string]F{}, changed: make(chan struct{}),
		deletions: map[string][]Revision{},
	}
	if err := f.begin(ctx); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	f.stop = stop
	go f.run(running)
	return f, nil
}

// Start is the revision up to which objects were there before anything was followed.
func (f *Follower[F]) Start() Revision { return f.start }

// Stop returns when nothing is given to take any more.
func (f *Follower[F]) Stop() {
	f.stop()
	<-f.ended
	_ = f.client.Close() // it has ended all the same
}

// begin takes what there is, as of one revision.
func (f *Follower[F]) begin(ctx context.Context) error {
	newest, err := f.newest(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, kind := range f.kinds {
		found, err := f.client.Get(ctx, kind.prefix, clientv3.WithPrefix(), clientv3.WithRev(int64(newest)),
			clientv3.WithSort(clientv3.SortByModRevision, clientv3.SortAscend))
		if err != nil {
			return fmt.Errorf("list %s: %w", kind.prefix, err)
		}
		now := time.Now()
		for _, kv := range found.Kvs {
			if err := f.put(kv, now); err != nil {
				return err
			}
		}
	}
	f.start, f.upTo = newest, newest
	return nil
}

// newest returns a revision that no write before the call is after.
func (f *Follower[F]) newest(ctx context.Context) (Revision, error) {
	found, err := f.client.Get(ctx, registry, clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("ask etcd for its revision: %w", err)
	}
	return Revision(found.Header.Revision), nil
}

// run watches every key, also those of no interest: as each revision is a write, the newest one seen then says up to
// where everything has been. The client resumes a watch that breaks off.
func (f *Follower[F]) run(ctx context.Context) {
	defer close(f.ended)
	everything := f.client.Watch(ctx, "", clientv3.WithPrefix(), clientv3.WithRev(int64(f.start)+1))
	for response := range everything {
		if err := f.takeAll(response); err != nil {
			f.breakOff(err)
			return
		}
	}
	f.breakOff(errors.New("the watch of etcd was stopped"))
}

func (f *Follower[F]) takeAll(response clientv3.WatchResponse) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := response.Err(); err != nil {
		return fmt.Errorf("watch etcd after resource version %s: %w", f.upTo, err)
	}
	now := time.Now()
	for _, event := range response.Events {
		if event.Type == clientv3.EventTypeDelete {
			f.remove(event.Kv, now)
		} else if err := f.put(event.Kv, now); err != nil {
			// It is lost, whatever comes after it.
			return err
		}
		f.upTo = Revision(event.Kv.ModRevision)
	}
	f.wake()
	return nil
}

// put needs the lock.
func (f *Follower[F]) put(kv *mvccpb.KeyValue, now time.Time) error {
	key, at := string(kv.Key), Revision(kv.ModRevision)
	kind := f.kindOf(key)
	if kind == nil {
		return nil
	}
	object, err := kind.read(kv.Value, at)
	if err != nil {
		return fmt.Errorf("read %s at resource version %s: %w", key, at, err)
	}
	before := f.objects[key]
	f.objects[key] = object
	f.take(Change[F]{Revision: at, Arrived: now, Object: object, Before: before})
	return nil
}

// remove needs the lock.
func (f *Follower[F]) remove(kv *mvccpb.KeyValue, now time.Time) {
	key := string(kv.Key)
	f.deletions[key] = append(f.deletions[key], Revision(kv.ModRevision))
	before, known := f.objects[key]
	if !known {
		return
	}
	delete(f.objects, key)
	f.take(Change[F]{Revision: Revision(kv.ModRevision), Arrived: now, Deleted: true, Object: before, Before: before})
}

// breakOff notes that nothing more will be taken.
func (f *Follower[F]) breakOff(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gap = err
	f.wake()
}

// wake needs the lock.
func (f *Follower[F]) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// CatchUp returns once every write before the call has been taken. If one will never be, it says why.
func (f *Follower[F]) CatchUp(ctx context.Context) error {
	f.mu.Lock()
	gap := f.gap
	f.mu.Unlock()
	if gap != nil {
		return gap
	}
	newest, err := f.newest(ctx)
	if err != nil {
		return err
	}
	var seen Revision
	err = f.Await(ctx, func() bool {
		seen = f.upTo
		return seen >= newest
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("await resource version %s, having seen %s: %w", newest, seen, err)
	}
	return err
}

// Await returns once something is so, at a moment at which all changes of a revision have been taken. It fails if the
// context ends before, or if changes have been lost.
func (f *Follower[F]) Await(ctx context.Context, so func() bool) error {
	for {
		f.mu.Lock()
		is, gap, changed := so(), f.gap, f.changed
		f.mu.Unlock()
		switch {
		case is:
			return nil
		case gap != nil:
			return gap
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// View gives a look at what was taken, up to which revision.
func (f *Follower[F]) View(look func(upTo Revision)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	look(f.upTo)
}

// Versions calls look with each value that was stored under a key up to a revision, which the follower has taken. It begins with the
// newest, also of keys of no kind that is followed, and ends when look returns false. An error says why older values may be missing.
func (f *Follower[F]) Versions(ctx context.Context, key string, upTo Revision, look func(value []byte, at Revision) bool) error {
	for upTo > 0 {
		found, err := f.client.Get(ctx, key, clientv3.WithRev(int64(upTo)))
		if err != nil {
			return fmt.Errorf("read %s as of resource version %s: %w", key, upTo, err)
		}
		if len(found.Kvs) == 0 {
			deleted, known := f.lastDeleted(key, upTo)
			if !known {
				return ErrBeforeStart
			}
			upTo = deleted - 1
			continue
		}
		written := Revision(found.Kvs[0].ModRevision)
		if !look(found.Kvs[0].Value, written) {
			return nil
		}
		upTo = written - 1
	}
	return nil
}

// lastDeleted returns the last revision, up to one, that deleted a key, if there was one since the start.
func (f *Follower[F]) lastDeleted(key string, upTo Revision) (Revision, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var last Revision
	for _, deleted := range f.deletions[key] {
		if deleted <= upTo {
			last = max(last, deleted)
		}
	}
	return last, last > 0
}

// kindOf returns the kind that a key is of, and nil if that is not followed.
func (f *Follower[F]) kindOf(key string) *Kind[F] {
	for i := range f.kinds {
		if strings.HasPrefix(key, f.kinds[i].prefix) {
			return &f.kinds[i]
		}
	}
	return nil
}
