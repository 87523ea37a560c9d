package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"example.com/podsequence/internal/outage"
)

// awaitAPIServer returns when the API server says which kinds there are, which the manager must know before it can start. Until
// then it serves the health probes in place of the manager, so that the kubelet does not restart the program.
func (o *options) awaitAPIServer(ctx context.Context, config *rest.Config) error {
	stop, err := serveHealth(o.healthAddress)
	if err != nil {
		return err
	}
	defer stop()
	config = rest.CopyConfig(config)
	config.Timeout = 10 * time.Second // for one request
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	return outage.Await(ctx, config.Host, func(ctx context.Context) error {
		_, err := client.ServerResourcesForGroupVersionWithContext(ctx, batchv1.SchemeGroupVersion.String())
		return err
	})
}

// serveHealth says that the program lives and is not ready, until stop. Then the address is free.
func serveHealth(address string) (stop func(), err error) {
	if address == "0" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for health probes: %w", err)
	}
	waiting := func(*http.Request) error { return errors.New("waiting for the API server") }
	mux := http.NewServeMux()
	mux.Handle("/livez", http.StripPrefix("/livez", &healthz.Handler{Checks: map[string]healthz.Checker{"ping": healthz.Ping}}))
	mux.Handle("/readyz", http.StripPrefix("/readyz", &healthz.Handler{Checks: map[string]healthz.Checker{"api-server": waiting}}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.Background().Error(err, "Stopped serving health probes")
		}
	}()
	return func() { _ = server.Close() }, nil // the manager says whether it cannot listen
}
