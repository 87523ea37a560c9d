package site

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// flushed counts pods that a scheduler scheduled after no event had, for minutes.
const flushed = "scheduler_pod_scheduled_after_flush_total"

// remembered are the metrics of our programs that are 0 when there are no pods of ours and no sequences.
var remembered = []string{
	"podsequence_held_pods", "podsequence_sequences", "podsequence_groups", "podsequence_degraded_sequences", "podsequence_stalled_sequences",
	"scheduler_pending_pods",
}

// scrapeTimeout is how long a program may take to say what it counted.
const scrapeTimeout = 5 * time.Second

// Rescued counts the pods that our schedulers scheduled only because they look at forgotten pods every five minutes. It is 0 for
// a scheduler that does not answer.
func (s *Site) Rescued(ctx context.Context) int { return s.countedBySchedulers(ctx, flushed) }

// Remembered says what our programs still know of, though nothing is left of it.
func (s *Site) Remembered(ctx context.Context) []string { return s.notZero(ctx, remembered) }

func (s *Site) notZero(ctx context.Context, metrics []string) (found []string) {
	for _, name := range s.names {
		for _, metric := range metrics {
			if count := s.counted(ctx, s.programs[name].url+"/metrics", metric); count > 0 {
				found = append(found, fmt.Sprintf("%s: %s is %d", name, metric, count))
			}
		}
	}
	return found
}

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
