package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/klog/v2"

	"example.com/podsequence/pkg/plugins/podsequence"
)

// addHealth makes the command also serve /livez and /readyz over HTTP, as podsequence-controller does. This /readyz includes the
// PodSequence plugin, which kube-scheduler's own endpoint on the secure port cannot. Both are served before the command does
// anything else: it may have to wait for the API server.
func addHealth(command *cobra.Command) {
	address := command.Flags().String("health-probe-bind-address", ":8081",
		"Address on which to serve /livez and /readyz over HTTP. This /readyz includes the state of the PodSequence plugin. \"0\" turns them off.")
	prepare := command.PersistentPreRunE
	command.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if *address != "0" {
			listener, err := net.Listen("tcp", *address)
			if err != nil {
				return fmt.Errorf("listen for health probes: %w", err)
			}
			go serveHealth(listener)
		}
		return prepare(cmd, args)
	}
}

// serveHealth serves as long as the process lives: kube-scheduler exits by itself.
func serveHealth(listener net.Listener) {
	mux := http.NewServeMux()
	healthz.InstallLivezHandler(mux)
	healthz.InstallReadyzHandler(mux, healthz.NamedCheck("podsequence", podsequence.Ready))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		klog.Background().Error(err, "Stopped serving health probes")
	}
}
