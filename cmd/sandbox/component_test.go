package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kwok/pkg/utils/cel"
)

// Without learnTypes, the runtime ends this test with "concurrent map writes".
func TestStagesOfKwokAreReadAtTheSameTime(t *testing.T) {
	require.NoError(t, learnTypes())

	var readers errgroup.Group
	for _, object := range []any{(*corev1.Node)(nil), (*corev1.Pod)(nil), corev1.Node{}, corev1.Pod{}, corev1.Container{}, map[string]any{}} {
		readers.Go(func() error {
			_, err := cel.NewEnvironment(cel.EnvironmentConfig{
				Types:       cel.DefaultTypes,
				Conversions: cel.DefaultConversions,
				Methods:     cel.FuncsToMethods(cel.DefaultFuncs),
				Funcs:       cel.DefaultFuncs,
				Vars:        map[string]any{"self": object},
			})
			return err
		})
	}
	require.NoError(t, readers.Wait())
}
