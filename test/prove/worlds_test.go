package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWorldsKeepWhatWasPromised plays three worlds, which between them lose programs of ours, connections, and a kind. Whoever
// changes the engine, the feed or a controller plays more: make prove SEEDS=50.
func TestWorldsKeepWhatWasPromised(t *testing.T) {
	var out bytes.Buffer
	// The machine may be busy with other tests.
	err := run(t.Context(), []string{"-first=1", "-seeds=3", "-patience=2m", "-dir=" + t.TempDir()}, &out)
	require.NoError(t, err, out.String())
}
