package monitoring

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	root      = "../../../"
	manifests = root + Source
)

var (
	// documented is a metric of ours, as docs/metrics.md has it: a test sees to it that the page has exactly those of the code.
	documented = regexp.MustCompile("(?m)^\\| `(podsequence_\\w+)` \\| (counter|gauge|histogram) \\| ([^|]*) \\|")
	quoted     = regexp.MustCompile(`"[^"]*"`)
	labelList  = regexp.MustCompile(`\b(by|on|without|ignoring|group_left)\s*\(([^)]*)\)`)
	matcher    = regexp.MustCompile(`\{([^}]*)\}`)
	duration   = regexp.MustCompile(`\[[^\]]*\]`)
	word       = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
)

// others are metrics of what the programs are made from, which docs/metrics.md names as well.
var others = sets.New(
	"leader_election_master_status", "process_resident_memory_bytes", "scheduler_pod_scheduling_sli_duration_seconds_bucket",
)

// language are the words of PromQL that we use.
var language = sets.New("sum", "max", "rate", "increase", "histogram_quantile", "absent", "or", "vector", "and", "unless", "count")

// addedByScraping are the labels that Prometheus adds to every series.
var addedByScraping = sets.New("name", "pod", "namespace", "le", "job", "instance")

// names are the metrics that an expression uses, and the labels that it speaks of.
func names(t *testing.T, expr string) (metrics, labels sets.Set[string]) {
	t.Helper()
	metrics, labels = sets.New[string](), sets.New[string]()
	expr = quoted.ReplaceAllString(expr, "")
	for _, list := range labelList.FindAllStringSubmatch(expr, -1) {
		labels.Insert(word.FindAllString(list[2], -1)...)
	}
	for _, list := range matcher.FindAllStringSubmatch(expr, -1) {
		labels.Insert(word.FindAllString(list[1], -1)...)
	}
	expr = duration.ReplaceAllString(matcher.ReplaceAllString(labelList.ReplaceAllString(expr, ""), ""), "")
	for _, found := range word.FindAllString(expr, -1) {
		if !language.Has(found) {
			metrics.Insert(found)
		}
	}
	require.NotEmpty(t, metrics, expr)
	return metrics, labels
}

func TestQueriesUseMetricsThatExist(t *testing.T) {
	page, err := os.ReadFile(root + "docs/metrics.md")
	require.NoError(t, err)
	known, labels := sets.New[string](), map[string]string{}
	for _, m := range documented.FindAllStringSubmatch(string(page), -1) {
		if m[2] == "histogram" {
			known.Insert(m[1]+"_bucket", m[1]+"_sum", m[1]+"_count")
		} else {
			known.Insert(m[1])
		}
		labels[m[1]] = m[3]
	}
	require.NotEmpty(t, known)

	queries, err := readQueries(manifests)
	require.NoError(t, err)
	require.NotEmpty(t, queries)
	rules, err := readAlerts(manifests)
	require.NoError(t, err)
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			queries = append(queries, query{rule.Alert, rule.Expr})
		}
	}
	shown := sets.New[string]()
	for _, q := range queries {
		metrics, asked := names(t, q.Expr)
		documented := ""
		for metric := range metrics {
			base := strings.TrimSuffix(metric, "_bucket")
			shown.Insert(base)
			documented += labels[base]
			assert.True(t, known.Has(metric) || others.Has(metric), "%s: there is no metric %s", q.Panel, metric)
		}
		for label := range asked {
			has := strings.Contains(documented, "`"+label+"`") || addedByScraping.Has(label)
			assert.True(t, has, "%s: no metric has the label %s", q.Panel, label)
		}
	}
	for metric := range others {
		assert.Contains(t, string(page), "`"+strings.TrimSuffix(metric, "_bucket")+"`")
	}
	assert.Greater(t, shown.Len(), 25, "the dashboard shows what there is")
}

func TestPanelsDoNotOverlap(t *testing.T) {
	panels, err := readPanels(manifests)
	require.NoError(t, err)
	ids, taken := sets.New[int](), map[[2]int]string{}
	for _, p := range panels {
		assert.False(t, ids.Has(p.ID), "two panels have the number %d", p.ID)
		ids.Insert(p.ID)
		assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "%s is in the place of another panel", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
		assert.True(t, p.Type == "row" || len(p.Targets) > 0, "%s shows nothing", p.Title)
	}
}

func TestEveryAlertHasARunbookAndATest(t *testing.T) {
	page, err := os.ReadFile(root + "docs/troubleshooting.md")
	require.NoError(t, err)
	tests, err := os.ReadFile(root + "hack/generate/monitoring/alerts-test.yaml")
	require.NoError(t, err)
	rules, err := readAlerts(manifests)
	require.NoError(t, err)
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			assert.Contains(t, string(page), "\n### "+rule.Alert+"\n")
			assert.Equal(t, "docs/troubleshooting.md#"+strings.ToLower(rule.Alert), rule.Annotations["runbook"])
			assert.NotEmpty(t, rule.Annotations["summary"])
			assert.NotEmpty(t, rule.Annotations["description"])
			assert.Contains(t, string(tests), "    alertname: "+rule.Alert+"\n    exp_alerts:", "no test has it fire")
			assert.Contains(t, string(tests), "alertname: "+rule.Alert+"}", "no test has it keep quiet")
		}
	}
}

func TestMonitoringIsAComponent(t *testing.T) {
	memory := filesys.MakeFsInMemory()
	require.NoError(t, memory.MkdirAll("/monitoring"))
	for _, name := range []string{"kustomization.yaml", "service-monitor.yaml", "alerts.yaml", "dashboard.json"} {
		text, err := os.ReadFile(manifests + "/" + name)
		require.NoError(t, err)
		require.NoError(t, memory.WriteFile("/monitoring/"+name, text))
	}
	require.NoError(t, memory.WriteFile("/own/kustomization.yaml", []byte("components: [../monitoring]\n")))
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "/own")
	require.NoError(t, err)
	var kinds []string
	for _, resource := range rendered.Resources() {
		assert.Equal(t, "podsequence-system", resource.GetNamespace())
		kinds = append(kinds, resource.GetKind())
	}
	assert.ElementsMatch(t, []string{"ServiceMonitor", "PrometheusRule", "ConfigMap"}, kinds)
}
