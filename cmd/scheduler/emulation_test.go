package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/version"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/util/compatibility"
)

func TestEmulatedVersion(t *testing.T) {
	ours := version.MustParse("v1.37.1")
	tests := map[string]struct {
		server  apiversion.Info
		want    string
		wantErr string
	}{
		"an older API server is emulated": {
			server: apiversion.Info{Major: "1", Minor: "34", GitVersion: "v1.34.4"},
			want:   "1.34",
		},
		"some providers write a plus": {
			server: apiversion.Info{Major: "1", Minor: "35+", GitVersion: "v1.35.4-provider.1"},
			want:   "1.35",
		},
		"an API server of the same minor version is not emulated": {
			server: apiversion.Info{Major: "1", Minor: "37", GitVersion: "v1.37.0"},
		},
		"a newer API server is not emulated": {
			server: apiversion.Info{Major: "1", Minor: "38", GitVersion: "v1.38.0"},
		},
		"an API server that emulates a version itself counts as that version": {
			server: apiversion.Info{Major: "1", Minor: "37", EmulationMajor: "1", EmulationMinor: "36"},
			want:   "1.36",
		},
		"a newer API server that emulates our version is not emulated": {
			server: apiversion.Info{Major: "1", Minor: "38", EmulationMajor: "1", EmulationMinor: "37"},
		},
		"an API server that is too old is refused": {
			server:  apiversion.Info{Major: "1", Minor: "33", GitVersion: "v1.33.9"},
			wantErr: "1.33 is too old for this podsequence-scheduler, which works with 1.34 and later: upgrade the cluster",
		},
		"a version without numbers is refused": {
			server:  apiversion.Info{Major: "", Minor: "", GitVersion: "v0.0.0-master"},
			wantErr: "set --emulated-version=1.MINOR",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := emulatedVersion(ours, test.server)
			if test.wantErr != "" {
				require.ErrorContains(t, err, test.wantErr)
				return
			}
			require.NoError(t, err)
			if test.want == "" {
				assert.Nil(t, got)
				return
			}
			assert.Equal(t, test.want, got.String())
		})
	}
}

func TestKubernetesCodeEmulatesAllVersionsThatWeDo(t *testing.T) {
	effective := compatibility.DefaultBuildEffectiveVersion()
	effective.SetEmulationVersion(effective.BinaryVersion().SubtractMinor(emulatedVersions))
	assert.Empty(t, effective.Validate())
}

// An API server that is not up yet is waited for, and the version that it then says is the one that the scheduler emulates.
func TestTheCommandAsksTheAPIServer(t *testing.T) {
	tests := map[string]struct {
		args      []string
		minor     string
		want      string
		wantAsked bool
		wantErr   string
	}{
		"which is older":              {args: []string{"--config=CONFIG"}, minor: "34", want: "[1.34]", wantAsked: true},
		"which is newer":              {args: []string{"--config=CONFIG"}, minor: "99", want: "[]", wantAsked: true},
		"which is too old":            {args: []string{"--config=CONFIG"}, minor: "30", wantAsked: true, wantErr: "1.30 is too old"},
		"which --master names":        {args: []string{"--master=URL"}, minor: "34", want: "[1.34]", wantAsked: true},
		"which --kubeconfig names":    {args: []string{"--kubeconfig=KUBECONFIG"}, minor: "34", want: "[1.34]", wantAsked: true},
		"unless told not to":          {args: []string{"--config=CONFIG", "--emulate-api-server=false"}, minor: "34", want: "[]"},
		"unless told what it is":      {args: []string{"--config=CONFIG", "--emulated-version=1.36"}, minor: "34", want: "[1.36]"},
		"unless it writes a file":     {args: []string{"--config=CONFIG", "--write-config-to=/dev/null"}, minor: "34", want: "[]"},
		"which it must know where is": {args: []string{"--kubeconfig=/nowhere"}, wantErr: "/nowhere"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { // one at a time: every command of cobra reads the flags of the process
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				assert.Equal(t, "/version", r.URL.Path)
				if asked.Add(1) == 1 {
					http.Error(w, "not up yet", http.StatusServiceUnavailable)
					return
				}
				_, err := fmt.Fprintf(w, `{"major":"1","minor":%q}`, test.minor)
				assert.NoError(t, err)
			}))
			defer server.Close()

			var got string
			err := run(t, server.URL, test.args, func(cmd *cobra.Command) { got = cmd.Flags().Lookup("emulated-version").Value.String() })
			assert.Equal(t, test.wantAsked, asked.Load() > 1)
			if test.wantErr != "" {
				require.ErrorContains(t, err, test.wantErr)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

// run runs a command with the flags of kube-scheduler that matter, and calls prepare with it after it has asked. It replaces the
// arguments URL, KUBECONFIG and CONFIG by the API server's URL and by files that lead to it.
func run(t *testing.T, url string, args []string, prepare func(*cobra.Command)) error {
	directory := t.TempDir()
	kubeconfig, config := filepath.Join(directory, "kubeconfig"), filepath.Join(directory, "config")
	require.NoError(t, os.WriteFile(kubeconfig, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: %q}}]
contexts: [{name: here, context: {cluster: here}}]
current-context: here
`, url), 0o600))
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 50}
`, kubeconfig), 0o600))

	command := &cobra.Command{SilenceUsage: true, SilenceErrors: true, RunE: func(*cobra.Command, []string) error { return nil }}
	for _, name := range []string{"config", "kubeconfig", "master", "write-config-to"} {
		command.Flags().String(name, "", "")
	}
	command.Flags().StringSlice("emulated-version", nil, "")
	command.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		prepare(cmd)
		return nil
	}
	addEmulation(command)
	placeholders := strings.NewReplacer("=URL", "="+url, "=KUBECONFIG", "="+kubeconfig, "=CONFIG", "="+config)
	for i, arg := range args {
		args[i] = placeholders.Replace(arg)
	}
	command.SetArgs(args)
	return command.Execute()
}
