package kubectl

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// GitOps tools apply the manifest again and again. What an operator decided at three in the morning must survive that.
func TestWhatAnOperatorOverridesSurvivesTheNextApply(t *testing.T) {
	t.Parallel()
	for by, flags := range map[string]string{"kubectl apply": "", "server-side apply": "--server-side --force-conflicts"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, "edit")
			apply := func(team string) {
				s.Cluster.MustShell(t, fmt.Sprintf(`kubectl apply %s -f - <<END
{apiVersion: scheduling.example.com/v1alpha1, kind: PodSequence, metadata: {name: backend, namespace: %s, labels: {team: %s}}, spec: {podGroups: [
  {name: Database, podSelector: {matchLabels: {tier: db}}},
  {name: Application, podSelector: {matchLabels: {tier: app}}}]}}
END`, flags, s.Namespace, team))
			}
			apply("blue")
			s.Create(unready(s.pod("db", "db")), s.pod("app", "app"))
			s.awaitHeld("app")

			stdout, _ := s.Says("skip", "backend", "Database", "--reason", "fixed by hand", "--for", "1h")
			assert.Contains(t, stdout, `group 1/2 "Database" skipped until `)
			s.awaitReady("app")
			apply("red")
			s.Create(s.pod("app-2", "app"))
			s.awaitReady("app-2")
			sequence := cluster.Get(s.Story, &v1alpha1.PodSequence{}, "backend")
			assert.Equal(t, "red", sequence.Labels["team"])
			assert.Equal(t, "Database", sequence.Annotations[v1alpha1.SkipAnnotation])
			assert.False(t, sequence.Spec.PodGroups[0].Skip)
			s.Await("status to say so", func() bool {
				c := meta.FindStatusCondition(cluster.Get(s.Story, &v1alpha1.PodSequence{}, "backend").Status.Conditions, v1alpha1.ConditionOverridden)
				return c != nil && c.Reason == v1alpha1.ReasonOverridden
			})
			c := meta.FindStatusCondition(cluster.Get(s.Story, &v1alpha1.PodSequence{}, "backend").Status.Conditions, v1alpha1.ConditionOverridden)
			assert.Regexp(t, `^by annotation the sequence skips "Database" until .*; written by podseq-cli at 20[^;]*Z; reason: fixed by hand$`, c.Message)

			s.awaitEventLike("OverrideBegan", `^by annotation the sequence skips "Database" until .*; written by podseq-cli at .*; reason: fixed by hand$`)

			s.Says("unskip", "backend", "Database")
			s.awaitEventLike("OverrideEnded", `^the sequence does what its spec says; before: by annotation the sequence skips "Database" .*`)
			s.Create(s.pod("app-3", "app"))
			s.awaitHeld("app-3")

			// A suspension that nobody takes back ends by itself.
			s.Says("suspend", "backend", "--for", "5s")
			s.Await("the suspension", func() bool {
				return meta.IsStatusConditionTrue(cluster.Get(s.Story, &v1alpha1.PodSequence{}, "backend").Status.Conditions, v1alpha1.ConditionSuspended)
			})
			cluster.Change(s.Story, cluster.Get(s.Story, &corev1.Pod{}, "db"), func(p *corev1.Pod) { p.Annotations[cluster.ReadyAfter] = "0s" })
			s.awaitReady("app-3")
			s.Await("status to say that it is over", func() bool {
				return meta.IsStatusConditionFalse(cluster.Get(s.Story, &v1alpha1.PodSequence{}, "backend").Status.Conditions, v1alpha1.ConditionOverridden)
			})
		})
	}
}

// awaitEventLike waits for an event on the sequence of the story.
func (s *story) awaitEventLike(reason, pattern string) {
	s.Helper()
	s.Await(fmt.Sprintf("an event %s like %q", reason, pattern), func() bool {
		return slices.ContainsFunc(s.Events("backend"), func(e eventsv1.Event) bool {
			return e.Reason == reason && regexp.MustCompile(pattern).MatchString(e.Note)
		})
	})
}
