package sequence

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// overrideBy sets an annotation that overrides the spec. A time is told by how far it is from now.
func overrideBy(t *testing.T, s *scenario, ps *v1alpha1.PodSequence, arg datadriven.CmdArg) {
	annotation := map[string]string{
		"override-suspend": v1alpha1.SuspendAnnotation, "override-skip": v1alpha1.SkipAnnotation,
		"override-until": v1alpha1.OverrideUntilAnnotation, "override-reason": v1alpha1.OverrideReasonAnnotation,
	}[arg.Key]
	value := strings.Join(arg.Vals, ", ")
	if after, err := time.ParseDuration(value); arg.Key == "override-until" && err == nil {
		value = s.now().Add(after).UTC().Format(time.RFC3339)
	}
	metav1.SetMetaDataAnnotation(&ps.ObjectMeta, annotation, value)
}

func (s *scenario) parseSequence(t *testing.T, d *datadriven.TestData, name string) *v1alpha1.PodSequence {
	ps := MakeSequence(oracleNamespace, name).UID("uid-of-" + name)
	ps.CreationTimestamp = s.now()
	ps.ResourceVersion = strconv.Itoa(s.version)
	if old := s.sequences[name]; old != nil {
		ps.CreationTimestamp, ps.Status = old.CreationTimestamp, old.Status
	}
	for _, arg := range d.CmdArgs[1:] {
		switch value := strings.Join(arg.Vals, ""); arg.Key {
		case "uid":
			ps.UID(value)
			ps.Status = v1alpha1.PodSequenceStatus{}
		case "generation":
			ps.Generation(int64(number(t, d, value)))
		case "gate":
			ps.Gate(value)
		case "namespace":
			ps.TargetNamespace(value)
		case "from":
			ps.TargetNamespace(ps.Namespace)
			ps.Namespace = value
		case "node-scope":
			ps.NodeScope()
		case "continuous":
			ps.Mode(v1alpha1.Continuous)
		case "suspend":
			ps.Suspend()
		case "dry-run":
			ps.Spec.DryRun = true
		case "override-suspend", "override-skip", "override-until", "override-reason":
			overrideBy(t, s, ps.Obj(), arg)
		default:
			d.Fatalf(t, "unknown argument %s", arg.Key)
		}
	}
	for line := range strings.Lines(d.Input) {
		title, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		members, options, _ := strings.Cut(text, ";")
		members = strings.TrimSpace(members)
		key, value, isLabel := strings.Cut(members, "=")
		switch {
		case members == "*":
			ps.Label(title, "", "")
		case members == "none":
			ps.Spec.PodGroups = append(ps.Spec.PodGroups, v1alpha1.PodGroup{Name: title})
		case isLabel:
			ps.Label(title, key, value)
		default:
			ps.Pods(title, strings.Fields(members)...)
		}
		for option := range strings.SplitSeq(options, ";") {
			if option = strings.TrimSpace(option); !s.parseWhere(name, len(ps.Spec.PodGroups)-1, option) {
				parseGroupOption(t, d, ps, option)
			}
		}
	}
	return ps.Obj()
}

// parseWhere reads where a group of a ClusterPodSequence has its members, if that is what the option says.
func (s *scenario) parseWhere(name string, group int, option string) bool {
	key, value, _ := strings.Cut(option, "=")
	switch {
	case s.clusters[name] == nil, key != "in" && key != "where":
		return false
	case key == "in":
		s.clusters[name][group] = v1alpha1.ClusterPodGroup{Namespaces: strings.Split(value, ",")}
		return true
	}
	selector := &v1alpha1.LabelSelector{}
	if key, value, ok := strings.Cut(value, "="); ok {
		selector.MatchLabels = map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}
	}
	s.clusters[name][group] = v1alpha1.ClusterPodGroup{NamespaceSelector: selector}
	return true
}

