package kubectl

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/report"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

// Who may only look sees why a pod waits, and what is not shown for lack of rights. In lite mode the same is said of a gated pod
// of another scheduler.
func TestWhoMayOnlyLookSeesWhy(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	gated := s.pod("gated", "app")
	gated.Spec.SchedulerName = "another-scheduler"
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
	s.Create(MakeSequence(s.Namespace, "backend").Label("Database", "tier", "db").Label("Application", "tier", "app").Obj(),
		s.pod("db-0", "db"), unready(s.pod("db-1", "db")), s.pod("app", "app"), gated)
	s.awaitReady("db-0")
	s.awaitHeld("app")
	s.awaitHeld("gated")
	s.Await("db-1 to have a node", func() bool { return cluster.Get(s.Story, &corev1.Pod{}, "db-1").Spec.NodeName != "" })
	s.Await("status", func() bool {
		status := cluster.Get(s.Story, &v1alpha1.PodSequence{}, "backend").Status
		return len(status.Groups) == 2 && status.Groups[0].Ready == 1
	})

	for _, pod := range []string{"app", "gated"} {
		stdout, stderr := s.Says("why", pod)
		assert.Contains(t, stdout, "pod "+pod+`: held in group 2/2 "Application" of PodSequence `+s.Namespace+"/backend")
		assert.Contains(t, stdout, `group 1/2 "Database" of PodSequence `+s.Namespace+"/backend: 1 of 2 pods ready")
		assert.Contains(t, stdout, "pod db-1: on node node-")
		assert.Contains(t, stderr, "note: you may not read ClusterPodSequences")
		assert.Contains(t, stderr, "note: you may not read PodSequences of other namespaces")
		assert.NotContains(t, stdout, "\x1b", "colours are for terminals")
	}
	stdout, _ := s.Says("why", "app", "-o", "json")
	reason := struct{ Subject, State string }{}
	require.NoError(t, json.Unmarshal([]byte(stdout), &reason))
	assert.Equal(t, struct{ Subject, State string }{"pod app", "Held"}, reason)

	stdout, _ = s.Says("get")
	assert.Contains(t, stdout, "1/2 Database")
	stdout, _ = s.Says("get", "backend")
	assert.Contains(t, stdout, "[#####.....] 1/2")
	stdout, _ = s.Says("tree", "backend")
	assert.Contains(t, stdout, "pod db-0: has been ready on node")
	stdout, _ = s.Says("timeline", "backend")
	assert.Contains(t, stdout, "not all ready after")
	stdout, _ = s.Says("lint", "backend")
	assert.Contains(t, stdout, "0 errors, 0 warnings")
	stdout, _ = s.Says("__complete", "skip", "backend", "")
	assert.Contains(t, stdout, "Database\nApplication\n")

	_, stderr, err := s.Podseq("suspend", "backend")
	require.Error(t, err)
	assert.Contains(t, stderr, "ask for the role edit in namespace "+s.Namespace)
	_, stderr, err = s.Podseq("get", "nothing")
	require.Error(t, err)
	assert.Contains(t, stderr, "PodSequence "+s.Namespace+"/nothing does not exist: kubectl get podsequences -n "+s.Namespace)
	_, stderr, err = s.Podseq("get", "Backend")
	require.Error(t, err)
	assert.Contains(t, stderr, "did you mean backend?")
}

