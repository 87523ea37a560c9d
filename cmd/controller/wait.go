package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

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
