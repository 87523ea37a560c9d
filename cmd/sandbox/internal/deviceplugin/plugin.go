// Package deviceplugin offers devices to a kubelet, as the driver of a GPU does. Its devices are only names.
package deviceplugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"example.com/podsequence/cmd/sandbox/internal/socket"
)

// retryAfter is how long the plugin waits before it registers again with a kubelet that did not answer.
const retryAfter = 500 * time.Millisecond

// Plugin is a device plugin for one extended resource. A container that asks for the resource finds the names of its devices in
// the environment variable GPUS.
type Plugin struct {
	// Resource is the extended resource, for example example.com/gpu.
	Resource string
	// Devices is how many devices the node has.
	Devices int
	// Dir is the directory of the kubelet's socket; the plugin makes its own socket there.
	Dir string
	// Say reports what the plugin does: READY when a kubelet knows its devices, and what leads to it.
	Say func(word string, details ...any)

	ready atomic.Bool
}

// Ready reports whether the kubelet that runs now knows the devices.
func (p *Plugin) Ready() bool { return p.ready.Load() }

// Run registers the resource and serves it until ctx ends. A kubelet forgets all plugins when it starts and removes their
// sockets, so Run registers again whenever the kubelet makes its socket anew.
func (p *Plugin) Run(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch for kubelets: %w", err)
	}
	defer func() { _ = watcher.Close() }()
	if err := watcher.Add(p.Dir); err != nil {
		return fmt.Errorf("watch for kubelets: %w", err)
	}
	kubelet := filepath.Join(p.Dir, filepath.Base(api.KubeletSocket))

	var server *grpc.Server
	stop := func() {
		p.ready.Store(false)
		if server != nil {
			server.Stop()
			server = nil
		}
	}
	defer stop()

	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-watcher.Errors:
			return fmt.Errorf("watch for kubelets: %w", err)
		case event := <-watcher.Events:
			if event.Name != kubelet {
				continue
			}
			if event.Has(fsnotify.Remove) {
				p.Say("UNREGISTERED", p.Resource)
				stop()
			}
			if event.Has(fsnotify.Create) {
				retry.Reset(0)
			}
		case <-retry.C:
			stop()
			if _, err := os.Stat(kubelet); errors.Is(err, fs.ErrNotExist) {
				continue // its creation is an event
			}
			if server, err = p.serve(); err != nil {
				return err
			}
			if err := p.register(ctx, kubelet); err != nil {
				p.Say("REFUSED", err)
				retry.Reset(retryAfter)
				continue
			}
			p.Say("REGISTERED", p.Resource)
		}
	}
}

// socket is the name of the plugin's socket in Dir.
func (p *Plugin) socket() string { return strings.ReplaceAll(p.Resource, "/", "-") + ".sock" }

// serve answers at the plugin's socket. The kubelet connects to it while the plugin registers.
func (p *Plugin) serve() (*grpc.Server, error) {
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, &service{plugin: p})
	return server, socket.Serve(server, filepath.Join(p.Dir, p.socket()), p.Say)
}

func (p *Plugin) register(ctx context.Context, kubelet string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	_, err = api.NewRegistrationClient(connection).Register(ctx, &api.RegisterRequest{
		Version:      api.Version,
		Endpoint:     p.socket(),
		ResourceName: p.Resource,
	})
	return err
}

// service answers the kubelet.
type service struct {
	api.UnimplementedDevicePluginServer
	plugin *Plugin
}

func (s *service) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// ListAndWatch names the devices once, because they never change. The plugin is ready from here on.
func (s *service) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	response := &api.ListAndWatchResponse{}
	for i := range s.plugin.Devices {
		response.Devices = append(response.Devices, &api.Device{ID: fmt.Sprint("gpu-", i), Health: api.Healthy})
	}
	if err := stream.Send(response); err != nil {
		return err
	}
	s.plugin.Say("READY") // before the first probe that finds it so
	s.plugin.ready.Store(true)
	<-stream.Context().Done()
	return nil
}

func (s *service) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		devices := strings.Join(container.DevicesIds, ",")
		s.plugin.Say("ALLOCATED", devices)
		response.ContainerResponses = append(response.ContainerResponses, &api.ContainerAllocateResponse{
			Envs: map[string]string{"GPUS": devices},
		})
	}
	return response, nil
}