// A role in a namespace reads no ClusterPodSequence: whoever has only that learns from the pod what it waits for, and whom to ask for more.
func TestWhoMayReadClusterPodSequencesSeesMore(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	group := func(name string) v1alpha1.ClusterPodGroup {
		return v1alpha1.ClusterPodGroup{
			PodGroup:   v1alpha1.PodGroup{Name: name, PodSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"tier": v1alpha1.LabelValue(name)}}},
			Namespaces: []string{s.Namespace},
		}
	}
	s.Create(&v1alpha1.ClusterPodSequence{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}, Spec: v1alpha1.ClusterPodSequenceSpec{PodGroups: []v1alpha1.ClusterPodGroup{group("db"), group("app")}},
	}, unready(s.pod("db", "db")))
	s.Await("db to have a node", func() bool { return cluster.Get(s.Story, &corev1.Pod{}, "db").Spec.NodeName != "" })
	s.Create(s.pod("app", "app"))
	s.Await("app to say what it waits for", func() bool { return report.TellsWait(cluster.Get(s.Story, &corev1.Pod{}, "app")) })

	const ask = `grants it with "kubectl create clusterrolebinding NAME --clusterrole=podsequence-cluster-view --user=USER"`
	stdout, stderr := s.Says("why", "app")
	assert.Contains(t, stdout, "ClusterPodSequence "+s.Namespace, "the condition of the pod names it")
	assert.Contains(t, stderr, "note: you may not read ClusterPodSequences")
	assert.Contains(t, stderr, ask)
	_, stderr = s.Says("get")
	assert.Contains(t, stderr, "note: you may not read ClusterPodSequences; ")
	assert.Contains(t, stderr, ask)
	for _, name := range []string{"clusterpodsequence/" + s.Namespace, s.Namespace} {
		for _, command := range []string{"get", "tree", "timeline", "lint"} {
			_, stderr, err := s.Podseq(command, name)
			require.Error(t, err, command)
			assert.Contains(t, stderr, ask, command)
		}
	}

	s.Create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "podsequence-cluster-view"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: "person"}},
	})
	s.Await("the role to apply", func() bool {
		stdout, _, err := s.Podseq("get", "clusterpodsequence/"+s.Namespace)
		return err == nil && strings.Contains(stdout, "ClusterPodSequence "+s.Namespace)
	})
	stdout, stderr = s.Says("why", "app")
	assert.Contains(t, stdout, `pod app: held in group 2/2 "app" of ClusterPodSequence `+s.Namespace)
	assert.NotContains(t, stderr, "ClusterPodSequences")
	_, stderr, err := s.Podseq("suspend", "clusterpodsequence/"+s.Namespace, "--reason", "it may only be read")
	require.Error(t, err)
	assert.Contains(t, stderr, "is forbidden")
}

// Whoever may not look into a namespace is told which permission is missing, and not that nothing exists there.
func TestWhoMayNotLookIsToldSo(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	for _, command := range []string{"why pod", "why deployment/web", "why podsequence/shop", "get", "get shop", "tree", "tree shop", "timeline shop"} {
		_, stderr, err := s.Podseq(append([]string{"-n", "kube-system"}, strings.Fields(command)...)...)
		require.Error(t, err, command)
		assert.Contains(t, stderr, "is forbidden: User \""+s.User+"\" cannot ", command)
		assert.Contains(t, stderr, `grants it with "kubectl create rolebinding NAME -n kube-system --clusterrole=view --user=USER"`, command)
		assert.NotContains(t, stderr, "does not exist", command)
	}
	stdout, stderr := s.Says("version")
	assert.Contains(t, stdout, "Kubernetes ")
	assert.Contains(t, stderr, "note: the installed programs are not known: ")
}

// What somebody has just changed is no sign that the controller is down.
func TestAChangeIsNotTakenForAControllerThatIsDown(t *testing.T) {
	t.Parallel()
	s := newStory(t, "edit")
	s.Create(MakeSequence(s.Namespace, "backend").Label("Database", "tier", "db").Label("Application", "tier", "app").Obj(), unready(s.pod("db", "db")))
	s.Await("db to have a node", func() bool { return cluster.Get(s.Story, &corev1.Pod{}, "db").Spec.NodeName != "" })
	for range 5 {
		s.Says("skip", "backend", "database", "--reason", "the name of the group in lower case")
		stdout, _ := s.Says("get", "backend")
		assert.NotContains(t, stdout, "is podsequence-controller running?")
		s.Says("unskip", "backend", "Database")
		stdout, _ = s.Says("get", "backend")
		assert.NotContains(t, stdout, "is podsequence-controller running?")
	}
}

