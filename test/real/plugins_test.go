package real

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/containerlogs"
)

const (
	// opened is a condition of pods that only the story sets, so that a pod becomes ready exactly when the story wants it.
	opened corev1.PodConditionType = "example.com/opened"
	gpu    corev1.ResourceName     = "example.com/gpu"
)

func TestPodsThatAskForADeviceStartAfterItsPluginIsReady(t *testing.T) {
	s := newStory(t)
	key := "example.com/" + s.Namespace
	s.kubectl("label", "node", nodes[0], key+"=gpu")
	t.Cleanup(func() { s.kubectl("label", "node", nodes[0], key+"-") })
	plugin := s.daemonSet("plugin", probed(workload("-devices", "3", "device-plugin")))
	plugin.Spec.Template.Spec.NodeSelector = map[string]string{key: "gpu"}
	mountOfNode(&plugin.Spec.Template.Spec, "/var/lib/kubelet/device-plugins", corev1.MountPropagationNone)
	openedByStory(&plugin.Spec.Template.Spec)
	train := s.deployment("train", 2, probed(workload("-say", "GPUS=$GPUS", "serve")))
	train.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{gpu: resource.MustParse("1")}
	s.Create(
		s.sequence("devices").NodeScope().Label("Driver", app, "plugin").NodeSelector(key, "gpu").Label("Application", app, "train").Obj(),
		plugin, train,
	)

	// The kubelet knows the devices, but the plugin does not say yet that it is ready.
	s.awaitSaid(1, containerlogs.Of("plugin-"), containerlogs.Saying(containerlogs.Ready))
	s.awaitDevices(nodes[0], 3)
	s.awaitHeld("train-", 2)
	s.fence("devices-unready")
	s.expectSilent("train-")
	s.open("plugin-")
	s.awaitReady("train-", 2)
	s.expectOrder("plugin-", "train-")

	// A kubelet that starts forgets its plugins.
	s.node("stop", nodes[0])
	started := time.Now()
	s.node("start", nodes[0])
	s.awaitSaid(1, containerlogs.Of("plugin-"), containerlogs.Saying(containerlogs.Ready), containerlogs.Since(started))
	s.awaitDevices(nodes[0], 3)
	s.kubectl("scale", "deployment", "train", "--replicas=3")
	s.awaitReady("train-", 3)
	var devices []string
	for _, line := range s.said().Where(containerlogs.Of("train-"), containerlogs.Saying(containerlogs.Started)) {
		devices = append(devices, line.Text)
	}
	assert.ElementsMatch(s, []string{"STARTED serve GPUS=gpu-0", "STARTED serve GPUS=gpu-1", "STARTED serve GPUS=gpu-2"}, devices)
}

func TestVolumesAreMountedOnlyAfterTheirCSIDriverIsRegistered(t *testing.T) {
	s := newStory(t)
	driver := s.csiDriver()
	s.Create(
		s.sequence("storage").NodeScope().Label("Driver", app, "driver").Label("Application", "needs", "storage").Obj(),
		s.reader("early"), driver,
	)
	s.awaitSaid(len(nodes), containerlogs.Of("driver-"), containerlogs.Saying(containerlogs.Ready))
	s.awaitHeld("early-", len(nodes))
	s.fence("drivers-unready")
	s.expectSilent("early-")
	for range nodes {
		s.open("driver-")
	}
	s.awaitReady("early-", len(nodes))
	for _, node := range nodes {
		s.expectOrderOn(node, "driver-", "early-")
		s.expectRead(node, "early-", "v1 on "+node)
	}

	// The new driver comes to one node after the other, because the story says when it is ready. New pods start where the old one is.
	s.kubectl("patch", "daemonset", "driver", "--type=json",
		`--patch=[{"op": "replace", "path": "/spec/template/spec/containers/0/args/0", "value": "-text=v2"},
			{"op": "replace", "path": "/spec/template/spec/containers/0/args/1", "value": "-say=v2"}]`)
	newDriver := []containerlogs.Condition{containerlogs.Of("driver-"), containerlogs.Saying(containerlogs.Started), containing("v2")}
	upgraded := s.awaitSaid(1, newDriver...)[0]
	s.Create(s.reader("late"))
	s.awaitReady("late-", len(nodes)-1)
	s.awaitHeld("late-", 1)
	s.fence("upgrade")
	late := s.said().Where(containerlogs.Of("late-"))
	assert.Empty(s, late.Where(containerlogs.On(upgraded.Node)).String(), "pods started while the driver was replaced")
	for _, node := range nodes {
		if node != upgraded.Node {
			s.expectRead(node, "late-", "v1 on "+node)
		}
	}
	s.open("driver-")
	s.awaitReady("late-", len(nodes))
	s.expectRead(upgraded.Node, "late-", "v2 on "+upgraded.Node)
	s.awaitSaid(len(nodes), newDriver...)
	s.open("driver-")
	s.expectNoFailedMount("early-", "late-")

	// After a power failure the kubelet has to get to know the driver again.
	s.node("crash", nodes[0])
	s.awaitNode(nodes[0], false)
	s.awaitNotReadyOn(nodes[0], "driver-")
	s.Create(s.reader("boot"))
	s.awaitReady("boot-", len(nodes)-1) // the other one is created once the node is back
	booted := time.Now()
	s.node("start", nodes[0])
	s.awaitReady("boot-", len(nodes))
	since := s.said().Where(containerlogs.On(nodes[0]), containerlogs.Since(booted))
	s.expectLinesInOrder(since.Where(containerlogs.Of("driver-")), since.Where(containerlogs.Of("boot-")))
	s.expectRead(nodes[0], "boot-", "v2 on "+nodes[0])
	s.expectNoFailedMount("boot-")
}

