//go:build linux

package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testChildren are all children of the test process: whoever waits for any takes those of others, too.
var testChildren = sync.OnceValue(newChildren)

func TestChildrenReportHowTheyEnded(t *testing.T) {
	tests := map[string]struct {
		script  string
		wantErr string
	}{
		"with success":   {script: "exit 0"},
		"with a failure": {script: "exit 3", wantErr: "exit code 3"},
		"by a signal":    {script: "kill -KILL $$", wantErr: "killed by killed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			output, err := os.Create(filepath.Join(t.TempDir(), "output"))
			require.NoError(t, err)
			defer func() { _ = output.Close() }()
			_, ended, err := testChildren().start("/bin/sh", []string{"sh", "-c", tt.script}, output)
			require.NoError(t, err)
			if err := <-ended; tt.wantErr == "" {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, tt.wantErr)
			}
		})
	}
}

func TestAStoppedKubeletStaysStopped(t *testing.T) {
	k := &kubelet{}
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	require.NoError(t, err)
	defer func() { _ = output.Close() }()
	starts := make(chan struct{})
	go func() { // as keepKubelet does
		for range 2 {
			k.wait()
			pid, ended, err := testChildren().start("/bin/sh", []string{"sh", "-c", "sleep 3600"}, output)
			if err != nil {
				return
			}
			k.started(pid)
			starts <- struct{}{}
			_ = k.run(ended) // The error is that it was killed.
		}
	}()
	<-starts
	k.stop()
	require.Eventually(t, func() bool {
		k.lock.Lock()
		defer k.lock.Unlock()
		return k.changed != nil // Whoever starts it waits for a change.
	}, time.Minute, time.Millisecond)
	assert.Zero(t, k.pid)
	k.allow()
	<-starts
	k.stop()
}
