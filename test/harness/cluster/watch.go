package cluster

import (
	"context"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/tools/sandbox/retrywatch"
)

// Watch fills the list with the objects of its kind in the story's namespace, and returns all later changes of them.
func (s *Story) Watch(ctx context.Context, list client.ObjectList) watch.Interface {
	s.Helper()
	changes, err := retrywatch.Start(ctx, s.API, list, client.InNamespace(s.Namespace))
	require.NoError(s, err)
	return changes
}
