package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

const (
	healthPoll = 50 * time.Millisecond
	// startTimeout bounds the start of one component; a loaded machine may need many times the usual second.
	startTimeout = 90 * time.Second
)

func probe(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("make health check: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("check health: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return fmt.Errorf("read health check: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("check health: %s: %s", response.Status, bytes.TrimSpace(body))
	}
	return nil
}

// healthClients ask components for their health.
type healthClients struct {
	admin     *http.Client
	anonymous *http.Client
}

// newHealthClients speak to every component: all show certificates of the same authority.
func newHealthClients(admin *rest.Config) (clients healthClients, err error) {
	if clients.admin, err = rest.HTTPClientFor(admin); err != nil {
		return clients, fmt.Errorf("create client for health checks: %w", err)
	}
	if clients.anonymous, err = rest.HTTPClientFor(rest.AnonymousClientConfig(admin)); err != nil {
		return clients, fmt.Errorf("create anonymous client for health checks: %w", err)
	}
	return clients, nil
}

// of is the client for a component. etcd and the API server want to know their caller, and accept the administrator. The others
// answer everybody, as they must answer kubelets, and log an error about a certificate that comes before they know the authority.
func (c healthClients) of(component string) *http.Client {
	if slices.Contains([]string{Etcd, APIServer}, component) {
		return c.admin
	}
	return c.anonymous
}

// logTail is the end of a log and where to find the rest, as a text to append to an error.
func logTail(path string) string {
	const maxBytes, maxLines = 8 << 10, 15
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	content = bytes.TrimSpace(content[max(0, len(content)-maxBytes):])
	lines := strings.Split(string(content), "\n")
	lines = lines[max(0, len(lines)-maxLines):]
	return fmt.Sprintf("\nend of its log (%s):\n  %s", path, strings.Join(lines, "\n  "))
}
