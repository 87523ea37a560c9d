package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAFileIsReadAsItWasWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result")
	assert.Equal(t, 1, read(file, ""), "it is not there")
	require.Zero(t, write(file, "42"))
	assert.Zero(t, read(file, "42"))
	assert.Equal(t, 1, read(file, "43"))
	assert.Equal(t, 1, write(filepath.Join(file, "below-a-file"), "42"))
}

func TestTheRegistryHasAnImageOfEachTag(t *testing.T) {
	r := &registry{program: []byte("program"), blobs: map[digest.Digest]blob{}}
	server := httptest.NewServer(r.handler())
	t.Cleanup(server.Close)
	get := func(path string) (int, []byte) {
		response, err := http.Get(server.URL + path)
		require.NoError(t, err)
		content, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode, content
	}
	layers := map[digest.Digest]bool{}
	for _, tag := range []string{"v1", "v2", "v1"} {
		code, content := get("/v2/app/manifests/" + tag)
		require.Equal(t, http.StatusOK, code)
		var manifest v1.Manifest
		require.NoError(t, json.Unmarshal(content, &manifest))
		layers[manifest.Layers[0].Digest] = true
		for _, blob := range append(manifest.Layers, manifest.Config) {
			code, content := get("/v2/app/blobs/" + blob.Digest.String())
			require.Equal(t, http.StatusOK, code)
			assert.Equal(t, blob.Digest, digest.FromBytes(content))
		}
		code, again := get("/v2/app/manifests/" + digest.FromBytes(content).String())
		assert.Equal(t, http.StatusOK, code)
		assert.Equal(t, content, again)
	}
	assert.Len(t, layers, 2)
	code, _ := get("/v2/app/blobs/" + digest.FromString("absent").String())
	assert.Equal(t, http.StatusNotFound, code)
}

func TestServeIsReadyOnceItIsOpenedAndExitsWhenItIsAsked(t *testing.T) {
	s := newServer()
	ask := func(path string) int {
		recorder := httptest.NewRecorder()
		s.handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		return recorder.Code
	}
	assert.Equal(t, http.StatusServiceUnavailable, ask("/ready"))
	assert.Equal(t, http.StatusOK, ask("/open"))
	s.open() // once more
	assert.Equal(t, http.StatusOK, ask("/ready"))
	assert.Equal(t, http.StatusOK, ask("/exit"))
	assert.Equal(t, 7, <-s.codes)
}
