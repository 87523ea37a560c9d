package deviceplugin

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func TestAPluginRegistersWithEachKubeletThatStarts(t *testing.T) {
	dir, err := os.MkdirTemp("", "devices") // t.TempDir is too long for the path of a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	say := func(word string, details ...any) { t.Log(append([]any{word}, details...)...) }
	plugin := &Plugin{Resource: "example.com/gpu", Devices: 2, Dir: dir, Say: say}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- plugin.Run(ctx) }()
	require.False(t, plugin.Ready(), "without a kubelet")

	for range 3 {
		kubelet := startKubelet(t, dir)
		require.Eventually(t, func() bool { return len(kubelet.devices) > 0 }, time.Minute, time.Millisecond)
		require.Len(t, <-kubelet.devices, 2)
		require.Eventually(t, plugin.Ready, time.Minute, time.Millisecond)

		response, err := kubelet.plugin.Allocate(t.Context(), &api.AllocateRequest{
			ContainerRequests: []*api.ContainerAllocateRequest{{DevicesIds: []string{"gpu-1"}}},
		})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"GPUS": "gpu-1"}, response.ContainerResponses[0].Envs)

		kubelet.server.Stop() // removes its socket
		require.Eventually(t, func() bool { return !plugin.Ready() }, time.Minute, time.Millisecond)
	}
	cancel()
	require.NoError(t, <-result)
}

// kubelet does what a kubelet does when a plugin registers: it connects to the plugin's socket and asks for the devices.
type kubelet struct {
	api.UnimplementedRegistrationServer
	dir     string
	server  *grpc.Server
	plugin  api.DevicePluginClient
	devices chan []*api.Device
}

func startKubelet(t *testing.T, dir string) *kubelet {
	k := &kubelet{dir: dir, server: grpc.NewServer(), devices: make(chan []*api.Device, 1)}
	// A kubelet that starts removes what is in the directory.
	sockets, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, socket := range sockets {
		require.NoError(t, os.Remove(socket))
	}
	listener, err := net.Listen("unix", filepath.Join(dir, filepath.Base(api.KubeletSocket)))
	require.NoError(t, err)
	api.RegisterRegistrationServer(k.server, k)
	go func() { _ = k.server.Serve(listener) }()
	t.Cleanup(k.server.Stop)
	return k
}

func (k *kubelet) Register(_ context.Context, request *api.RegisterRequest) (*api.Empty, error) {
	target := "unix://" + filepath.Join(k.dir, request.Endpoint)
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	k.plugin = api.NewDevicePluginClient(connection)
	stream, err := k.plugin.ListAndWatch(context.Background(), &api.Empty{})
	if err != nil {
		return nil, err
	}
	response, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	k.devices <- response.Devices
	return &api.Empty{}, nil
}
