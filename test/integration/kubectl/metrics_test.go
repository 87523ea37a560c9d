package kubectl

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	scheduler  = controlplane.PodSequenceScheduler
	controller = controlplane.PodSequenceController
)

// The page of metrics names what both programs serve, and the numbers are those of what happens.
func TestMetricsAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	const pods = 30
	s := newStory(t, "view")
	backend := MakeSequence(s.Namespace, "backend").Label("Database", "tier", "db").Label("Application", "tier", "app").Obj()
	s.Create(backend, unready(s.pod("db", "db")))
	for i := range pods {
		s.Create(s.pod(fmt.Sprintf("app-%d", i), "app"))
	}
	// Only the controller releases this pod. The others may be on their nodes before it notices that they are released.
	gated := s.pod("gated", "app")
	gated.Spec.SchedulerName = controlplane.AnotherScheduler
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "podsequence.example.com/sequence-gate"}}
	s.Create(gated)
	s.Create(MakeSequence(s.Namespace, "ungoverned").Label("Nothing", "tier", "nothing").Label("Stock", "tier", "stock").Obj())
	stock := s.pod("stock", "stock")
	stock.Spec.SchedulerName = controlplane.AnotherScheduler
	s.Create(stock)
	skipped := MakeSequence(s.Namespace, "skipped").Label("Nothing", "tier", "nothing").Label("Something", "tier", "something").Obj()
	skipped.Spec.PodGroups[0].Skip = true
	s.Create(skipped)
	overridden := MakeSequence(s.Namespace, "overridden").Label("Nothing", "tier", "nothing").Obj()
	overridden.Annotations = map[string]string{v1alpha1.SuspendAnnotation: "true", v1alpha1.SkipAnnotation: "No such group"}
	s.Create(overridden)
	s.awaitHeld(fmt.Sprintf("app-%d", pods-1))

	t.Log("pods are held")
	oldest := cluster.Get(s.Story, &corev1.Pod{}, "app-0").CreationTimestamp
	released := map[string]float64{}
	for _, program := range []string{scheduler, controller} {
		s.Await("held pods of "+program, func() bool { return s.Cluster.Metric(s, program, "podsequence_held_pods ") >= pods })
		age := time.Since(oldest.Time)
		assert.GreaterOrEqual(s, s.Cluster.Metric(s, program, "podsequence_oldest_held_pod_seconds "), age.Seconds(), program)
		released[program] = s.Cluster.Metric(s, program, "podsequence_pod_hold_duration_seconds_count ")
	}
	s.awaitMetric(`podsequence_groups{kind="PodSequence",phase="Waiting"}`, 1)
	s.awaitMetric(`podsequence_groups{kind="PodSequence",phase="Skipped"}`, 1)
	s.awaitMetric(`podsequence_sequences{kind="PodSequence",phase="InProgress"}`, 1)
	s.awaitMetric(`podsequence_degraded_sequences{kind="PodSequence",reason="StartedOutOfOrder"}`, 1)
	s.awaitMetric(s.here(`podsequence_objects_with_problems{kind="PodSequence",`), 1)
	s.awaitMetric("podsequence_oldest_group_in_progress_seconds ", 1)
	s.awaitMetric(`podsequence_overridden_sequences{kind="PodSequence"}`, 1)
	s.awaitMetric(`podsequence_degraded_sequences{kind="PodSequence",reason="InvalidOverride"}`, 1)
	s.awaitMetric("podsequence_oldest_override_seconds ", 1)

	t.Log("they are released")
	s.Annotate(s.Pod("db"), cluster.ReadyAfter, "0s")
	for program, least := range map[string]float64{scheduler: pods, controller: 1} {
		s.Await("released pods of "+program, func() bool {
			return s.Cluster.Metric(s, program, "podsequence_pod_hold_duration_seconds_count ") >= released[program]+least
		})
		s.Await("nobody of this story to be held", func() bool { return s.Cluster.Metric(s, program, "podsequence_held_pods ") < pods })
	}
	s.waitFor("podseq/backend", "Completed")
	s.awaitMetric(`podsequence_group_ready_seconds_count{kind="PodSequence"}`, 2)

	t.Log("the other kinds")
	job := &batchapi.SequentialJob{ObjectMeta: s.Meta("etl")}
	job.Spec.Containers = []corev1.Container{{Name: "first", Image: "work"}, {Name: "second", Image: "work"}}
	job.Spec.Template.Annotations = map[string]string{cluster.CompleteAfter: "0s"}
	coordination := &appsapi.DeploymentCoordination{ObjectMeta: s.Meta("shop")}
	coordination.Spec.LabelSelector = &appsapi.LabelSelector{MatchLabels: map[string]appsapi.LabelValue{"app": "shop"}}
	web := s.deployment("web", "web", 1)
	web.Labels = map[string]string{"app": "shop"}
	gang := s.pod("gang", "gang")
	gang.Labels["podgroup.jhwagner.github.io/name"] = "gang"
	s.Create(job, coordination, web, gang)
	s.waitFor("sequentialjob/etl", "Complete")
	s.waitFor("deploymentcoordination/shop", "Ready")
	s.awaitMetric("podsequence_sequentialjob_step_seconds_count ", 2)
	s.awaitMetric("podsequence_sequentialjob_step_pause_seconds_count ", 1)
	s.awaitMetric(`podsequence_sequentialjobs{phase="Succeeded"}`, 1)
	s.awaitMetric("podsequence_deploymentcoordination_turn_seconds_count ", 1)
	s.awaitMetric(`podsequence_deploymentcoordinations{state="Ready"}`, 1)
	s.awaitMetric(`podsequence_podgroups{state="ready"}`, 1)

	served := map[string]string{scheduler: s.Cluster.Metrics(s, scheduler), controller: s.Cluster.Metrics(s, controller)}
	for _, metric := range s.documented() {
		for _, program := range metric.programs {
			assert.Regexp(s, `(?m)^`+metric.name+`(_count)?[ {]`, served[program], "what docs/metrics.md says of %s", program)
		}
	}
}