// Of scope Node only the status is shown to who may not read nodes; the condition of the pod says what it waits for.
func TestNodesMayNotBeRead(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	s.Create(MakeSequence(s.Namespace, "drivers").NodeScope().Label("Driver", "tier", "driver").Label("Application", "tier", "app").Obj(),
		unready(s.pod("driver", "driver")))
	s.Await("the driver to have a node", func() bool { return cluster.Get(s.Story, &corev1.Pod{}, "driver").Spec.NodeName != "" })
	s.Create(s.pod("app", "app"))
	s.awaitTried("app")
	stdout, stderr := s.Says("why", "app")
	assert.Contains(t, stdout, `node(s) waiting for group 1/2 "Driver"`)
	assert.Contains(t, stderr, "note: you may not read nodes")

	s.Kubeconfig = s.Cluster.Kubeconfig()
	stdout, stderr = s.Says("-n", s.Namespace, "why", "app")
	assert.Contains(t, stdout, `waits for group 1/2 "Driver"`, "the administrator may read nodes")
	assert.NotContains(t, stderr, "note:")
}

// A sequence that has run to its end has a timeline, in all forms.
func TestTheTimelineOfASequenceThatHasCompleted(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	s.Create(MakeSequence(s.Namespace, "backend").Label("Database", "tier", "db").Label("Application", "tier", "app").Obj(),
		s.pod("db", "db"), s.pod("app", "app"))
	s.awaitReady("app")
	s.Await("the sequence to be completed", func() bool {
		return cluster.Get(s.Story, &v1alpha1.PodSequence{}, "backend").Status.Phase == v1alpha1.PhaseCompleted
	})
	stdout, _ := s.Says("timeline", "backend")
	assert.Contains(t, stdout, " all ready after")
	assert.Contains(t, stdout, "* app")
	picture, _ := s.Says("timeline", "backend", "-o", "svg")
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
	}
	page, _ := s.Says("timeline", "backend", "-o", "html")
	assert.Contains(t, page, `<div class="name">app</div>`)
	assert.NotContains(t, page, "ZgotmplZ", "the template dropped a value")
}

// What an operator changes is patched once, and an event says who did it and why. A dry run stores nothing.
func TestAnEventSaysWhoChangedASequenceAndWhy(t *testing.T) {
	t.Parallel()
	s := newStory(t, "edit")
	s.Create(MakeSequence(s.Namespace, "backend").Label("Database", "tier", "db").Label("Application", "tier", "app").Obj())
	override := func(annotation string) string {
		return cluster.Get(s.Story, &v1alpha1.PodSequence{}, "backend").Annotations[annotation]
	}
	told := func(reason string) []string {
		var notes []string
		for _, event := range s.Events("backend") {
			if event.Reason == reason {
				notes = append(notes, event.Note)
			}
		}
		return notes
	}

	stdout, _ := s.Says("suspend", "backend", "--reason", "trying", "--dry-run=server")
	assert.Contains(t, stdout, "suspended (server dry run)")
	assert.Empty(t, override(v1alpha1.SuspendAnnotation))
	assert.Empty(t, told("SuspendRequested"))

	_, stderr := s.Says("suspend", "backend", "--reason", "restoring")
	assert.Empty(t, stderr)
	assert.Equal(t, "true", override(v1alpha1.SuspendAnnotation))
	assert.Equal(t, "restoring", override(v1alpha1.OverrideReasonAnnotation))
	assert.Equal(t, []string{s.User + " suspended PodSequence " + s.Namespace + "/backend: restoring"}, told("SuspendRequested"))
	stdout, _ = s.Says("suspend", "backend")
	assert.Contains(t, stdout, "already")
	s.Says("resume", "backend")
	assert.Empty(t, override(v1alpha1.SuspendAnnotation))
	assert.Empty(t, override(v1alpha1.OverrideReasonAnnotation))

	s.Says("skip", "backend", "Application", "--reason", "fixed by hand")
	assert.Equal(t, "Application", override(v1alpha1.SkipAnnotation))
	assert.Equal(t, []string{s.User + `: group 2/2 "Application" skipped: fixed by hand`}, told("SkipRequested"))
	s.Says("unskip", "backend", "2")
	assert.Empty(t, override(v1alpha1.SkipAnnotation))
}
