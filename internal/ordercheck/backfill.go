package ordercheck

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// maxBackfill is how many revisions a gap may span to be filled: each costs a list.
const maxBackfill = 3000

// backfill recovers the changes that a watch can no longer deliver. A restarted API server has forgotten all of them,
// but etcd keeps every revision until it is compacted, minutes later, and a list can ask for exactly one of them. So
// listing each revision of the gap in turn shows every change in it: a revision is one write. If that cannot be had, the
// changes are lost.
func (s *stream) backfill(ctx context.Context) error {
	newest, err := s.resource.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list %s: %w", s.resource.name, err)
	}
	end, err := parseRevision(newest.GetResourceVersion())
	if err != nil {
		return &lostError{fmt.Errorf("list %s: %w", s.resource.name, err)}
	}
	begin := s.position()
	if end > begin+maxBackfill {
		return &lostError{fmt.Errorf("changes of %s after resource version %s have expired, %d behind the newest",
			s.resource.name, begin, end-begin)}
	}
	for at := begin + 1; at <= end; at++ {
		if err := s.backfillOne(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) backfillOne(ctx context.Context, at revision) error {
	list, err := s.resource.client.List(ctx, metav1.ListOptions{
		ResourceVersion:      at.String(),
		ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	})
	if expired(err) {
		return &lostError{fmt.Errorf("changes of %s at resource version %s have expired for good: %w",
			s.resource.name, at, err)}
	}
	if err != nil {
		return fmt.Errorf("list %s at resource version %s: %w", s.resource.name, at, err)
	}
	listed := sets.New[types.UID]()
	for i := range list.Items {
		listed.Insert(list.Items[i].GetUID())
		if err := s.backfillObject(&list.Items[i]); err != nil {
			return err
		}
	}
	s.recorder.reachWithout(s.record, at, listed)
	return nil
}

// backfillObject reads an object only if it changed.
func (s *stream) backfillObject(object *unstructured.Unstructured) error {
	s.recorder.mu.Lock()
	before, known := s.objects[object.GetUID()]
	s.recorder.mu.Unlock()
	if known && before.revision.String() == object.GetResourceVersion() {
		return nil
	}
	if err := s.recorder.write(s.record, object, false); err != nil {
		return &lostError{err}
	}
	return nil
}

// reachWithout notes that every change up to a revision is recorded, the last being that unlisted objects are gone.
func (r *recorder) reachWithout(rec *record, at revision, listed sets.Set[types.UID]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, object := range rec.objects {
		if !listed.Has(uid) {
			r.put(rec, uid, recorded{revision: at, facts: object.facts}, true)
		}
	}
	rec.upTo = max(rec.upTo, at)
	r.wake()
}
