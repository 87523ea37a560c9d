package deployment

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/report"
)

const otherGate = "example.com/other"

// heldPod creates a pod that nobody schedules, with a gate of ours and one of somebody else's.
func heldPod(s *site, namespace string) *corev1.Pod {
	s.Helper()
	pod := ourPod(namespace, "held").SchedulerName("nobody").SchedulingGates([]string{sequenceGate, otherGate}).
		Label("app", "held").Label("team", "blue").Annotation("note", "kept").Annotation("other", "kept").Obj()
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("0.5"), "memory": resource.MustParse("1.5Gi")}
	create(s, pod)
	return pod
}

// terminatingPod creates a pod that is being deleted, and stays until its finalizer is removed.
func terminatingPod(s *site, namespace string) {
	s.Helper()
	pod := ourPod(namespace, "terminating").SchedulerName("nobody").Obj()
	pod.Finalizers = []string{"example.com/kept"}
	create(s, pod)
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse})
	require.NoError(s, s.cluster.API.Status().Update(s.Context(), pod))
	require.NoError(s, s.cluster.API.Delete(s.Context(), pod))
	s.Cleanup(func() {
		require.NoError(s, s.cluster.API.Patch(context.Background(), pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	})
}

type refusals = map[string]struct {
	try  attempt
	want string
}

// refusedOfPods are writes that neither of our programs makes.
func refusedOfPods(user string) refusals {
	may := ": " + user + " may not change these fields of a pod, only gates podsequence.example.com/*"
	condition := func(kind string) string {
		return `{"status":{"conditions":[{"type":"` + kind + `","status":"True"}]}}`
	}
	return refusals{
		"another image":             {patchingPod("held", `{"spec":{"containers":[{"name":"con0","image":"example.com/evil"}]}}`), "spec.containers" + may},
		"a deadline":                {patchingPod("held", `{"spec":{"activeDeadlineSeconds":1}}`), "spec.activeDeadlineSeconds" + may},
		"a node selector":           {patchingPod("held", `{"spec":{"nodeSelector":{"a":"b"}}}`), "spec.nodeSelector" + may},
		"a toleration":              {patching(pods, "held", types.JSONPatchType, `[{"op":"add","path":"/spec/tolerations/-","value":{"operator":"Exists"}}]`), "spec.tolerations" + may},
		"to lift a gate of others":  {patchingPod("held", `{"spec":{"schedulingGates":[{"$patch":"delete","name":"`+otherGate+`"}]}}`), "spec.schedulingGates[example.com/other]" + may},
		"to lift every gate":        {patchingPod("held", `{"spec":{"schedulingGates":null}}`), "spec.schedulingGates[example.com/other]" + may},
		"a changed label":           {patchingPod("held", `{"metadata":{"labels":{"app":"shop"}}}`), "metadata.labels"},
		"to remove a label":         {patchingPod("held", `{"metadata":{"labels":{"app":null}}}`), "metadata.labels"},
		"an annotation":             {patchingPod("held", `{"metadata":{"annotations":{"new":"a"}}}`), "metadata.annotations[new]" + may},
		"a changed annotation":      {patchingPod("held", `{"metadata":{"annotations":{"note":"a"}}}`), "metadata.annotations[note]" + may},
		"to remove annotations":     {patchingPod("held", `{"metadata":{"annotations":null}}`), "metadata.annotations[note]"},
		"an owner":                  {patchingPod("held", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"a"}]}}`), "metadata.ownerReferences" + may},
		"a finalizer":               {patchingPod("held", `{"metadata":{"finalizers":["example.com/stay"]}}`), "metadata.finalizers" + may},
		"a label with the status":   {patchingPodStatus("held", `{"metadata":{"labels":{"app":"shop"}}}`), "metadata.labels"},
		"a finalizer by the status": {patchingPodStatus("held", `{"metadata":{"finalizers":["example.com/stay"]}}`), "metadata.finalizers" + may},
		"that a pod is ready":       {patchingPodStatus("held", condition("Ready")), "status.conditions[Ready]" + may},
		"to remove conditions":      {patchingPodStatus("terminating", `{"status":{"conditions":null}}`), "status.conditions[Ready]" + may},
		"that a pod has failed":     {patchingPodStatus("held", `{"status":{"phase":"Failed"}}`), "status.phase" + may},
		"an address":                {patchingPodStatus("held", `{"status":{"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}]}}`), "status.podIP"},
		"a prefix of names":         {patchingPod("held", `{"metadata":{"generateName":"a-"}}`), "metadata.generateName" + may},
		"a label by apply":          {applying(pods, "held", `{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"app":"shop"}}}`), "metadata.labels"},
		"all of it at once":         {patchingPod("held", `{"metadata":{"finalizers":["example.com/stay"]},"spec":{"activeDeadlineSeconds":1}}`), "spec.activeDeadlineSeconds, metadata.finalizers" + may},
	}
}

// refusedByRoles are writes and reads that neither of our programs may ask for.
func refusedByRoles() refusals {
	const patched, created, deleted = "cannot patch resource", "cannot create resource", "cannot deletecollection resource"
	role := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"new"}}`
	token := `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","metadata":{"name":"default"}}`
	newPod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"new"},"spec":{"containers":[{"name":"a","image":"example.com/evil"}]}}`
	privileged := `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`
	return refusals{
		"an ephemeral container": {patchingPodPart("held", "ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"a","image":"example.com/evil"}]}}`), patched},
		"another size of a pod":  {patchingPodPart("held", "resize", `{"spec":{"containers":[{"name":"con0","resources":{"requests":{"cpu":"1m"}}}]}}`), patched},
		"an eviction":            {creating(pods, "", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"held"}}`, "eviction"), created},
		"a command in a pod":     {creating(pods, "", `{"apiVersion":"v1","kind":"PodExecOptions","metadata":{"name":"held"}}`, "exec"), created},
		"a new pod":              {creating(pods, "", newPod), created},
		"a new pod by apply":     {applying(pods, "new", newPod), created},
		"to delete all pods":     {deletingAll(pods), deleted},
		"to read a Secret":       {updating(secrets, "", "any"), "cannot get resource"},
		"a new Secret":           {creating(secrets, "", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"new"}}`), created},
		"a token of an account":  {creating(accounts, "", token, "token"), created},
		"a new role":             {creating(roles, "", role), created},
		"a label of a namespace": {patching(namespaces, "any", types.MergePatchType, privileged), patched},
	}
}

