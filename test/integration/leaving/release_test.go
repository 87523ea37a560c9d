package leaving

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const ourScheduler = "podsequence-scheduler"

// night is a namespace while neither program of PodSequence runs, and somebody who may edit in it.
type night struct{ *cluster.Person }

// heldTemplate makes the template of held pods: they name our scheduler, and carry the label and the gate.
func heldTemplate(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app, v1alpha1.SequenceLabel: "shop"}},
		Spec: corev1.PodSpec{
			SchedulerName:   ourScheduler,
			SchedulingGates: []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}},
			Containers:      []corev1.Container{{Name: "work", Image: "work"}},
		},
	}
}

func selecting(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func (n *night) statefulSet(name string, replicas int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: n.Meta(name), Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, Selector: selecting(name), Template: heldTemplate(name), PodManagementPolicy: appsv1.ParallelPodManagement,
	}}
}

// pods returns the pods of an app by name.
func (n *night) pods(app string) map[string]*corev1.Pod {
	n.Helper()
	var list corev1.PodList
	require.NoError(n, n.API.List(n.Ctx, &list, client.InNamespace(n.Namespace), client.MatchingLabels{"app": app}))
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods[list.Items[i].Name] = &list.Items[i]
		}
	}
	return pods
}

// awaitPods waits until an app has so many pods, all with a node or none of them.
func (n *night) awaitPods(app string, count int, bound bool) map[string]*corev1.Pod {
	n.Helper()
	var pods map[string]*corev1.Pod
	cluster.Eventually(n, fmt.Sprintf("%d pods of %s", count, app), func() error {
		pods = n.pods(app)
		if len(pods) != count {
			return fmt.Errorf("%s has %d pods", app, len(pods))
		}
		for name, pod := range pods {
			if (pod.Spec.NodeName != "") != bound {
				return fmt.Errorf("pod %s has node %q", name, pod.Spec.NodeName)
			}
		}
		return nil
	})
	return pods
}

// awaitReleased waits until the stock scheduler has bound all pods of an app.
func (n *night) awaitReleased(app string, count int) {
	n.Helper()
	for name, pod := range n.awaitPods(app, count, true) {
		assert.Equal(n, corev1.DefaultSchedulerName, pod.Spec.SchedulerName, name)
		assert.NotContains(n, pod.Labels, v1alpha1.SequenceLabel, name)
		assert.Empty(n, pod.Spec.SchedulingGates, name)
	}
}

// release releases a workload, and returns what the command prints.
func (n *night) release(workload string) string {
	n.Helper()
	stdout, stderr := n.Says("release", workload, "--reason", "the scheduler is down")
	assert.Empty(n, stderr)
	return stdout
}

// At night both programs are down, and pods must start nevertheless.
func TestWorkloadsAreReleasedWhileBothProgramsAreDown(t *testing.T) {
	t.Parallel()
	c := cluster.Own(t, controlplane.Options{Nodes: 2})
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		require.NoError(t, c.Kill(t.Context(), program))
	}
	for name, test := range map[string]func(*testing.T, *night){
		"a StatefulSet": releaseStatefulSet, "a StatefulSet with OnDelete": releaseOnDelete, "a DaemonSet": releaseDaemonSet,
		"a Deployment": releaseDeployment, "a ReplicaSet": releaseReplicaSet, "a CronJob": releaseCronJob,
		"a pod and a Job, by the commands": releaseByCommands, "a namespace that opts in": releaseInOptedIn,
		"a label in the selector": releaseWithSelector, "a dry run": tryRelease, "somebody who may only look": mayOnlyLook,
	} {
		t.Run(name, func(t *testing.T) {
			role := "edit"
			if name == "somebody who may only look" {
				role = "view"
			}
			test(t, &night{cluster.NewStory(t, c).Person(role)})
		})
	}
}

func releaseStatefulSet(t *testing.T, n *night) {
	set := n.statefulSet("db", 2)
	set.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	n.Create(set)
	n.awaitPods("db", 1, false)
	output := n.release("statefulset/db")
	assert.Regexp(t, `patched +statefulset/db +removed from the template: schedulerName podsequence-scheduler; `+
		`gate podsequence.example.com/sequence-gate; label podsequence.example.com/sequence`, output)
	assert.Contains(t, output, "statefulset/db rolls out the changed template. Watch it:\n"+
		"    kubectl rollout status -n "+n.Namespace+" statefulset/db")
	n.awaitReleased("db", 2)
	events := n.Events("db")
	var notes []string
	for _, event := range events {
		if event.Reason == "ReleaseRequested" {
			notes = append(notes, event.Note)
			assert.Equal(t, "StatefulSet", event.Regarding.Kind)
		}
	}
	assert.Equal(t, []string{n.User + " released StatefulSet " + n.Namespace + "/db from PodSequence: the scheduler is down"}, notes)

	again := n.release("sts/db")
	assert.Contains(t, again, "statefulset/db: there is nothing to release.")
}

