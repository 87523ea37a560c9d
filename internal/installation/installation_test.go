package installation

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNamespaceIsThatOfThePodOrElseThatOfTheManifests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	assert.Equal(t, DefaultNamespace, namespaceIn(file), "no file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.Equal(t, DefaultNamespace, namespaceIn(file), "an empty file")
	require.NoError(t, os.WriteFile(file, []byte("ordering\n"), 0o600))
	assert.Equal(t, "ordering", namespaceIn(file))
}