// here completes the beginning of a sample by the namespace of the story.
func (s *story) here(sample string) string { return fmt.Sprintf("%snamespace=%q", sample, s.Namespace) }

// awaitMetric waits until the controller counts at least so many.
func (s *story) awaitMetric(sample string, least float64) {
	s.Helper()
	s.Await(sample, func() bool { return s.Cluster.Metric(s, controller, sample) >= least })
}

// documented is a metric, and who serves it.
type documented struct {
	name     string
	programs []string
}

// silent are metrics with labels that have no sample before something goes wrong, which it does not in this story.
var silent = sets.New(
	"podsequence_watch_errors_total", "podsequence_podgroup_watch_errors_total",
	"podsequence_status_write_errors_total", "podsequence_stalled_sequences", "podsequence_sequentialjob_write_errors_total",
	"podsequence_deploymentcoordination_write_errors_total", "podsequence_pods_started_out_of_order",
	"podsequence_failed_sequentialjobs", "podsequence_stalled_deploymentcoordinations", "podsequence_degraded_sequences",
	"podsequence_objects_with_problems",
)

// documented reads docs/metrics.md.
func (s *story) documented() []documented {
	s.Helper()
	page, err := os.Open("../../../docs/metrics.md")
	require.NoError(s, err)
	defer func() { _ = page.Close() }()
	row := regexp.MustCompile("^\\| `(podsequence_[a-z_]+)` ")
	var all []documented
	var programs []string
	lines := bufio.NewScanner(page)
	for lines.Scan() {
		if title, found := strings.CutPrefix(lines.Text(), "## "); found {
			switch programs = []string{controller}; title {
			case "Both programs":
				programs = []string{scheduler, controller}
			case "podsequence-scheduler":
				programs = []string{scheduler}
			}
		}
		if found := row.FindStringSubmatch(lines.Text()); found != nil && !silent.Has(found[1]) {
			all = append(all, documented{found[1], programs})
		}
	}
	require.NoError(s, lines.Err())
	require.Greater(s, len(all), 20)
	return all
}
