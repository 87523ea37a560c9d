package outage

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

func TestAwaitSaysOnceAMinuteWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
		began := time.Now()
		ask := func(context.Context) error {
			if time.Since(began) < 150*time.Second {
				return errors.New("connection refused")
			}
			return nil
		}
		require.NoError(t, Await(ctx, "api.example.com", ask))
		assert.Less(t, time.Since(began), 153*time.Second)
		assert.Equal(t, 3, strings.Count(log.String(), "Waiting for the API server"), log.String())
		assert.Equal(t, 1, strings.Count(log.String(), "The API server answers"), log.String())

		log.Reset()
		require.NoError(t, Await(ctx, "api.example.com", func(context.Context) error { return nil }))
		assert.Empty(t, log.String(), "it did not have to wait")

		ended, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		assert.Error(t, Await(ended, "api.example.com", func(context.Context) error { return errors.New("connection refused") }))
	})
}