func patchingPodPart(name, subresource, patch string) attempt {
	return patching(pods, name, types.StrategicMergePatchType, patch, subresource)
}

// acceptedOfPods are writes that both programs make, by the very patches that they send.
func acceptedOfPods(held *corev1.Pod) map[string]attempt {
	lift := string(sequence.LiftPatch(sequence.Lift{UID: held.UID, Gates: []string{sequenceGate}}))
	waiting := string(report.WaitingPatch(held, "waiting for group 1/3", time.Now()))
	return map[string]attempt{
		"to lift our gate":            patchingPod("held", lift),
		"to say what a pod waits for": patchingPodStatus("held", waiting),
		"tolerations that every update of a pod adds": patchingPod("held", `{"spec":{"tolerations":[
			{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},
			{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]}}`),
		"a condition of a pod that is being deleted": patchingPodStatus("terminating",
			`{"status":{"conditions":[{"type":"PodScheduled","status":"False","message":"waits"}]}}`),
	}
}

// A patch of pods would let a stolen token run any image in any pod.
func TestAStolenTokenOfTheSchedulerChangesNothingElseOfPods(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	held := heldPod(s, ns)
	terminatingPod(s, ns)
	stolen := stealToken(s, "podsequence-scheduler", ns)
	refused := refusedOfPods("podsequence-scheduler")
	stolen.awaitRefusal(refused["another image"].try, "podsequence-scheduler-pods")
	stolen.expectRefused(refused)
	stolen.expectRefused(refusedByRoles())
	stolen.expectRefused(refusals{
		"the label of groups that run": {patchingPod("held", `{"metadata":{"labels":{"podgroup.jhwagner.github.io/ready":"true"}}}`), "metadata.labels"},
	})
	stolen.expectAccepted(acceptedOfPods(held))
	stolen.expectAccepted(map[string]attempt{
		"that a pod cannot be scheduled, and a nomination": patchingPodStatus("held",
			`{"status":{"nominatedNodeName":"node-0","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}}`),
		"that a pod is preempted": patchingPodStatus("terminating",
			`{"status":{"conditions":[{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}]}}`),
		"the deletion of a pod that is preempted": deleting(pods, "held"),
	})
}

