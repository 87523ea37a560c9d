// Package csidriver is a CSI driver for ephemeral inline volumes. A volume of it is a directory of the node with one file. The
// driver registers itself with the kubelet, so it needs no node-driver-registrar beside it.
package csidriver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"example.com/podsequence/cmd/sandbox/internal/socket"
)

// File is the name of the file in a volume. It holds the driver's version and the names of the node and the pod.
const File = "greeting"

// Driver is a CSI driver on one node.
type Driver struct {
	// Name is the driver's name, as in the CSIDriver object.
	Name string
	// Version is what the driver writes into the file of a volume.
	Version string
	// Node is the node's name.
	Node string
	// KubeletDir is the kubelet's directory, at the same path in the driver's container as on the node.
	KubeletDir string
	// Say reports what the driver does: READY when the kubelet knows it, MOUNTED for each volume.
	Say func(word string, details ...any)

	registered atomic.Bool
}

// Registered reports whether the kubelet said that it knows the driver. Before that it refuses volumes of the driver.
func (d *Driver) Registered() bool { return d.registered.Load() }

// Run serves the driver until ctx ends. It ends the registration first, so that the kubelet asks no driver that is gone.
func (d *Driver) Run(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(d.endpoint()), 0o750); err != nil {
		return fmt.Errorf("make the driver's directory: %w", err)
	}
	services := grpc.NewServer()
	csi.RegisterIdentityServer(services, &identity{driver: d})
	csi.RegisterNodeServer(services, &node{driver: d})
	if err := socket.Serve(services, d.endpoint(), d.Say); err != nil {
		return err
	}
	defer services.Stop()

	// The kubelet registers what it finds in this directory, so this socket comes last.
	registrar := grpc.NewServer()
	registration.RegisterRegistrationServer(registrar, &registrationService{driver: d})
	path, err := d.registrationSocket()
	if err != nil {
		return err
	}
	if err := socket.Serve(registrar, path, d.Say); err != nil {
		return err
	}
	defer registrar.Stop() // removes its socket
	<-ctx.Done()
	d.registered.Store(false)
	return nil
}

// endpoint is the socket at which the kubelet calls the driver.
func (d *Driver) endpoint() string { return filepath.Join(d.dir(), "csi.sock") }

// registrationSocket returns the path of the registration socket, a new one in each run, and removes the sockets of earlier runs.
// A kubelet that finds the socket of a driver that crashed tries to register it again and again. If the driver created its socket
// under that name again, the kubelet would register it, notice that the socket is another one, and forget and register it once
// more while pods already mount its volumes.
func (d *Driver) registrationSocket() (string, error) {
	prefix := filepath.Join(d.KubeletDir, "plugins_registry", d.Name+"-")
	earlier, err := filepath.Glob(prefix + "*.sock")
	if err != nil {
		return "", fmt.Errorf("find sockets of earlier runs: %w", err)
	}
	for _, path := range earlier {
		if err := os.Remove(path); err != nil {
			return "", fmt.Errorf("remove the socket of an earlier run: %w", err)
		}
	}
	return fmt.Sprintf("%s%d-reg.sock", prefix, time.Now().UnixNano()), nil
}

func (d *Driver) dir() string { return filepath.Join(d.KubeletDir, "plugins", d.Name) }

// volume is the directory on the node that the volume shows.
func (d *Driver) volume(id string) string {
	return filepath.Join(d.dir(), "volumes", filepath.Base(id))
}

// registrationService answers the kubelet's plugin watcher.
type registrationService struct {
	registration.UnimplementedRegistrationServer
	driver *Driver
}

func (r *registrationService) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type:              registration.CSIPlugin,
		Name:              r.driver.Name,
		Endpoint:          r.driver.endpoint(),
		SupportedVersions: []string{"1.0.0"},
	}, nil
}

// NotifyRegistrationStatus comes after the kubelet has stored the driver, or has refused it.
func (r *registrationService) NotifyRegistrationStatus(
	_ context.Context, s *registration.RegistrationStatus,
) (*registration.RegistrationStatusResponse, error) {
	if s.PluginRegistered {
		r.driver.Say("READY") // before the first probe that finds it so
	} else {
		r.driver.Say("REFUSED", s.Error)
	}
	r.driver.registered.Store(s.PluginRegistered)
	return &registration.RegistrationStatusResponse{}, nil
}

type identity struct {
	csi.UnimplementedIdentityServer
	driver *Driver
}

func (i *identity) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: i.driver.Name, VendorVersion: i.driver.Version}, nil
}

func (i *identity) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

func (i *identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

type node struct {
	csi.UnimplementedNodeServer
	driver *Driver
}

func (n *node) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: n.driver.Node}, nil
}

func (n *node) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

// NodePublishVolume makes the volume and mounts it where the kubelet wants it. The kubelet may ask twice.
func (n *node) NodePublishVolume(_ context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if r.VolumeId == "" || r.TargetPath == "" {
		return nil, status.Error(codes.InvalidArgument, "volume_id and target_path are required")
	}
	d, pod := n.driver, r.VolumeContext["csi.storage.k8s.io/pod.name"]
	source := d.volume(r.VolumeId)
	greeting := fmt.Sprintf("%s on %s for %s", d.Version, d.Node, pod)
	if err := errors.Join(
		os.MkdirAll(source, 0o755),
		os.WriteFile(filepath.Join(source, File), []byte(greeting), 0o644),
		os.MkdirAll(r.TargetPath, 0o750),
		mountOnce(source, r.TargetPath),
	); err != nil {
		d.Say("FAILED", err)
		return nil, status.Error(codes.Internal, err.Error())
	}
	d.Say("MOUNTED", pod)
	return &csi.NodePublishVolumeResponse{}, nil
}

// NodeUnpublishVolume undoes NodePublishVolume. What is gone already is no error.
func (n *node) NodeUnpublishVolume(_ context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	if r.VolumeId == "" || r.TargetPath == "" {
		return nil, status.Error(codes.InvalidArgument, "volume_id and target_path are required")
	}
	if err := unmount(r.TargetPath); err != nil {
		n.driver.Say("FAILED", err)
		return nil, status.Error(codes.Internal, err.Error())
	}
	if err := errors.Join(os.RemoveAll(r.TargetPath), os.RemoveAll(n.driver.volume(r.VolumeId))); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}