// With OnDelete, the pod that has a node stays as it is.
func releaseOnDelete(t *testing.T, n *night) {
	set := n.statefulSet("cache", 1)
	set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	set.Spec.Template = heldTemplate("cache")
	set.Spec.Template.Spec.SchedulerName = ""
	set.Spec.Template.Spec.SchedulingGates = nil
	delete(set.Spec.Template.Labels, v1alpha1.SequenceLabel)
	n.Create(set)
	before := n.awaitPods("cache", 1, true)["cache-0"]
	cluster.Change(n.Story, set, func(s *appsv1.StatefulSet) {
		s.Spec.Template = heldTemplate("cache")
		s.Spec.Replicas = new(int32(2))
	})
	n.Await("the second pod", func() bool { return n.pods("cache")["cache-1"] != nil })

	n.release("statefulset/cache")
	n.awaitReleased("cache", 2)
	assert.Equal(t, before.UID, n.pods("cache")["cache-0"].UID, "the pod that had a node is the same")
}

func releaseDaemonSet(t *testing.T, n *night) {
	n.Create(&appsv1.DaemonSet{ObjectMeta: n.Meta("agent"), Spec: appsv1.DaemonSetSpec{
		Selector: selecting("agent"), Template: heldTemplate("agent"),
	}})
	n.awaitPods("agent", 2, false)
	output := n.release("daemonset/agent")
	assert.Contains(t, output, "daemonset/agent rolls out the changed template.")
	n.awaitReleased("agent", 2)
}

func releaseDeployment(t *testing.T, n *night) {
	n.Create(&appsv1.Deployment{ObjectMeta: n.Meta("web"), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(3)), Selector: selecting("web"), Template: heldTemplate("web"),
	}})
	n.awaitPods("web", 3, false)
	n.release("deployment/web")
	n.awaitReleased("web", 3)

	paused := &appsv1.Deployment{ObjectMeta: n.Meta("paused"), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(1)), Selector: selecting("paused"), Template: heldTemplate("paused"),
	}}
	n.Create(paused)
	n.awaitPods("paused", 1, false)
	cluster.Change(n.Story, paused, func(d *appsv1.Deployment) { d.Spec.Paused = true })
	stdout, stderr, err := n.Podseq("release", "deploy/paused", "--reason", "the scheduler is down")
	require.Error(t, err)
	assert.Contains(t, stderr, "deployment/paused is not released completely")
	n.follow(stdout)
	n.awaitReleased("paused", 1)
}

func releaseReplicaSet(t *testing.T, n *night) {
	n.Create(&appsv1.ReplicaSet{ObjectMeta: n.Meta("web"), Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32(2)), Selector: selecting("web"), Template: heldTemplate("web"),
	}})
	n.awaitPods("web", 2, false)
	n.release("replicaset/web")
	n.awaitReleased("web", 2)
}

func releaseCronJob(t *testing.T, n *night) {
	template := heldTemplate("nightly")
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	cron := &batchv1.CronJob{ObjectMeta: n.Meta("nightly"), Spec: batchv1.CronJobSpec{
		Schedule: "0 0 1 1 *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}},
	}}
	n.Create(cron)
	n.release("cronjob/nightly")
	found := cluster.Get(n.Story, &batchv1.CronJob{}, "nightly").Spec.JobTemplate.Spec.Template
	assert.Equal(t, corev1.DefaultSchedulerName, found.Spec.SchedulerName)
	assert.Empty(t, found.Spec.SchedulingGates)
	assert.Equal(t, map[string]string{"app": "nightly"}, found.Labels)
}

// follow runs the commands that a release says to run.
func (n *night) follow(output string) {
	n.Helper()
	commands := report(strings.ReplaceAll(output, "    kubectl ", "  kubectl ")).commands()
	require.NotEmpty(n, commands, output)
	for _, command := range commands {
		n.Cluster.MustShell(n, command)
	}
}

// Neither a Job nor a bare pod can be changed: the command says what to do.
func releaseByCommands(t *testing.T, n *night) {
	bare := &corev1.Pod{ObjectMeta: n.Meta("bare"), Spec: heldTemplate("bare").Spec}
	bare.Labels = heldTemplate("bare").Labels
	gated := bare.DeepCopy()
	gated.Name, gated.Labels, gated.Spec.SchedulerName = "gated", map[string]string{"app": "gated"}, "another-scheduler"
	template := heldTemplate("import")
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	n.Create(bare, gated, &batchv1.Job{ObjectMeta: n.Meta("import"), Spec: batchv1.JobSpec{Template: template}})
	for _, app := range []string{"bare", "import"} {
		n.awaitPods(app, 1, false)
	}
	for _, workload := range []string{"pod/bare", "job/import"} {
		stdout, _, err := n.Podseq("release", workload, "--reason", "the scheduler is down")
		require.Error(t, err)
		n.follow(stdout)
	}
	n.awaitPods("bare", 1, true)
	n.awaitPods("import", 1, true)

	n.release("pod/gated")
	assert.Empty(t, cluster.Get(n.Story, &corev1.Pod{}, "gated").Spec.SchedulingGates)
}

