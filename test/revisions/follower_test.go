package revisions

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/revisions/revisionstest"
)

const (
	podA     = "/registry/pods/shop/a"
	sequence = "/registry/scheduling.example.com/podsequences/shop/s"
)

// pod is labelled v=VERSION.
func pod(version string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", Labels: map[string]string{"v": version}},
	}
}

// keep is what the tests keep of any object.
func keep[O metav1.Object](object O) string {
	return object.GetName() + " " + object.GetLabels()["v"] + " at " + object.GetResourceVersion()
}

// record is what a follower of pods and PodSequences took.
type record struct {
	*Follower[string]
	t     *testing.T
	taken []Change[string]
}

func follow(t *testing.T, etcd *revisionstest.Etcd) *record {
	t.Helper()
	r := &record{t: t}
	var err error
	r.Follower, err = Follow(t.Context(), etcd.Config(), func(c Change[string]) {
		assert.NotZero(t, c.Arrived)
		c.Arrived = time.Time{}
		r.taken = append(r.taken, c)
	}, KindOf("pods", keep[*corev1.Pod]), KindOf("scheduling.example.com/podsequences", keep[*v1alpha1.PodSequence]))
	require.NoError(t, err)
	t.Cleanup(r.Stop)
	return r
}

// expect catches up and compares what has been taken.
func (r *record) expect(want ...Change[string]) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(r.t, r.CatchUp(ctx))
	assert.Equal(r.t, want, r.seen())
}

func (r *record) seen() []Change[string] {
	var taken []Change[string]
	r.View(func(Revision) { taken = r.taken })
	return taken
}

func TestFollowerTakesWhatThereIsAndThenEveryChange(t *testing.T) {
	etcd := revisionstest.StartEtcd(t)
	etcd.PutRaw("/registry/leases/x", "some other kind") // revision 2
	etcd.PutRaw("/registry/podtemplates/shop/a", "one of a similar name")
	etcd.Put(podA, pod("1"))
	etcd.Put(podA, pod("2")) // revision 5
	r := follow(t, etcd)
	r.expect(Change[string]{Revision: 5, Object: "a 2 at 5"})
	assert.Equal(t, Revision(5), r.Start())

	etcd.Put(podA, pod("3"))
	etcd.Delete(podA)
	etcd.PutRaw("/registry/leases/x", "not read")
	etcd.Put(podA, pod("4")) // another of the name
	etcd.Put(sequence, &v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{Name: "s"}})
	r.expect(
		Change[string]{Revision: 5, Object: "a 2 at 5"},
		Change[string]{Revision: 6, Object: "a 3 at 6", Before: "a 2 at 5"},
		Change[string]{Revision: 7, Object: "a 3 at 6", Before: "a 3 at 6", Deleted: true},
		Change[string]{Revision: 9, Object: "a 4 at 9"},
		Change[string]{Revision: 10, Object: "s  at 10"},
	)
	etcd.PutRaw("anything", "at all")
	r.expect(r.seen()...)
	r.View(func(upTo Revision) { assert.Equal(t, Revision(11), upTo, "what is not followed counts") })
}

func TestFollowerMissesNothingWhileEtcdIsDown(t *testing.T) {
	etcd := revisionstest.StartEtcd(t)
	etcd.Put(podA, pod("1"))
	r := follow(t, etcd)
	for _, version := range []string{"2", "3"} {
		etcd.Cut()
		etcd.Put(podA, pod(version))
		etcd.Delete(podA)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		assert.ErrorContains(t, r.CatchUp(ctx), "ask etcd for its revision")
		cancel()
		etcd.Reconnect()
	}
	r.expect(
		Change[string]{Revision: 2, Object: "a 1 at 2"},
		Change[string]{Revision: 3, Object: "a 2 at 3", Before: "a 1 at 2"},
		Change[string]{Revision: 4, Object: "a 2 at 3", Before: "a 2 at 3", Deleted: true},
		Change[string]{Revision: 5, Object: "a 3 at 5"},
		Change[string]{Revision: 6, Object: "a 3 at 5", Before: "a 3 at 5", Deleted: true},
	)
}

