package sequence

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/test/harness/conditions"
)

// TestScenarios runs the files in testdata: events and questions in order, each with the answer expected. Run with
// -rewrite to write the answers that the engine gives, and read the difference before keeping it. Every command takes a
// second; what that second alone brings about is told as "meanwhile".
//
//	sequence NAME [uid=U] [generation=N] [gate=G] [namespace=NS] [from=NS] [node-scope] [continuous] [suspend] [dry-run]
//	         [override-suspend=V] [override-skip=(TITLE,TITLE)] [override-until=D] [override-reason=W]    its annotations
//	                    a PodSequence, for from= of another namespace that points here; a line of input is a group, TITLE: MEMBERS [; OPTION]...
//	                    MEMBERS is db-0 db-1 | tier=db | * | none
//	                    OPTION is complete | min=N | min=N% | expect=N | min-ready=N | wait=D | timeout=D | on-timeout=P | on=KEY=VALUE (nodes) | after=TITLE TITLE | skip
//	                    | object=KIND/NAME[:UNTIL] | node=TYPE[:STATUS][:pass]
//	cluster-sequence NAME ...
//	                    a ClusterPodSequence, as sequence; a group has one OPTION more: in=NS,NS | where=KEY=VALUE | where=*
//	remove-sequence NAME
//	pod NAME [in=NS] [uid=U] [labels=(k=v,k=v)] [scheduler=S] [gates=(g,g)] [bound] [node=N] [probed] [crashing] [ready] [ready-at=D] [bound-at=D]
//	         [created=D] [phase=P] [ended-by-kubelet] [terminating] [tried] [owner=KIND/NAME] [revision=R] [pinned=N]
//	         [node-selector=(k=v)] [hook=(H,H)] [argocd-hook=(H,H)]    of Helm and of Argo CD
//	remove-pod NAME
//	deployment | replicaset | statefulset | daemonset | job | replicationcontroller NAME ...    see scenario_objects_test.go
//	remove-deployment NAME, and so on
//	node NAME [uid=U] [labels=(k=v)] [taint=KEY] [cordoned]
//	                    [says=(TYPE,STATUS[,at=D])]
//	remove-node NAME
//	list-nodes          all that there are: pods on others count for nothing from then on
//	namespace NAME [uid=U] [allow=(NS,NS)] [require] [labels=(k=v)] [terminating]
//	remove-namespace NAME
//	unprobed DURATION    how long pods without a readiness probe must be ready; it comes first
//	install [absent]    whether the kind PodSequence is installed
//	sleep DURATION      lets time pass, and tells when the engine wants to be told of the time next
//	why NAME            what the pod waits for
//	object SEQUENCE KIND/NAME[:UNTIL] STATE [since=D] [uid=U] [message=(WORD,...)]
//	                    what the controller records of an object in status; the engine is told of it
//	where NAME          which nodes are open to the pod
//	spares NAME         which bound pods the pod may not evict
//	status NAME         the status the controller would write; the engine is told of it
//	delay               passes are not recorded any more until
//	record              which records them, and all that come after
//	restart             another engine is told of everything that there is, and takes over
func TestScenarios(t *testing.T) {
	files, err := os.ReadDir("testdata")
	require.NoError(t, err)
	for _, file := range files {
		if file.IsDir() {
			continue // inputs of the fuzzer
		}
		t.Run(file.Name(), func(t *testing.T) {
			s := &scenario{
				engine: newEngine(),
				pods:   map[string]*corev1.Pod{}, sequences: map[string]*v1alpha1.PodSequence{},
				nodes: map[string]*corev1.Node{}, workloads: map[string]metav1.Object{}, namespaces: map[string]*corev1.Namespace{},
				clusters: map[string]map[int]v1alpha1.ClusterPodGroup{},
			}
			datadriven.RunTest(t, filepath.Join("testdata", file.Name()), s.run)
		})
	}
}

type scenario struct {
	engine    recording
	pods      map[string]*corev1.Pod
	sequences map[string]*v1alpha1.PodSequence
	nodes     map[string]*corev1.Node
	workloads map[string]metav1.Object // by kind/name
	// namespaces are those that a scenario speaks of.
	namespaces map[string]*corev1.Namespace
	// clusters says, for each ClusterPodSequence, where its groups have their members.
	clusters map[string]map[int]v1alpha1.ClusterPodGroup
	version  int
	slept    time.Duration
	// unprobedReady is how long pods without a readiness probe must be ready.
	unprobedReady time.Duration
	// delayed reports that passes are not recorded yet, and ripe are the sequences that have some.
	delayed bool
	ripe    []types.NamespacedName
}

var scenarioEpoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// now is a time that moves on by a second with every command.
func (s *scenario) now() metav1.Time {
	return metav1.NewTime(scenarioEpoch.Add(time.Duration(s.version)*time.Second + s.slept))
}

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	s.version++
	if d.Cmd == "sleep" {
		slept, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		s.slept += slept - time.Second // the command itself takes one
	}
	meanwhile := s.describe(s.tell().Tick(s.now().Time))
	if d.Cmd == "sleep" {
		next := "never"
		if at := s.engine.NextWake(); !at.IsZero() {
			next = at.Sub(scenarioEpoch).String()
		}
		return fmt.Sprintf("%s\nnow %s, next wake %s", meanwhile, s.now().Sub(scenarioEpoch), next)
	}
	answer := s.answer(t, d)
	if meanwhile != "nothing" {
		answer = "meanwhile " + strings.ReplaceAll(meanwhile, "\n", "\nmeanwhile ") + "\n" + answer
	}
	return answer
}

func (s *scenario) answer(t *testing.T, d *datadriven.TestData) string {
	name := ""
	if len(d.CmdArgs) > 0 {
		name = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "sequence":
		ps := s.parseSequence(t, d, name)
		s.sequences[name] = ps
		return s.describe(s.tell().ApplySequence(ps))
	case "cluster-sequence":
		s.clusters[name] = map[int]v1alpha1.ClusterPodGroup{}
		ps := s.parseSequence(t, d, name)
		ps.Namespace = ""
		s.sequences[name] = ps
		return s.describe(s.tellSequence(name))
	case "remove-sequence":
		key := s.key(name)
		delete(s.sequences, name)
		delete(s.clusters, name)
		return s.describe(s.tell().RemoveSequence(key, ""))
	case "namespace":
		ns := s.parseNamespace(t, d, name)
		s.namespaces[name] = ns
		return s.describe(s.tell().ApplyNamespace(ns))
	case "remove-namespace":
		gone := s.namespaces[name]
		delete(s.namespaces, name)
		return s.describe(s.tell().RemoveNamespace(gone))
	case "pod":
		p := s.parsePod(t, d, name)
		s.pods[name] = p
		return s.describe(s.tell().ApplyPod(p))
	case "remove-pod":
		gone := s.pods[name]
		delete(s.pods, name)
		return s.describe(s.tell().RemovePod(gone))
	case "node":
		node := s.parseNode(t, d, name)
		s.nodes[name] = node
		return s.describe(s.tell().ApplyNode(node))
	case "remove-node":
		delete(s.nodes, name)
		return s.describe(s.tell().RemoveNode(name))
	case "list-nodes":
		return s.describe(s.tell().ReplaceNodes(slices.Collect(maps.Values(s.nodes)), strconv.Itoa(s.version)))
	case "unprobed":
		unprobedReady, err := time.ParseDuration(name)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		s.unprobedReady = unprobedReady
		return s.restart()
	case "install":
		return s.describe(s.tell().KindInstalled(len(d.CmdArgs) == 0))
	case "delay":
		s.delayed = true
		return "delayed"
	case "record":
		ripe := Changes{Ripe: s.ripe}
		s.delayed, s.ripe = false, nil
		return describe(s.engine.record(ripe))
	case "restart":
		return s.restart()
	case "why":
		if message := s.engine.Decide(s.pods[name]).Message(); message != "" {
			return message
		}
		return "may go"
	case "where":
		return s.where(name)
	case "object":
		return s.recordObject(t, d)
	case "spares":
		spared := []string{}
		for _, other := range slices.Sorted(maps.Keys(s.pods)) {
			if s.pods[other].Spec.NodeName != "" && s.engine.WaitsFor(s.pods[name], s.pods[other]) {
				spared = append(spared, other)
			}
		}
		return fmt.Sprint(spared)
	case "status":
		answer := s.status(name)
		if ps := s.sequences[name]; ps != nil {
			conditions.CheckObject(t, ps)
			require.Equal(t, ps.Spec.Mode(), ps.Status.EnforcementMode)
			for _, n := range ps.Status.NodeStatus {
				conditions.Check(t, conditions.OfNodes, n.Conditions)
			}
		}
		return answer
	}
	if kind, ok := strings.CutPrefix(d.Cmd, "remove-"); ok && s.workloads[kind+"/"+name] != nil {
		gone := s.workloads[kind+"/"+name]
		delete(s.workloads, kind+"/"+name)
		return s.describe(s.tell().RemoveWorkload(gone))
	}
	w := s.parseWorkload(t, d, name)
	s.workloads[d.Cmd+"/"+name] = w
	return s.describe(s.tell().ApplyWorkload(w))
}