func parseGroupOption(t *testing.T, d *datadriven.TestData, ps *SequenceWrapper, option string) {
	g := &ps.Spec.PodGroups[len(ps.Spec.PodGroups)-1]
	switch key, value, _ := strings.Cut(option, "="); key {
	case "":
	case "complete":
		ps.Complete()
	case "started":
		g.RequiredStatus = v1alpha1.RequireStarted
	case "condition":
		g.RequiredCondition = value
	case "min":
		ps.MinAvailable(value)
	case "expect":
		g.ExpectedPods = int32(number(t, d, value))
	case "min-ready":
		g.MinReadySeconds = new(int32(number(t, d, value)))
	case "wait":
		ps.Wait(value)
	case "timeout":
		ps.Timeout(value, g.OnTimeout)
	case "on-timeout":
		ps.Timeout(string(g.Timeout), v1alpha1.TimeoutPolicy(value))
	case "on":
		key, value, _ := strings.Cut(value, "=")
		ps.NodeSelector(key, value)
	case "after":
		g.DependsOn = strings.Fields(value)
	case "skip":
		g.Skip = true
	case "object":
		g.Objects = append(g.Objects, awaitedObject(value))
	case "node":
		g.NodeConditions = append(g.NodeConditions, awaitedCondition(value))
	default:
		d.Fatalf(t, "unknown option %s", option)
	}
}

func (s *scenario) parseNamespace(t *testing.T, d *datadriven.TestData, name string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: strconv.Itoa(s.version)}}
	for _, arg := range d.CmdArgs[1:] {
		if arg.Key == "labels" {
			ns.Labels = map[string]string{}
			addLabels(ns.Labels, arg.Vals)
			continue
		}
		if arg.Key == "terminating" {
			ns.DeletionTimestamp = ptr.To(s.now())
			continue
		}
		if arg.Key == "uid" {
			ns.UID = types.UID(arg.Vals[0])
			continue
		}
		if arg.Key == "require" {
			metav1.SetMetaDataAnnotation(&ns.ObjectMeta, v1alpha1.RequireSequenceAnnotation, v1alpha1.RequireSequence)
			continue
		}
		if arg.Key != "allow" {
			d.Fatalf(t, "unknown argument %s", arg.Key)
		}
		metav1.SetMetaDataAnnotation(&ns.ObjectMeta, v1alpha1.AllowSequencesFromAnnotation, strings.Join(arg.Vals, ", "))
	}
	return ns
}

// timeArgument reads a time, which is given as since the beginning.
func timeArgument(t *testing.T, d *datadriven.TestData, value string) metav1.Time {
	since, err := time.ParseDuration(value)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return metav1.NewTime(scenarioEpoch.Add(since))
}

func (s *scenario) parsePod(t *testing.T, d *datadriven.TestData, name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: oracleNamespace, Name: name, UID: types.UID("uid-of-" + name),
		ResourceVersion: strconv.Itoa(s.version), Labels: map[string]string{}, CreationTimestamp: s.now(),
	}}
	p.Spec.SchedulerName = oracleScheduler
	if old := s.pods[name]; old != nil {
		p.CreationTimestamp = old.CreationTimestamp
	}
	ready := func(at metav1.Time) {
		if p.Spec.NodeName == "" {
			p.Spec.NodeName = "node"
		}
		p.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at},
		}
	}
	for _, arg := range d.CmdArgs[1:] {
		switch value := strings.Join(arg.Vals, ""); arg.Key {
		case "in":
			p.Namespace = value
		case "uid":
			p.UID = types.UID(value)
		case "labels":
			addLabels(p.Labels, arg.Vals)
		case "scheduler":
			p.Spec.SchedulerName = value
		case "gates":
			for _, gate := range arg.Vals {
				p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
			}
		case "bound":
			p.Spec.NodeName = "node"
		case "node":
			p.Spec.NodeName = value
		case "crashing":
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
		case "probed":
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{ReadinessProbe: &corev1.Probe{}})
		case "ready":
			ready(s.now())
		case "ready-at":
			ready(timeArgument(t, d, value))
		case "started": // after ready or ready-at
			run(p, s.now())
		case "started-at":
			run(p, timeArgument(t, d, value))
		case "condition": // after ready or ready-at
			setCondition(p, value, s.now())
		case "condition-at":
			setCondition(p, arg.Vals[0], timeArgument(t, d, arg.Vals[1]))
		case "created":
			p.CreationTimestamp = timeArgument(t, d, value)
		case "bound-at": // after ready or ready-at
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: timeArgument(t, d, value),
			})
		case "phase":
			p.Status.Phase = corev1.PodPhase(value)
		case "mirror": // kubelet made it of a static pod, on the node that is given
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, corev1.MirrorPodAnnotationKey, "hash")
			p.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: value, UID: types.UID("uid-of-node-" + value), Controller: new(true)},
			}
			p.Spec.NodeName = value
		case "ended-by-kubelet": // its program exited 0 when it was asked to stop
			endedByKubelet(p)
		case "hook":
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, "helm.sh/hook", strings.Join(arg.Vals, ","))
		case "argocd-hook":
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, "argocd.argoproj.io/hook", strings.Join(arg.Vals, ","))
		case "terminating":
			p.DeletionTimestamp = ptr.To(s.now())
		case "tried":
			p.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
			}
		case "owner":
			kind, owner, _ := strings.Cut(value, "/")
			p.OwnerReferences = []metav1.OwnerReference{s.ownerReference(kind, owner)}
		case "revision":
			p.Labels[appsv1.ControllerRevisionHashLabelKey] = value
			p.Labels["pod-template-generation"] = value
		case "pinned":
			p.Spec.Affinity = pinnedAffinity(value)
		case "node-selector":
			p.Spec.NodeSelector = map[string]string{}
			addLabels(p.Spec.NodeSelector, arg.Vals)
		default:
			d.Fatalf(t, "unknown argument %s", arg.Key)
		}
	}
	return p
}

