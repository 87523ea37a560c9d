package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"example.com/podsequence/cmd/sandbox/internal/csidriver"
	"example.com/podsequence/cmd/sandbox/internal/deviceplugin"
)

// kubeletDir is where a plugin's pod mounts the kubelet's directory: at the same path as on the node.
const kubeletDir = "/var/lib/kubelet"

// devicePlugin offers -devices of the extended resource -resource, and is ready once the kubelet knows them.
func devicePlugin(o *options) int {
	plugin := &deviceplugin.Plugin{Resource: o.resource, Devices: o.devices, Dir: filepath.Clean(pluginapi.DevicePluginPath), Say: say}
	return servePlugin(o, plugin.Run, plugin.Ready)
}

// csiDriver serves volumes of the CSI driver -driver, and is ready once the kubelet knows it.
func csiDriver(o *options) int {
	driver := &csidriver.Driver{Name: o.driver, Version: o.text, Node: os.Getenv("NODE"), KubeletDir: kubeletDir, Say: say}
	return servePlugin(o, driver.Run, driver.Registered)
}

// servePlugin runs a plugin from -ready-after until the pod is stopped, and answers /ready as the plugin says.
func servePlugin(o *options, plugin func(context.Context) error, ready func() bool) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	http.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	})
	go func() { say("FAILED", http.ListenAndServe(fmt.Sprint(":", o.port), nil)) }()
	select {
	case <-ctx.Done():
	case <-time.After(o.readyAfter):
		if err := plugin(ctx); err != nil {
			say("FAILED", err)
			return 1
		}
	}
	say("STOPPED terminated")
	return 0
}
