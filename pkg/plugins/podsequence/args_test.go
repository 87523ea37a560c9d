package podsequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestParseArgs(t *testing.T) {
	tests := map[string]struct {
		raw       string
		want      Args
		wantError string
	}{
		"no arguments have defaults": {
			raw: ``, want: Args{GatePrefixes: []string{DefaultGatePrefix}, InstallationNamespace: "podsequence-system", ExplainWaits: new(true), UnprobedReadySeconds: new(int32(5))},
		},
		"arguments given are kept": {
			raw:  `{"gatePrefixes": ["a.example.com/", "b.example.com/"], "installationNamespace": "ordering", "explainWaits": false, "unprobedReadySeconds": 0}`,
			want: Args{GatePrefixes: []string{"a.example.com/", "b.example.com/"}, InstallationNamespace: "ordering", ExplainWaits: new(false), UnprobedReadySeconds: new(int32(0))},
		},
		"a misspelt argument is told": {
			raw: `{"gatePrefix": ["a.example.com/"]}`, wantError: `unknown field "gatePrefix"`,
		},
		"a prefix without a slash is refused, with the fix": {
			raw: `{"gatePrefixes": ["a.example.com"]}`, wantError: `gatePrefixes[0]: "a.example.com" must be a DNS name followed by '/', such as podsequence.example.com/`,
		},
		"an empty prefix, which would allow every gate, is told": {
			raw: `{"gatePrefixes": ["a.example.com/", ""]}`, wantError: `gatePrefixes[1]: ""`,
		},
		"an installation that is no namespace is told": {
			raw: `{"installationNamespace": "a/b"}`, wantError: `installationNamespace: "a/b" is not the name of a namespace`,
		},
		"a negative time is refused": {
			raw: `{"unprobedReadySeconds": -1}`, wantError: `unprobedReadySeconds: -1 must be from 0 to 3600`,
		},
		"a time of more than an hour is refused": {
			raw: `{"unprobedReadySeconds": 3601}`, wantError: `unprobedReadySeconds: 3601 must be from 0 to 3600`,
		},
		"a prefix that is no name is told": {
			raw: `{"gatePrefixes": ["A B/"]}`, wantError: `gatePrefixes[0]: "A B/"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			args, err := parseArgs(&runtime.Unknown{Raw: []byte(test.raw)})
			if test.wantError != "" {
				require.ErrorContains(t, err, test.wantError)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, args)
		})
	}
	t.Run("no configuration at all has defaults", func(t *testing.T) {
		args, err := parseArgs(nil)
		require.NoError(t, err)
		assert.Equal(t, []string{DefaultGatePrefix}, args.GatePrefixes)
	})
}
