// Package metricsdoc writes docs/metrics.md from what the code registers.
package metricsdoc

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	// Each declares metrics.
	"example.com/podsequence/internal/buildinfo"
	"example.com/podsequence/internal/census"
	_ "example.com/podsequence/internal/servertime"
	"example.com/podsequence/internal/telemetry"
	_ "example.com/podsequence/pkg/controllers/deploymentcoordination"
	_ "example.com/podsequence/pkg/controllers/podgroup"
	_ "example.com/podsequence/pkg/controllers/podgroup/podgroupwatch"
	_ "example.com/podsequence/pkg/controllers/podsequence"
	_ "example.com/podsequence/pkg/controllers/podsequence/objectwatch"
	_ "example.com/podsequence/pkg/controllers/sequentialjob"
	_ "example.com/podsequence/pkg/feed"
	_ "example.com/podsequence/pkg/podwriter"
	_ "example.com/podsequence/pkg/record"
)

// Metric is what the page says of one metric.
type Metric struct {
	Name, Type, Help string
	Labels           []string
}

// section is a part of the page.
type section struct {
	title, text string
	collectors  []prometheus.Collector
}

var sections = []section{
	{"Both programs", "Each program reports its own view: take the maximum over the programs, not the sum. A standby reports 0.",
		slices.Concat([]prometheus.Collector{buildinfo.New(buildinfo.Controller)}, telemetry.Shared.Collectors(), telemetry.Engine.Collectors())},
	{"podsequence-controller: PodSequence and ClusterPodSequence", "Only the leading replica counts.", telemetry.Sequences.Collectors()},
	{"podsequence-controller: all kinds", "It has samples only while there is a problem.", telemetry.AllKinds.Collectors()},
	{"podsequence-controller: SequentialJob", "", telemetry.SequentialJob.Collectors()},
	{"podsequence-controller: pod groups", "", telemetry.PodGroup.Collectors()},
	{"podsequence-controller: DeploymentCoordination", "", telemetry.DeploymentCoordination.Collectors()},
}

var preface = `# Metrics

` + "`make generate`" + ` writes this page from the code. [Operations](operations.md#metrics) says how to scrape both programs, and
` + "`manifests/options/monitoring`" + ` has a ServiceMonitor, [alert rules](troubleshooting.md#alerts) and a dashboard for Grafana.

No label has the name of a sequence or a pod. ` + "`podsequence_objects_with_problems`" + ` says in which namespaces somebody has to look; status and
[kubectl podseq](kubectl.md) say at what. It names at most ` + strconv.Itoa(census.MaxNamespaces) + ` namespaces, and counts the rest in the namespace ` + "`" + census.OtherNamespaces + "`" + `. Scrape with ` + "`honor_labels: true`" + `, as the ServiceMonitor does: otherwise Prometheus overwrites ` + "`namespace`" + `.

| question | metric |
|---|---|
| How long do pods wait after a group is ready? | ` + "`podsequence_event_duration_seconds`" + `, then ` + "`scheduler_pod_scheduling_sli_duration_seconds`" + `, from when the queue lets a pod through until it is bound |
| How long is the queue of the scheduler locked? | ` + "`scheduler_plugin_execution_duration_seconds`" + ` of the plugin ` + "`PodSequence`" + ` and the extension point ` + "`PreEnqueue`" + `; it measures one decision in ten |
| How many pods are released? | ` + "`podsequence_pod_hold_duration_seconds_count`" + ` |
| Where does somebody have to look? | ` + "`podsequence_objects_with_problems`" + ` |
| Which groups are skipped? | ` + "`podsequence_groups`" + ` with the phase ` + "`Skipped`" + ` |
| Who leads? | ` + "`leader_election_master_status`" + ` |
| How many pods does the scheduler hold? | ` + "`scheduler_pending_pods`" + ` with the queue ` + "`gated`" + `; it counts those too that were tried while no node was open to them |
| Is the controller behind, or failing? | ` + "`workqueue_depth`" + `, ` + "`controller_runtime_reconcile_errors_total`" + ` |
| What do the programs cost? | ` + "`rest_client_requests_total`" + `, ` + "`process_resident_memory_bytes`" + ` |
`

// All returns all metrics of PodSequence.
func All() []Metric {
	var all []Metric
	for _, s := range sections {
		all = append(all, s.metrics()...)
	}
	return all
}

// Page returns the page.
func Page() string {
	page := &strings.Builder{}
	page.WriteString(preface)
	for _, s := range sections {
		fmt.Fprintf(page, "\n## %s\n\n", s.title)
		if s.text != "" {
			fmt.Fprintf(page, "%s\n\n", s.text)
		}
		page.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
		for _, m := range s.metrics() {
			labels := ""
			if len(m.Labels) > 0 {
				labels = "`" + strings.Join(m.Labels, "`, `") + "`"
			}
			fmt.Fprintf(page, "| `%s` | %s | %s | %s |\n", m.Name, m.Type, labels, m.Help)
		}
	}
	return page.String()
}

func (s section) metrics() []Metric {
	var all []Metric
	for _, c := range s.collectors {
		all = append(all, describe(c)...)
	}
	slices.SortFunc(all, func(a, b Metric) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// description takes apart what a description says of itself, which has no other way to be read.
var description = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: "(.*?)"(?:, unit: "[^"]*")?, constLabels: \{[^}]*\}, variableLabels: \{([^}]*)\}\}$`)

// describe returns the metrics of a collector: most have one.
func describe(c prometheus.Collector) []Metric {
	descriptions := make(chan *prometheus.Desc, 100)
	c.Describe(descriptions)
	close(descriptions)
	var all []Metric
	for d := range descriptions {
		parts := description.FindStringSubmatch(d.String())
		if parts == nil {
			panic("cannot read " + d.String())
		}
		metric := Metric{Name: parts[1], Type: typeOf(c), Help: strings.TrimPrefix(parts[2], "[ALPHA] ")}
		if parts[3] != "" {
			metric.Labels = strings.Split(parts[3], ",")
		}
		all = append(all, metric)
	}
	return all
}

// typeOf asks a vector what it is by its Go type, for it may have no sample yet, and anything else by a sample.
func typeOf(c prometheus.Collector) string {
	switch c.(type) {
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec:
		return "gauge"
	case *prometheus.HistogramVec:
		return "histogram"
	}
	samples := make(chan prometheus.Metric, 100)
	c.Collect(samples)
	close(samples)
	first, any := <-samples
	if !any {
		return "gauge" // of things that there are none of
	}
	sample := &dto.Metric{}
	if err := first.Write(sample); err != nil {
		panic(err)
	}
	switch {
	case sample.Counter != nil:
		return "counter"
	case sample.Histogram != nil:
		return "histogram"
	}
	return "gauge"
}
