package ordercheck

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// recorder writes the history of all resources down. Its lock guards the records too.
type recorder struct {
	now func() time.Time

	mu      sync.Mutex
	history History
	changed chan struct{} // closed and replaced at each change, so that waiting for one takes no polling
}

// record is what the recorder knows of one resource. It may only be used under the recorder's lock.
type record struct {
	resource resource
	upTo     revision // every change up to here is recorded
	objects  map[types.UID]recorded
	gap      error // why nothing after upTo is recorded
}

// recorded is the newest that was seen of an object.
type recorded struct {
	revision revision
	facts    facts
}

func newRecorder(now func() time.Time) *recorder {
	return &recorder{now: now, changed: make(chan struct{})}
}

// begin opens the record of a resource with what a consistent list found.
func (r *recorder) begin(res resource, list *unstructured.UnstructuredList) (*record, error) {
	at, err := parseRevision(list.GetResourceVersion())
	if err != nil {
		return nil, fmt.Errorf("begin the record of %s: %w", res.name, err)
	}
	rec := &record{resource: res, objects: map[types.UID]recorded{}}
	for i := range list.Items {
		if err := r.write(rec, &list.Items[i], false); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rec.upTo = at
	r.history.start = max(r.history.start, at)
	return rec, nil
}

// write records that an object changed, or is gone.
func (r *recorder) write(rec *record, object *unstructured.Unstructured, deleted bool) error {
	at, err := parseRevision(object.GetResourceVersion())
	if err != nil {
		return fmt.Errorf("record a change of %s: %w", rec.resource.name, err)
	}
	now, err := rec.resource.read(object)
	if err != nil {
		return fmt.Errorf("record a change of %s: %w", rec.resource.name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(rec, object.GetUID(), recorded{revision: at, facts: now}, deleted)
	return nil
}

// put needs the lock. A change that the replay would not notice only moves the revision on.
func (r *recorder) put(rec *record, uid types.UID, now recorded, deleted bool) {
	rec.upTo = max(rec.upTo, now.revision)
	before, known := rec.objects[uid]
	if known && now.revision <= before.revision {
		return
	}
	if deleted {
		delete(rec.objects, uid)
	} else if known && now.facts.says(before.facts) {
		now.facts = before.facts
		rec.objects[uid] = now
		r.wake()
		return
	} else {
		rec.objects[uid] = now
	}
	r.history.events = append(r.history.events,
		now.facts.as(event{revision: now.revision, arrived: r.now(), deleted: deleted}))
	r.wake()
}

// wake needs the lock.
func (r *recorder) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// reach notes that every change up to a revision is recorded.
func (r *recorder) reach(rec *record, at revision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec.upTo = max(rec.upTo, at)
	r.wake()
}

// breakOff notes that no further change of the resource will be recorded.
func (r *recorder) breakOff(rec *record, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec.gap = err
	r.wake()
}