// While the namespace opts in, new pods would go to our scheduler again.
func releaseInOptedIn(t *testing.T, n *night) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Namespace}}
	n.Patch(namespace, `{"metadata":{"labels":{"podsequence.example.com/scheduling":"enabled"}}}`)
	n.Await("the policy to count", func() bool {
		probe := &corev1.Pod{ObjectMeta: n.Meta("probe"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "work", Image: "work"}}}}
		require.NoError(n, n.API.Create(n.Ctx, probe, client.DryRunAll))
		return probe.Spec.SchedulerName == ourScheduler
	})
	template := heldTemplate("web")
	template.Spec.SchedulerName, template.Spec.SchedulingGates = "", nil
	delete(template.Labels, v1alpha1.SequenceLabel)
	n.Create(&appsv1.Deployment{ObjectMeta: n.Meta("web"), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), Selector: selecting("web"), Template: template,
	}})
	before := n.awaitPods("web", 2, false)

	stdout, stderr, err := n.Podseq("release", "deployment/web", "--reason", "the scheduler is down")
	require.Error(t, err)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "namespace "+n.Namespace+" opts in")
	assert.Equal(t, uids(before), uids(n.pods("web")), "nothing was changed")
	_, command, found := strings.Cut(stderr, "\n  ")
	require.True(t, found, stderr)
	n.Cluster.MustShell(t, command)

	n.release("deployment/web")
	n.awaitReleased("web", 2)
}

// uids returns the UIDs of pods by name.
func uids(pods map[string]*corev1.Pod) map[string]types.UID {
	found := map[string]types.UID{}
	for name, pod := range pods {
		found[name] = pod.UID
	}
	return found
}

// kustomize may put the label into selectors, which cannot be changed.
func releaseWithSelector(t *testing.T, n *night) {
	selector := selecting("web")
	selector.MatchLabels[v1alpha1.SequenceLabel] = "shop"
	n.Create(&appsv1.Deployment{ObjectMeta: n.Meta("web"), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(1)), Selector: selector, Template: heldTemplate("web"),
	}})
	n.awaitPods("web", 1, false)
	stdout, stderr, err := n.Podseq("release", "deployment/web", "--reason", "the scheduler is down")
	if err != nil { // a policy gives pods with the label to our scheduler
		assert.Contains(t, stderr, "which cannot be removed: the selector of deployment/web needs it. Nothing was changed.")
		n.awaitPods("web", 1, false)
		return
	}
	assert.Contains(t, stdout, "The selector of deployment/web needs the label podsequence.example.com/sequence, so its pods keep it.")
	n.awaitPods("web", 1, true)
}

// Dry runs say the same as the real one, and change nothing.
func tryRelease(t *testing.T, n *night) {
	n.Create(n.statefulSet("db", 2))
	before := n.awaitPods("db", 2, false)
	version := cluster.Get(n.Story, &appsv1.StatefulSet{}, "db").Generation
	for mode, suffix := range map[string]string{"server": "(server dry run)", "client": "(dry run)"} {
		stdout, stderr := n.Says("release", "statefulset/db", "--dry-run="+mode)
		assert.Empty(t, stderr)
		assert.Regexp(t, `patched +statefulset/db +.*`+suffix, stdout)
		assert.Regexp(t, `deleted +pod/db-1 +.*`+suffix, stdout)
	}
	assert.Equal(t, uids(before), uids(n.pods("db")))
	assert.Equal(t, version, cluster.Get(n.Story, &appsv1.StatefulSet{}, "db").Generation)
	for _, event := range n.Events("db") {
		assert.NotEqual(t, "ReleaseRequested", event.Reason)
	}
}

func mayOnlyLook(t *testing.T, n *night) {
	n.Create(n.statefulSet("db", 1))
	n.awaitPods("db", 1, false)
	stdout, stderr, err := n.Podseq("release", "statefulset/db", "--reason", "trying")
	require.Error(t, err)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "you may not patch statefulsets and delete pods in namespace "+n.Namespace+
		", so nothing was changed: ask for the role edit there")
	_, stderr, err = n.Podseq("release", "statefulset/nothing", "--reason", "trying")
	require.Error(t, err)
	assert.Contains(t, stderr, "statefulset/nothing does not exist in namespace "+n.Namespace+": kubectl get statefulsets -n "+n.Namespace)
}