// run makes the pod one whose container started at a time.
func run(p *corev1.Pod, at metav1.Time) {
	if p.Spec.NodeName == "" {
		p.Spec.NodeName = "node"
	}
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}}}
}

// setCondition makes a condition of the pod True since a time.
func setCondition(p *corev1.Pod, kind string, at metav1.Time) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodConditionType(kind), Status: corev1.ConditionTrue, LastTransitionTime: at,
	})
}

func addLabels(to map[string]string, pairs []string) {
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		to[key] = value
	}
}

func number(t *testing.T, d *datadriven.TestData, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return n
}

// ownerReference names a workload of the scenario, or something of a kind that nobody knows.
func (s *scenario) ownerReference(kind, name string) metav1.OwnerReference {
	uid := "uid-of-" + kind + "-" + name
	if w := s.workloads[kind+"/"+name]; w != nil {
		uid = string(w.GetUID())
	}
	switch kind {
	case "deployment":
		return controllerRef("apps/v1", "Deployment", name, uid)
	case "replicaset":
		return controllerRef("apps/v1", "ReplicaSet", name, uid)
	case "statefulset":
		return controllerRef("apps/v1", "StatefulSet", name, uid)
	case "daemonset":
		return controllerRef("apps/v1", "DaemonSet", name, uid)
	case "job":
		return controllerRef("batch/v1", "Job", name, uid)
	case "cronjob":
		return controllerRef("batch/v1", "CronJob", name, uid)
	case "replicationcontroller":
		return controllerRef("v1", "ReplicationController", name, uid)
	}
	return controllerRef("apps.example.com/v1", kind, name, uid)
}

func (s *scenario) parseNode(t *testing.T, d *datadriven.TestData, name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: strconv.Itoa(s.version),
		CreationTimestamp: s.now(), Labels: map[string]string{corev1.LabelHostname: name},
	}}
	if old := s.nodes[name]; old != nil {
		node.CreationTimestamp = old.CreationTimestamp
		node.Status.Conditions = slices.Clone(old.Status.Conditions)
	}
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "uid": // made again
			node.UID, node.CreationTimestamp = types.UID(arg.Vals[0]), s.now()
		case "labels":
			addLabels(node.Labels, arg.Vals)
		case "taint":
			node.Spec.Taints = []corev1.Taint{{Key: arg.Vals[0], Effect: corev1.TaintEffectNoSchedule}}
		case "cordoned":
			node.Spec.Unschedulable = true
		case "says":
			s.sayOfNode(t, d, node, arg.Vals)
		default:
			d.Fatalf(t, "unknown argument %s", arg.Key)
		}
	}
	return node
}
