package site

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"example.com/podsequence/internal/controlplane"
)

// The metrics of a scheduler that are asked for.
const (
	flushed = "scheduler_pod_scheduled_after_flush_total" // pods that were scheduled after no event had, for minutes
	held    = "podsequence_held_pods"
)

// scrapeTimeout is how long a program may take to say what it counted.
const scrapeTimeout = 5 * time.Second

// Rescued counts the pods that our schedulers scheduled only because they look at forgotten pods every five minutes. It is 0 for
// a scheduler that does not answer.
func (s *Site) Rescued(ctx context.Context) int { return s.countedBySchedulers(ctx, flushed) }

// Held counts the pods that our schedulers hold, as far as they know.
func (s *Site) Held(ctx context.Context) int { return s.countedBySchedulers(ctx, held) }

func (s *Site) countedBySchedulers(ctx context.Context, metric string) int {
	count := 0
	for _, name := range s.names {
		if strings.HasPrefix(name, controlplane.PodSequenceScheduler) {
			count += s.counted(ctx, s.programs[name].url+"/metrics", metric)
		}
	}
	return count
}

// counted is the sum of the samples of a metric.
func (s *Site) counted(ctx context.Context, url, metric string) int {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	administrator, err := rest.HTTPClientFor(s.Config())
	if err != nil {
		return 0
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	response, err := administrator.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	sum := 0.0
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && strings.HasPrefix(fields[0], metric) {
			if value, err := strconv.ParseFloat(fields[len(fields)-1], 64); err == nil {
				sum += value
			}
		}
	}
	return int(sum)
}
