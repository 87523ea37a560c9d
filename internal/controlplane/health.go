package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

const (
	healthPoll = 50 * time.Millisecond
	// startTimeout bounds the start of one component; a loaded machine may need many times the usual second.
	startTimeout = 90 * time.Second
)

// waitUntilHealthy returns when the process answers its health check. If it ends before that, or takes too long, the
// error shows the end of its log.
func (p *process) waitUntilHealthy(ctx context.Context, l layout, client *http.Client) error {
	var lastErr error
	err := wait.PollUntilContextTimeout(ctx, healthPoll, startTimeout, true, func(ctx context.Context) (bool, error) {
		if !p.alive() {
			return false, errors.New("process ended")
		}
		lastErr = probe(ctx, client, p.HealthURL)
		return lastErr == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w%s", p.Name, errors.Join(err, lastErr), logTail(l.log(p.Name)))
	}
	return nil
}

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

// healthClient speaks to every component: all show certificates of the same authority, and those that want to know
// their caller accept the administrator's.
func healthClient(admin *rest.Config) (*http.Client, error) {
	client, err := rest.HTTPClientFor(admin)
	if err != nil {
		return nil, fmt.Errorf("create client for health checks: %w", err)
	}
	return client, nil
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
