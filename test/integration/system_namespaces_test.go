package integration

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
)

const installation = "podsequence-system"

// systemPod is a pod of a namespace of the system, that names no scheduler. It may run where Pod Security is restricted.
func (s *story) systemPod(namespace, name string) *st.PodWrapper {
	pod := s.pod(s.Namespace + "-" + name).Namespace(namespace).SchedulerName("")
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
	return pod
}

// createSystemPod creates a pod, which is deleted when the test ends, and returns what says whether it is bound.
func (s *story) createSystemPod(pod *st.PodWrapper) (isBound func() bool) {
	s.Helper()
	s.createElsewhere(pod.Obj())
	key := client.ObjectKeyFromObject(pod.Obj())
	return func() bool {
		var now corev1.Pod
		require.NoError(s, s.API.Get(s.Ctx, key, &now))
		return now.Spec.NodeName != ""
	}
}

// createElsewhere creates an object outside of the story's namespace, which is deleted when the test ends.
func (s *story) createElsewhere(object client.Object) {
	s.Helper()
	s.Create(object)
	s.Cleanup(func() { assert.NoError(s, client.IgnoreNotFound(s.API.Delete(context.Background(), object))) })
}

// everythingAfter is "the platform first, then everything".
func (s *story) everythingAfter(platform string, rest v1alpha1.ClusterPodGroup) *v1alpha1.ClusterPodSequence {
	rest.PodGroup = v1alpha1.PodGroup{Name: "Everything else", PodSelector: &v1alpha1.LabelSelector{}}
	return &v1alpha1.ClusterPodSequence{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: v1alpha1.ClusterPodSequenceSpec{PodGroups: []v1alpha1.ClusterPodGroup{
			{PodGroup: v1alpha1.PodGroup{Name: "Platform", PodSelector: &v1alpha1.LabelSelector{}}, Namespaces: []string{platform}}, rest,
		}},
	}
}

const (
	programLabel = "app.kubernetes.io/name"
	programName  = "podsequence"
)

// The cluster does not lock itself out: neither kube-system nor PodSequence itself waits for "the platform first, then everything",
// though our scheduler schedules them.
func theClusterDoesNotLockItselfOut(t *testing.T, env *environment) {
	s, platform := newStoryIn(t, env), newStoryIn(t, env)
	platform.createPods(platform.pod("db").SchedulerName(""))
	sequence := s.everythingAfter(platform.Namespace, v1alpha1.ClusterPodGroup{NamespaceSelector: &v1alpha1.LabelSelector{}})
	s.createAcross(sequence)
	s.createPods(s.pod("app").SchedulerName(""))
	s.awaitHeldFor("app", `group 1/2 "Platform" of ClusterPodSequence `+s.Namespace)

	proxy := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: s.Namespace}}
	proxy.Spec.Template.Labels = map[string]string{"k8s-app": s.Namespace}
	proxy.Spec.Template.Spec = s.pod("any").SchedulerName("").Obj().Spec
	proxy.Spec.Template.Spec.TerminationGracePeriodSeconds = nil
	proxy.Spec.Selector = metav1.SetAsLabelSelector(proxy.Spec.Template.Labels)
	s.createElsewhere(proxy)
	controller := s.createSystemPod(s.systemPod(installation, "controller").Label(programLabel, programName))
	exporter := s.createSystemPod(s.systemPod(installation, "exporter"))
	s.Await("the DaemonSet of kube-system to run on all nodes", func() bool {
		var nodes corev1.NodeList
		require.NoError(s, s.API.List(s.Ctx, &nodes))
		var pods corev1.PodList
		require.NoError(s, s.API.List(s.Ctx, &pods, client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels(proxy.Spec.Template.Labels)))
		bound := 0
		for _, pod := range pods.Items {
			if pod.Spec.NodeName != "" {
				bound++
			}
		}
		return bound > 0 && bound == len(nodes.Items)
	})
	s.Await("PodSequence itself, and what else is in its namespace, to be bound", func() bool { return controller() && exporter() })
	assert.Empty(t, s.getPod("app").Spec.NodeName, "held all the time")
	platform.makeReady("db")
	s.awaitBound("app")
}

