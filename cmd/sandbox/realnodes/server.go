//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"example.com/podsequence/tools/sandbox/realnode"
)

// administrators is the group of those who may do something to nodes and connect to them.
const administrators = "system:masters"

// serve answers until the context ends.
func serve(ctx context.Context, config *realnode.Config, network *network, nodes *nodes) error {
	ca, err := os.ReadFile(config.CA)
	if err != nil {
		return fmt.Errorf("read authority: %w", err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(ca)
	server := &http.Server{
		Addr:              config.Listen,
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS13, ClientCAs: clients, ClientAuth: tls.VerifyClientCertIfGiven,
			NextProtos: []string{"http/1.1"}, // the only one with CONNECT to anywhere
		},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		Handler:      handler(network, nodes),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServeTLS(config.Cert, config.Key) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		_ = server.Close()
		return nil
	}
}

func handler(network *network, nodes *nodes) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /nodes", func(w http.ResponseWriter, _ *http.Request) {
		states := []realnode.State{}
		for _, node := range nodes.all {
			states = append(states, realnode.State{Name: node.Name, State: node.state()})
		}
		_ = json.NewEncoder(w).Encode(states)
	})
	mux.HandleFunc("POST /nodes/{name}/{action}", func(w http.ResponseWriter, r *http.Request) {
		node := nodes.find(r.PathValue("name"))
		if node == nil {
			http.Error(w, "no such node", http.StatusNotFound)
			return
		}
		if err := node.do(r.PathValue("action")); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" && !isAdministrator(r) {
			http.Error(w, "only administrators of the cluster may do this", http.StatusForbidden)
			return
		}
		if r.Method == http.MethodConnect {
			connect(network, w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func isAdministrator(r *http.Request) bool {
	chains := r.TLS.VerifiedChains
	return len(chains) > 0 && slices.Contains(chains[0][0].Subject.Organization, administrators)
}

// connect is how the API server reaches kubelets and pods.
func connect(network *network, w http.ResponseWriter, r *http.Request) {
	target, err := network.dial(r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client, err := hijack(w)
	if err != nil {
		_ = target.Close()
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	join(client, target)
}

func hijack(w http.ResponseWriter) (net.Conn, error) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return nil, errors.New("connection cannot be taken over")
	}
	client, _, err := hijacker.Hijack()
	if err != nil {
		return nil, fmt.Errorf("take over connection: %w", err)
	}
	if _, err := client.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return nil, errors.Join(fmt.Errorf("answer: %w", err), client.Close())
	}
	return client, nil
}
