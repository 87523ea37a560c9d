package csidriver

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

func TestADriverIsRegisteredOnceTheKubeletSaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		status *registration.RegistrationStatus
		want   bool
	}{
		"the kubelet has stored the driver":   {&registration.RegistrationStatus{PluginRegistered: true}, true},
		"the kubelet has refused the driver":  {&registration.RegistrationStatus{Error: "another driver has this name"}, false},
		"the kubelet has only asked for info": {},
	} {
		t.Run(name, func(t *testing.T) {
			driver, ended := start(t)
			socket := awaitSocket(t, driver)
			registrar := registration.NewRegistrationClient(dial(t, socket))
			info, err := registrar.GetInfo(t.Context(), &registration.InfoRequest{}, grpc.WaitForReady(true))
			require.NoError(t, err)
			require.Equal(t, registration.CSIPlugin, info.Type)
			require.Equal(t, "greetings", info.Name)
			answer, err := csi.NewNodeClient(dial(t, info.Endpoint)).NodeGetInfo(t.Context(), &csi.NodeGetInfoRequest{}, grpc.WaitForReady(true))
			require.NoError(t, err)
			require.Equal(t, "node-1", answer.NodeId)
			require.False(t, driver.Registered())

			if test.status != nil {
				_, err = registrar.NotifyRegistrationStatus(t.Context(), test.status)
				require.NoError(t, err)
			}
			require.Equal(t, test.want, driver.Registered())

			require.NoError(t, ended())
			require.False(t, driver.Registered())
			require.NoFileExists(t, socket)
		})
	}
}

// start runs a driver. The function it returns ends the driver.
func start(t *testing.T) (*Driver, func() error) {
	dir, err := os.MkdirTemp("", "csi") // t.TempDir is too long for the path of a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Mkdir(filepath.Join(dir, "plugins_registry"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plugins_registry", crashed), nil, 0o600))
	say := func(word string, details ...any) { t.Log(append([]any{word}, details...)...) }
	driver := &Driver{Name: "greetings", Version: "v1", Node: "node-1", KubeletDir: dir, Say: say}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	result := make(chan error, 1)
	go func() { result <- driver.Run(ctx) }()
	return driver, func() error { cancel(); return <-result }
}

// crashed is the registration socket of a driver that could not remove it.
const crashed = "greetings-1-reg.sock"

// awaitSocket returns the only registration socket, which is not that of the driver that crashed.
func awaitSocket(t *testing.T, driver *Driver) (socket string) {
	require.Eventually(t, func() bool {
		found, err := filepath.Glob(filepath.Join(driver.KubeletDir, "plugins_registry", "*"))
		if err != nil || len(found) != 1 || filepath.Base(found[0]) == crashed {
			return false
		}
		socket = found[0]
		return true
	}, time.Minute, time.Millisecond)
	return socket
}

func dial(t *testing.T, socket string) *grpc.ClientConn {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}