// Whoever lists the namespaces of the system means them, but never PodSequence itself.
func podsOfPodSequenceAreNeverHeld(t *testing.T, env *environment) {
	s, platform := newStoryIn(t, env), newStoryIn(t, env)
	platform.createPods(platform.pod("db").SchedulerName(""))
	s.createAcross(s.everythingAfter(platform.Namespace, v1alpha1.ClusterPodGroup{Namespaces: []string{metav1.NamespaceSystem, installation}}))
	own := s.sequence(s.Namespace).Pods("Nobody", "nobody").Label("Everything", "", "").Obj()
	own.Namespace = installation
	s.createElsewhere(own)
	exporter := s.createSystemPod(s.systemPod(installation, "exporter"))
	dns := s.createSystemPod(s.systemPod(metav1.NamespaceSystem, "dns").Label(programLabel, programName))
	controller := s.createSystemPod(s.systemPod(installation, "controller").Label(programLabel, programName))
	gated := s.createSystemPod(s.systemPod(installation, "gated").Label(programLabel, programName).SchedulingGates([]string{v1alpha1.DefaultSchedulingGateName}))
	s.Await("PodSequence itself to be bound", func() bool { return controller() && gated() })
	s.fence()
	assert.False(t, exporter(), "a pod beside it is held")
	assert.False(t, dns(), "the label makes nobody a pod of PodSequence")
	platform.makeReady("db")
	s.Await("the pod of kube-system to be bound", dns)
	assert.False(t, exporter(), "the other sequence still holds it")
}

// The opt-in of the namespace where PodSequence runs does not count.
func TestTheNamespaceOfTheInstallationDoesNotOptIn(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.label(installation, optIn, "enabled")
	s.Cleanup(func() {
		remove := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"`+optIn+`": null}}}`))
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: installation}}
		assert.NoError(s, s.API.Patch(context.Background(), namespace, remove))
	})
	s.optIn("enabled") // the API server sees the labels of both namespaces in this order
	pod := s.systemPod(installation, "controller").Label(programLabel, programName).Obj()
	require.NoError(t, s.API.Create(s.Ctx, pod, client.DryRunAll))
	assert.NotEqual(t, ourScheduler, pod.Spec.SchedulerName)
}

// kubectl shows what the policy says: nobody is refused.
func TestWarningsOfClusterPodSequences(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	output := ""
	s.Await("the API server to know the policy", func() (warned bool) {
		var err error
		output, err = s.env.Shell(t, `kubectl apply --dry-run=server -f - <<'Y'
apiVersion: scheduling.example.com/v1alpha1
kind: ClusterPodSequence
metadata: {name: `+s.Namespace+`}
spec:
  podGroups:
  - {name: Proxies, namespaceSelector: {}, podSelector: {matchLabels: {app: proxy}}}
  - {name: System, namespaces: [kube-system, podsequence-system], podSelector: {}}
Y`)
		require.NoError(t, err, output)
		return strings.Contains(output, "Warning: ")
	})
	for _, want := range []string{
		"Warning: ", `group "System" lists namespace kube-system`, `group "System" lists namespace podsequence-system`,
		`group "Proxies", whose namespaceSelector may select namespaces of several teams`, "created (server dry run)",
	} {
		assert.Contains(t, output, want)
	}
}

// The Job controller counts activeDeadlineSeconds while the pods of a Job are held, as docs/contributing/traps.md and lint say.
func TestTheDeadlineOfAJobRunsWhileItsPodsAreHeld(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Pods("Database", "db").Label("Migration", "tier", "migration").Complete().Obj())
	s.createPods(s.pod("db"))
	migrate := s.job("migrate", "migration", 1, 1)
	migrate.Spec.ActiveDeadlineSeconds = ptr.To[int64](2)
	s.Create(migrate)
	s.Await("the Job to fail", func() bool { return s.jobCondition("migrate", batchv1.JobFailed) })
	var job batchv1.Job
	require.NoError(t, s.API.Get(s.Ctx, types.NamespacedName{Namespace: s.Namespace, Name: "migrate"}, &job))
	for _, condition := range job.Status.Conditions {
		if condition.Type == batchv1.JobFailed {
			assert.Equal(t, batchv1.JobReasonDeadlineExceeded, condition.Reason)
		}
	}
	s.awaitBound("db")
	assert.False(t, s.everBound("migration"), "no pod of the Job ever had a node")
}

// everBound reports whether any pod of a tier that is left has a node.
func (s *story) everBound(tier string) bool {
	s.Helper()
	return len(s.podsOf(tier, func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" })) > 0
}