func TestFollowerSaysWhatIsLost(t *testing.T) {
	tests := map[string]struct {
		lose func(*revisionstest.Etcd)
		want string
	}{
		"what was compacted before it was seen": {
			lose: func(etcd *revisionstest.Etcd) {
				etcd.Put(podA, pod("2"))
				etcd.Compact(etcd.Put(podA, pod("3")))
			},
			want: "watch etcd after resource version 2: etcdserver: mvcc: required revision has been compacted",
		},
		"what cannot be read": {
			lose: func(etcd *revisionstest.Etcd) { etcd.PutRaw(podA, "k8s\x00nonsense") },
			want: "read /registry/pods/shop/a at resource version 3: ",
		},
		"what is stored as another type than expected": {
			lose: func(etcd *revisionstest.Etcd) {
				etcd.Put(podA, &corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}})
			},
			want: "it is stored as a /v1, Kind=Node, which is no *v1.Pod",
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			etcd := revisionstest.StartEtcd(t)
			etcd.Put(podA, pod("1"))
			r := follow(t, etcd)
			etcd.Cut()
			test.lose(etcd)
			etcd.Reconnect()
			assert.ErrorContains(t, r.Await(t.Context(), func() bool { return false }), test.want)
			etcd.Put(podA, pod("4"))
			assert.ErrorContains(t, r.CatchUp(t.Context()), test.want)
			assert.Len(t, r.seen(), 1, "nothing can be told from what comes after a gap")
			r.View(func(upTo Revision) { assert.Equal(t, Revision(2), upTo) })
		})
	}
}

func TestFollowerThatCannotReadTheStartDoesNotStart(t *testing.T) {
	etcd := revisionstest.StartEtcd(t)
	etcd.PutRaw(podA, "nonsense")
	_, err := Follow(t.Context(), etcd.Config(), func(Change[string]) {}, KindOf("pods", keep[*corev1.Pod]))
	assert.ErrorContains(t, err, "read /registry/pods/shop/a at resource version 2")
}

func TestCatchUpWaitsForWhatIsBehind(t *testing.T) {
	etcd := revisionstest.StartEtcd(t)
	let := make(chan struct{})
	f, err := Follow(t.Context(), etcd.Config(), func(Change[string]) { <-let }, KindOf("pods", keep[*corev1.Pod]))
	require.NoError(t, err)
	t.Cleanup(f.Stop)
	etcd.Put(podA, pod("1"))
	caughtUp := make(chan error)
	go func() { caughtUp <- f.CatchUp(t.Context()) }()
	select {
	case err := <-caughtUp:
		t.Fatal("caught up with what it has not seen; error:", err)
	case let <- struct{}{}:
	}
	assert.NoError(t, <-caughtUp)
}

func TestFollowWaitsForEtcdAsLongAsItMay(t *testing.T) {
	etcd := revisionstest.StartEtcd(t)
	etcd.Cut()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := Follow(ctx, etcd.Config(), func(Change[string]) {}, KindOf("pods", keep[*corev1.Pod]))
	assert.ErrorContains(t, err, "ask etcd for its revision")
	etcd.Reconnect()
	follow(t, etcd)
}

func TestFollowerLeavesNothingRunning(t *testing.T) {
	etcd := revisionstest.StartEtcd(t)
	etcd.Put(podA, pod("1"))
	running := goleak.IgnoreCurrent()
	r := follow(t, etcd)
	r.Stop()
	assert.ErrorContains(t, r.CatchUp(t.Context()), "the watch of etcd was stopped")
	goleak.VerifyNone(t, running)
}

func TestVersionsAreReadFromTheNewestBack(t *testing.T) {
	etcd := revisionstest.StartEtcd(t)
	const config = "/registry/configmaps/shop/x" // of no kind that is followed
	etcd.PutRaw(config, "older")                 // revision 2
	r := follow(t, etcd)
	etcd.PutRaw(config, "old")
	etcd.Delete(config)
	last := Revision(etcd.PutRaw(config, "new"))
	etcd.PutRaw(config, "newer")
	r.expect()
	read := func(key string, upTo Revision, until string) ([]string, error) {
		var versions []string
		err := r.Versions(t.Context(), key, upTo, func(value []byte, at Revision) bool {
			versions = append(versions, string(value)+" at "+at.String())
			return string(value) != until
		})
		return versions, err
	}
	all, err := read(config, last, "")
	assert.Equal(t, []string{"new at 5", "old at 3", "older at 2"}, all)
	assert.ErrorIs(t, err, ErrBeforeStart)
	some, err := read(config, last-1, "old")
	assert.Equal(t, []string{"old at 3"}, some, "it was deleted at that revision")
	assert.NoError(t, err)
	none, err := read("/registry/configmaps/shop", last, "")
	assert.Empty(t, none)
	assert.ErrorIs(t, err, ErrBeforeStart)
	etcd.Compact(int64(last))
	rest, err := read(config, last, "")
	assert.Equal(t, []string{"new at 5"}, rest)
	assert.ErrorContains(t, err, "compacted")
}
