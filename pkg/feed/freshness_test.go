package feed

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// server answers the questions of a freshness under test.
type server struct {
	now, lastChange atomic.Int64
	asked           atomic.Int64
	failing         atomic.Bool
}

func (s *server) newest(context.Context) (now, lastChange string, err error) {
	s.asked.Add(1)
	if s.failing.Load() {
		return "", "", errors.New("the server is down")
	}
	if last := s.lastChange.Load(); last > 0 {
		lastChange = strconv.FormatInt(last, 10)
	}
	return strconv.FormatInt(s.now.Load(), 10), lastChange, nil
}

// run starts a freshness in a bubble of its own, whose time passes only when nothing else can happen.
func run(t *testing.T, story func(t *testing.T, s *server, f *freshness, advances *atomic.Int64)) {
	synctest.Test(t, func(t *testing.T) {
		s, advances := &server{}, &atomic.Int64{}
		f := newFreshness(s.newest, func() { advances.Add(1) })
		go f.run(t.Context())
		story(t, s, f, advances)
	})
}

func TestFreshness(t *testing.T) {
	tests := map[string]func(t *testing.T, s *server, f *freshness, advances *atomic.Int64){
		"what the watch has brought is known without a question": func(t *testing.T, s *server, f *freshness, _ *atomic.Int64) {
			f.brought("50")
			assert.True(t, f.reached("50"))
			assert.True(t, f.reached("9"), "versions are numbers")
			require.NoError(t, f.await(t.Context(), "50"))
			assert.Zero(t, s.asked.Load())
		},
		"while the watch is quiet a question tells that nothing is missing": func(t *testing.T, s *server, f *freshness, advances *atomic.Int64) {
			f.brought("50")
			s.now.Store(100)
			s.lastChange.Store(50)
			assert.False(t, f.reached("90"))
			before := advances.Load()
			f.want("90")
			synctest.Wait()
			assert.True(t, f.reached("90"))
			assert.Greater(t, advances.Load(), before)
		},
		"a change that the watch has not brought yet is waited for": func(t *testing.T, s *server, f *freshness, _ *atomic.Int64) {
			f.brought("50")
			s.now.Store(100)
			s.lastChange.Store(60)
			f.want("90")
			synctest.Wait()
			assert.False(t, f.reached("90"))
			f.brought("60")
			synctest.Wait()
			assert.True(t, f.reached("90"))
		},
		"all who wait share one question": func(t *testing.T, s *server, f *freshness, _ *atomic.Int64) {
			f.brought("50")
			s.now.Store(1000)
			s.lastChange.Store(50)
			for version := range 500 {
				f.want(strconv.Itoa(100 + version))
			}
			synctest.Wait()
			assert.True(t, f.reached("599"))
			assert.Equal(t, int64(1), s.asked.Load())
		},
		"an answer that is too old is followed by another question": func(t *testing.T, s *server, f *freshness, _ *atomic.Int64) {
			s.now.Store(100)
			f.want("90")
			synctest.Wait()
			s.now.Store(300)
			require.NoError(t, f.await(t.Context(), "200"))
			assert.Equal(t, int64(2), s.asked.Load())
		},
		"a question that fails is asked again": func(t *testing.T, s *server, f *freshness, _ *atomic.Int64) {
			s.failing.Store(true)
			f.want("90")
			synctest.Wait()
			assert.False(t, f.reached("90"))
			s.failing.Store(false)
			s.now.Store(100)
			require.NoError(t, f.await(t.Context(), "90"))
		},
		"a question that fails is dropped when the watch answers it": func(t *testing.T, s *server, f *freshness, _ *atomic.Int64) {
			expectDropped(t, s, f, func() { f.brought("90") })
		},
		"a question that fails is dropped when the kind is gone": func(t *testing.T, s *server, f *freshness, _ *atomic.Int64) {
			expectDropped(t, s, f, func() { f.setAbsent(true) })
		},
		"without the kind nothing can be missing": func(t *testing.T, s *server, f *freshness, _ *atomic.Int64) {
			f.setAbsent(true)
			assert.True(t, f.reached("90"))
			f.setAbsent(false)
			assert.False(t, f.reached("90"))
			assert.Zero(t, s.asked.Load())
		},
		"who waits is let go when its time is over": func(t *testing.T, s *server, f *freshness, _ *atomic.Int64) {
			s.failing.Store(true)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			assert.ErrorIs(t, f.await(ctx, "90"), context.Canceled)
		},
	}
	for name, story := range tests {
		t.Run(name, func(t *testing.T) { run(t, story) })
	}
}

// expectDropped asks in vain, and expects no question any more after what makes an answer needless.
func expectDropped(t *testing.T, s *server, f *freshness, answer func()) {
	s.failing.Store(true)
	f.want("90")
	synctest.Wait()
	answer()
	time.Sleep(5 * time.Second)
	synctest.Wait()
	before := s.asked.Load()
	time.Sleep(time.Hour)
	synctest.Wait()
	assert.Equal(t, before, s.asked.Load())
}
