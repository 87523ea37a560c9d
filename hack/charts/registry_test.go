package main

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	containerregistry "github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/registry"
)

// Users install the charts from a registry: helm install podsequence oci://registry.example.com/charts/podsequence.
func TestTheChartsComeBackFromARegistryAsTheyWerePushed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(containerregistry.New(containerregistry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	remote := strings.TrimPrefix(server.URL, "http://") + "/charts"
	client, err := registry.NewClient(registry.ClientOptPlainHTTP(), registry.ClientOptWriter(io.Discard),
		registry.ClientOptCredentialsFile(filepath.Join(t.TempDir(), "none.json")))
	require.NoError(t, err)

	for _, chart := range []string{"podsequence", "podsequence-crds"} {
		packaging := action.NewPackage()
		packaging.Version, packaging.AppVersion, packaging.Destination = "1.2.3", "v1.2.3", t.TempDir()
		archive, err := packaging.Run(filepath.Join(charts, chart), nil)
		require.NoError(t, err)
		_, err = action.NewPushWithOpts(action.WithPushConfig(&action.Configuration{RegistryClient: client})).Run(archive, "oci://"+remote)
		require.NoError(t, err)

		pulled, err := client.Pull(remote + "/" + chart + ":1.2.3")
		require.NoError(t, err)
		packaged, err := os.ReadFile(archive)
		require.NoError(t, err)
		assert.Equal(t, packaged, pulled.Chart.Data, chart)
		assert.Equal(t, "v1.2.3", pulled.Chart.Meta.AppVersion)

		// Helm leaves out of an archive what .helmignore names, and what it does not know.
		fromSources, err := loader.LoadDir(filepath.Join(charts, chart))
		require.NoError(t, err)
		fromRegistry, err := loader.LoadFile(archive)
		require.NoError(t, err)
		assert.Len(t, fromRegistry.Templates, len(fromSources.Templates))
		assert.Len(t, fromRegistry.Files, len(fromSources.Files))
		assert.NotEmpty(t, fromRegistry.Schema)
	}
}