func TestAStolenTokenOfTheControllerChangesNothingElseOfPods(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	held := heldPod(s, ns)
	terminatingPod(s, ns)
	stolen := stealToken(s, "podsequence-controller", ns)
	refused := refusedOfPods("podsequence-controller")
	stolen.awaitRefusal(refused["another image"].try, "podsequence-controller-pods")
	stolen.expectRefused(refused)
	stolen.expectRefused(refusedByRoles())
	stolen.expectRefused(refusals{
		"a nomination": {patchingPodStatus("held", `{"status":{"nominatedNodeName":"node-0"}}`), "status.nominatedNodeName"},
		"that a pod is preempted": {patchingPodStatus("held",
			`{"status":{"conditions":[{"type":"DisruptionTarget","status":"True"}]}}`), "status.conditions[DisruptionTarget]"},
		"a label beside ours": {patching(pods, "held", types.MergePatchType,
			`{"metadata":{"labels":{"podgroup.jhwagner.github.io/ready":"true","app":"shop"}}}`), "metadata.labels[app]: podsequence-controller may not"},
		"the deletion of a pod": {deleting(pods, "held"), "cannot delete resource"},
	})
	stolen.expectAccepted(acceptedOfPods(held))
	stolen.expectAccepted(map[string]attempt{
		"the label of groups that run": patching(pods, "held", types.MergePatchType,
			fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{"podgroup.jhwagner.github.io/ready":"true"}}}`, held.UID)),
		"to remove it": patching(pods, "held", types.MergePatchType,
			fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{"podgroup.jhwagner.github.io/ready":null}}}`, held.UID)),
	})
}

// Loops in expressions take the API server time by the square of what they go through.
func TestLargePodsAreReleasedUpToALimit(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	const limit = 1000
	large := func(name string, gates int) *corev1.Pod {
		pod := ourPod(ns, name).SchedulerName("nobody").SchedulingGates([]string{sequenceGate}).Obj()
		pod.Annotations, pod.Labels = map[string]string{}, map[string]string{}
		for i := range limit {
			pod.Annotations[fmt.Sprintf("a%d", i)] = strings.Repeat("a", 100)
			pod.Labels[fmt.Sprintf("l%d", i)] = "a"
			pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: fmt.Sprintf("E%d", i), Value: "a"})
		}
		for i := range gates - 1 {
			pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: fmt.Sprintf("example.com/%d", i)})
		}
		create(s, pod)
		return pod
	}
	lifted, tooLarge := large("large", 100), large("too-large", 101)
	lift := func(pod *corev1.Pod) attempt {
		return patchingPod(pod.Name, string(sequence.LiftPatch(sequence.Lift{UID: pod.UID, Gates: []string{sequenceGate}})))
	}
	for _, program := range []string{"podsequence-scheduler", "podsequence-controller"} {
		stolen := stealToken(s, program, ns)
		stolen.awaitRefusal(lift(tooLarge), program+"-pods")
		stolen.expectRefused(refusals{program + " and a larger pod": {lift(tooLarge), program + " may not change a pod with more than 1000"}})
		stolen.expectAccepted(map[string]attempt{
			program + " and a large pod": lift(lifted),
			program + " and the status of a larger pod": patchingPodStatus("too-large",
				`{"status":{"conditions":[{"type":"PodScheduled","status":"False","message":"waits"}]}}`),
		})
	}
}
