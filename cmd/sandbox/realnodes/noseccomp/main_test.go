package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnlyTheSeccompProfileIsDropped(t *testing.T) {
	tests := map[string]struct{ spec, want string }{
		"with a profile": {
			spec: `{"process": {"args": ["a"]}, "linux": {"seccomp": {"defaultAction": "SCMP_ACT_ERRNO"}, "rootfsPropagation": "shared"}}`,
			want: `{"process": {"args": ["a"]}, "linux": {"rootfsPropagation": "shared"}}`,
		},
		"without one": {
			spec: `{"process": {"args": ["a"]}, "linux": {"maskedPaths": ["/proc/kcore"]}, "unknown": 12345678901234567890}`,
			want: `{"process": {"args": ["a"]}, "linux": {"maskedPaths": ["/proc/kcore"]}, "unknown": 12345678901234567890}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.json")
			require.NoError(t, os.WriteFile(file, []byte(tt.spec), 0o600))
			require.NoError(t, dropProfile(file))
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, string(content))
		})
	}
}
