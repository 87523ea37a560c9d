package main

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestControllersThatRun(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"all if nothing is said": {
			want: []string{podSequences, sequentialJobs, podGroups, deploymentCoordinations},
		},
		"those that are named": {
			args: []string{"--controllers=podsequence,podgroup"},
			want: []string{podSequences, podGroups},
		},
		"those that are named by flags of their own": {
			args: []string{"--controllers=podsequence", "--controllers=podgroup"},
			want: []string{podSequences, podGroups},
		},
		"all but one, as kube-controller-manager takes it": {
			args: []string{"--controllers=*,-sequentialjob"},
			want: []string{podSequences, podGroups, deploymentCoordinations},
		},
		"all but one, in short": {
			args: []string{"--controllers=-sequentialjob"},
			want: []string{podSequences, podGroups, deploymentCoordinations},
		},
		"all but those that several flags leave out": {
			args: []string{"--controllers=-sequentialjob", "--controllers=-podgroup"},
			want: []string{podSequences, deploymentCoordinations},
		},
		"one that is named, and another left out all the same": {
			args: []string{"--controllers=podgroup,-sequentialjob"},
			want: []string{podGroups},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := defaultOptions()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.addFlags(flags)
			require.NoError(t, flags.Parse(tc.args))
			require.NoError(t, o.validate())
			assert.ElementsMatch(t, tc.want, enabledControllers(o.controllers).UnsortedList())
		})
	}
}