// key is that of a sequence, which lives where the pods do unless it was made from= elsewhere.
func (s *scenario) key(name string) types.NamespacedName {
	namespace := oracleNamespace
	if ps := s.sequences[name]; ps != nil {
		namespace = ps.Namespace
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// tellSequence tells of a sequence of either kind.
func (s *scenario) tellSequence(name string) Changes {
	if stored := s.stored(name); stored.Cluster != nil {
		return s.tell().ApplyClusterSequence(stored.Cluster)
	}
	return s.tell().ApplySequence(s.sequences[name])
}

// stored is a sequence of either kind.
func (s *scenario) stored(name string) order.Stored {
	ps, groups := s.sequences[name], s.clusters[name]
	if groups == nil {
		return order.Stored{PodSequence: ps}
	}
	cluster := &v1alpha1.ClusterPodSequence{ObjectMeta: ps.ObjectMeta, Status: ps.Status}
	cluster.Spec.Scope, cluster.Spec.EnforcementMode, cluster.Spec.Suspend = ps.Spec.Scope, ps.Spec.EnforcementMode, ps.Spec.Suspend
	cluster.Spec.DryRun, cluster.Spec.SchedulingGateName = ps.Spec.DryRun, ps.Spec.SchedulingGateName
	for i, g := range ps.Spec.PodGroups {
		group := groups[i]
		group.PodGroup = g
		cluster.Spec.PodGroups = append(cluster.Spec.PodGroups, group)
	}
	return order.OfCluster(cluster)
}

// tell is who is told of events.
func (s *scenario) tell() toldEngine {
	if s.delayed {
		return s.engine.Engine
	}
	return s.engine
}

// restart replaces the engine and tells the new one of all there is, sequences last.
func (s *scenario) restart() string {
	s.engine = newEngineWith(s.unprobedReady).after(s.engine)
	s.engine.Tick(s.now().Time)
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		s.engine.ApplyNode(s.nodes[name])
	}
	for _, key := range slices.Sorted(maps.Keys(s.workloads)) {
		s.engine.ApplyWorkload(s.workloads[key])
	}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		s.engine.ApplyPod(s.pods[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.namespaces)) {
		s.engine.ApplyNamespace(s.namespaces[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.sequences)) {
		s.tellSequence(name)
	}
	return describe(s.engine.Everything())
}

// where tells of every node whether it is open to the pod, or else why not.
func (s *scenario) where(name string) string {
	placement := s.engine.Placement(s.pods[name])
	if placement == nil {
		return "any node"
	}
	var lines []string
	for _, node := range slices.Sorted(maps.Keys(s.nodes)) {
		answer := "open"
		if d := placement.Open(node); d.Held {
			answer = d.Message()
		}
		lines = append(lines, node+": "+answer)
	}
	return strings.Join(lines, "\n")
}

// describe tells what an event changed, and keeps what is to be recorded.
func (s *scenario) describe(c Changes) string {
	s.ripe = append(s.ripe, c.Ripe...)
	return describe(c)
}

// describe tells what an event changed.
func describe(c Changes) string {
	var lines []string
	for _, r := range c.Released {
		line := "released " + r.Name
		if len(r.Gates) > 0 {
			line += fmt.Sprintf(" lift %v", r.Gates)
		}
		lines = append(lines, line)
	}
	for _, p := range c.Held {
		lines = append(lines, "held "+p.Name)
	}
	if len(lines) == 0 {
		return "nothing"
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// status writes the status as the controller would, and tells of it what matters.
func (s *scenario) status(name string) string {
	ps := s.sequences[name]
	report, ok := s.engine.Report(s.key(name))
	if !ok {
		return "no such sequence"
	}
	ps = ps.DeepCopy()
	ps.Status = report.Status(ps, s.now().Time)
	s.write(name, ps)
	told := s.describe(s.tellSequence(name))

	var b strings.Builder
	at := func(t *metav1.Time) string {
		if t == nil {
			return "-"
		}
		return t.Sub(scenarioEpoch).String()
	}
	fmt.Fprintf(&b, "%s current=%d %q ready=%s\n%s\n", ps.Status.Phase, *ps.Status.CurrentIndex,
		ps.Status.CurrentGroup, ps.Status.ReadyPods, ps.Status.Message)
	if ps.Status.State != v1alpha1.StateActive {
		fmt.Fprintf(&b, "  state=%s\n", ps.Status.State)
	}
	for _, g := range ps.Status.Groups {
		fmt.Fprintf(&b, "  %-12s %d/%d %-10s released=%s satisfied=%s passed=%s\n",
			g.Name, g.Ready, g.Expected, g.Phase, at(g.ReleasedAt), at(g.SatisfiedAt), at(g.PassedAt))
		b.WriteString(objectsInWords(g.Objects))
	}
	if dry := ps.Status.DryRun; dry != nil {
		fmt.Fprintf(&b, "  would hold %d now and %d in all, %ds at most: %v\n", dry.HeldNow, dry.HeldTotal, dry.LongestSeconds, dry.Pods)
	}
	if early := ps.Status.StartedOutOfOrder; early != nil {
		fmt.Fprintf(&b, "  started out of order: %d %v\n", early.Total, early.Pods)
	}
	for _, n := range ps.Status.NodeStatus {
		fmt.Fprintf(&b, "  %-12s %s current=%d ready=%v", n.NodeName, n.Phase, n.CurrentIndex, n.ReadyPodsInCurrentGroup)
		for _, c := range n.Conditions {
			fmt.Fprintf(&b, " %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
		b.WriteString("\n")
	}
	for _, c := range ps.Status.Conditions {
		switch c.Type {
		case v1alpha1.ConditionCompleted, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled:
			continue // they follow from the others, see TestWhatToolsSayOfASequence
		}
		fmt.Fprintf(&b, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	if told != "nothing" {
		fmt.Fprintf(&b, "  told: %s\n", told)
	}
	return b.String()
}