// csiDriver begins a CSI driver as a DaemonSet, and creates what the cluster has to know of it.
func (s *story) csiDriver() *appsv1.DaemonSet {
	name := s.Namespace + ".example.com"
	object := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{
		AttachRequired: new(false), PodInfoOnMount: new(true),
		VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral},
	}}
	s.Create(object)
	s.Cleanup(func() {
		// A kubelet unmounts volumes by their driver, so the driver goes last.
		readers := client.MatchingLabels{"needs": "storage"}
		require.NoError(s, s.API.DeleteAllOf(context.Background(), &appsv1.DaemonSet{}, client.InNamespace(s.Namespace), readers))
		s.Await("the volumes to be unmounted", func() bool {
			var pods corev1.PodList
			return s.API.List(context.Background(), &pods, client.InNamespace(s.Namespace), readers) == nil && len(pods.Items) == 0
		})
		s.Delete(object)
	})
	container := probed(workload("-text=v1", "-say=v1", "-driver="+name, "csi-driver"))
	container.Env = []corev1.EnvVar{
		{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
	}
	container.SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	driver := s.daemonSet("driver", container)
	mountOfNode(&driver.Spec.Template.Spec, "/var/lib/kubelet", corev1.MountPropagationBidirectional)
	openedByStory(&driver.Spec.Template.Spec)
	return driver
}

// reader begins a DaemonSet whose pods read the file of a volume of the CSI driver before they serve.
func (s *story) reader(name string) *appsv1.DaemonSet {
	reader := workload("-file=/data/greeting", "read")
	reader.Name, reader.VolumeMounts = "read", []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	d := s.daemonSet(name, probed(workload("serve")))
	d.Labels = map[string]string{"needs": "storage"}
	d.Spec.Template.Labels["needs"] = "storage"
	d.Spec.Template.Spec.InitContainers = []corev1.Container{reader}
	d.Spec.Template.Spec.Volumes = []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: s.Namespace + ".example.com"}}},
	}
	return d
}

// mountOfNode gives the first container a directory of the node, at the same path.
func mountOfNode(spec *corev1.PodSpec, path string, propagation corev1.MountPropagationMode) {
	spec.Volumes = append(spec.Volumes,
		corev1.Volume{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}})
	spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts,
		corev1.VolumeMount{Name: "node", MountPath: path, MountPropagation: &propagation})
}

// openedByStory lets the pods be ready only once the story opens them.
func openedByStory(spec *corev1.PodSpec) {
	spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: opened}}
}

// open opens the next pod whose name begins with the prefix, and waits until it is ready.
func (s *story) open(prefix string) {
	s.Helper()
	var pod *corev1.Pod
	s.Await("a pod "+prefix+" to be opened", func() bool {
		for _, found := range s.pods(prefix) {
			if found.DeletionTimestamp == nil && found.Status.Phase == corev1.PodRunning && !slices.ContainsFunc(found.Status.Conditions, isOpened) {
				pod = found.DeepCopy()
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: opened, Status: corev1.ConditionTrue})
				return s.API.Status().Patch(s.Ctx, pod, client.StrategicMergeFrom(&found)) == nil
			}
		}
		return false
	})
	s.Await(pod.Name+" to be ready", func() bool { return cluster.IsReady(cluster.Get(s.Story, &corev1.Pod{}, pod.Name)) })
}

func isOpened(c corev1.PodCondition) bool {
	return c.Type == opened && c.Status == corev1.ConditionTrue
}

// awaitDevices waits until the kubelet of a node offers so many devices.
func (s *story) awaitDevices(name string, count int64) {
	s.Helper()
	s.Await(fmt.Sprintf("%d devices on %s", count, name), func() bool {
		node := &corev1.Node{}
		require.NoError(s, s.API.Get(s.Ctx, client.ObjectKey{Name: name}, node))
		offered := node.Status.Allocatable[gpu]
		return offered.Value() == count
	})
}

// awaitNotReadyOn waits until the API says of no pod on the node whose name begins with the prefix that it is ready.
func (s *story) awaitNotReadyOn(node, prefix string) {
	s.Helper()
	s.Await("no pod "+prefix+" to be ready on "+node, func() bool {
		return !slices.ContainsFunc(s.pods(prefix), func(pod corev1.Pod) bool { return pod.Spec.NodeName == node && cluster.IsReady(&pod) })
	})
}

// expectOrderOn is expectOrder on one node.
func (s *story) expectOrderOn(node, first, second string) {
	s.Helper()
	there := s.said().Where(containerlogs.On(node))
	s.expectLinesInOrder(there.Where(containerlogs.Of(first)), there.Where(containerlogs.Of(second)))
}

// expectRead says what the pods on the node whose names begin with the prefix read.
func (s *story) expectRead(node, prefix, text string) {
	s.Helper()
	read := s.said().Where(containerlogs.On(node), containerlogs.Of(prefix), containerlogs.Saying("READ"))
	assert.NotEmpty(s, read, "%s on %s read nothing", prefix, node)
	assert.Equal(s, read, read.Where(containing(text)))
}

// expectNoFailedMount says that the kubelet never tried in vain to mount a volume of the pods.
func (s *story) expectNoFailedMount(prefixes ...string) {
	s.Helper()
	var events eventsv1.EventList
	require.NoError(s, s.API.List(s.Ctx, &events, client.InNamespace(s.Namespace)))
	for _, event := range events.Items {
		if event.Reason == "FailedMount" {
			for _, prefix := range prefixes {
				assert.NotRegexp(s, "^"+prefix, event.Regarding.Name, event.Note)
			}
		}
	}
}

// containing selects the lines that contain the text.
func containing(text string) containerlogs.Condition {
	return func(l containerlogs.Line) bool { return strings.Contains(l.Text, text) }
}
