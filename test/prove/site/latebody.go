package site

import (
	"context"
	"io"
	"sync"
	"time"
)

// lateBody delivers what another brings, in the same order, as late as its delay says at that time.
type lateBody struct {
	source io.ReadCloser
	delay  func() time.Duration
	closed func()

	chunks chan chunk
	rest   []byte
	err    error           // comes after the rest
	ctx    context.Context // of the watch
	stop   context.CancelFunc
	once   sync.Once
}

type chunk struct {
	bytes   []byte
	arrived time.Time
	err     error
}

func newLateBody(source io.ReadCloser, delay func() time.Duration, closed func()) *lateBody {
	b := &lateBody{source: source, delay: delay, closed: closed, chunks: make(chan chunk, 1024)}
	b.ctx, b.stop = context.WithCancel(context.Background())
	go b.fetch()
	return b
}

// fetch reads the source, so that it is known when everything arrived.
func (b *lateBody) fetch() {
	for {
		buffer := make([]byte, 32<<10)
		n, err := b.source.Read(buffer)
		select {
		case b.chunks <- chunk{bytes: buffer[:n], arrived: time.Now(), err: err}:
		case <-b.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements io.Reader.
func (b *lateBody) Read(into []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.rest, b.err = b.next()
	}
	n := copy(into, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *lateBody) next() ([]byte, error) {
	select {
	case c := <-b.chunks:
		select {
		case <-time.After(time.Until(c.arrived.Add(b.delay()))):
		case <-b.ctx.Done():
			return nil, io.ErrUnexpectedEOF
		}
		return c.bytes, c.err
	case <-b.ctx.Done():
		return nil, io.ErrUnexpectedEOF
	}
}

// cut breaks the stream: what was not delivered is lost.
func (b *lateBody) cut() { b.stop() }

// Close implements io.Closer.
func (b *lateBody) Close() error {
	b.stop()
	b.once.Do(b.closed)
	return b.source.Close()
}
