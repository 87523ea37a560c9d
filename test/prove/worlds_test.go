package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWorldsKeepWhatWasPromised plays three worlds, which between them lose programs of ours, connections, a kind, and the power of a
// node. In none of them has a program to act within two seconds, which on a busy machine it may not. Whoever changes the engine, the feed or a
// controller plays more: make prove SEEDS=50.
func TestWorldsKeepWhatWasPromised(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), []string{"-seed=71,135,230", "-sites=2", "-patience=2m", "-dir=" + t.TempDir()}, &out)
	require.NoError(t, err, out.String())
}
