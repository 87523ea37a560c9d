package sequence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/internal/testing"
)

// TestScenarios runs the files in testdata: events and questions in order, each with the answer expected. Run with
// -rewrite to write the answers that the engine gives, and read the difference before keeping it.
//
//	sequence NAME [uid=U] [generation=N] [gate=G] [namespace=NS]    a PodSequence; a line of input is a group:
//	                                                                TITLE: db-0 db-1 | TITLE: tier=db | TITLE: *
//	remove-sequence NAME
//	pod NAME [uid=U] [labels=(k=v,k=v)] [scheduler=S] [gates=(g,g)] [bound] [ready] [phase=P] [terminating]
//	remove-pod NAME
//	why NAME                                                        what the pod waits for
//	status NAME                                                     the status the controller would write
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &scenario{
			engine: NewEngine(Config{SchedulerNames: []string{oracleScheduler}, GatePrefixes: []string{"podsequence.example.com/"}}),
			pods:   map[string]*corev1.Pod{}, sequences: map[string]*v1alpha1.PodSequence{},
		}
		datadriven.RunTest(t, path, s.run)
	})
}

type scenario struct {
	engine    *Engine
	pods      map[string]*corev1.Pod
	sequences map[string]*v1alpha1.PodSequence
	version   int
}

var scenarioEpoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// now is a time that moves on by a second with every command.
func (s *scenario) now() metav1.Time {
	return metav1.NewTime(scenarioEpoch.Add(time.Duration(s.version) * time.Second))
}

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	s.version++
	s.engine.Tick(s.now().Time)
	name := ""
	if len(d.CmdArgs) > 0 {
		name = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "sequence":
		ps := s.parseSequence(t, d, name)
		s.sequences[name] = ps
		return describe(s.engine.ApplySequence(ps))
	case "remove-sequence":
		return describe(s.engine.RemoveSequence(types.NamespacedName{Namespace: oracleNamespace, Name: name}))
	case "pod":
		p := s.parsePod(d, name)
		s.pods[name] = p
		return describe(s.engine.ApplyPod(p))
	case "remove-pod":
		return describe(s.engine.RemovePod(s.pods[name]))
	case "why":
		if message := s.engine.Decide(s.pods[name]).Message(); message != "" {
			return message
		}
		return "may go"
	case "status":
		return s.status(name)
	}
	d.Fatalf(t, "unknown command")
	return ""
}

func (s *scenario) parseSequence(t *testing.T, d *datadriven.TestData, name string) *v1alpha1.PodSequence {
	ps := MakeSequence(oracleNamespace, name).UID("uid-of-" + name)
	ps.CreationTimestamp = s.now()
	if old := s.sequences[name]; old != nil {
		ps.CreationTimestamp, ps.Status = old.CreationTimestamp, old.Status
	}
	for _, arg := range d.CmdArgs[1:] {
		switch value := strings.Join(arg.Vals, ""); arg.Key {
		case "uid":
			ps.UID(value)
			ps.Status = v1alpha1.PodSequenceStatus{}
		case "generation":
			generation, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				d.Fatalf(t, "generation: %v", err)
			}
			ps.Generation(generation)
		case "gate":
			ps.Gate(value)
		case "namespace":
			ps.TargetNamespace(value)
		}
	}
	for line := range strings.Lines(d.Input) {
		title, members, _ := strings.Cut(strings.TrimSpace(line), ": ")
		key, value, isLabel := strings.Cut(members, "=")
		switch {
		case members == "*":
			ps.Label(title, "", "")
		case isLabel:
			ps.Label(title, key, value)
		default:
			ps.Pods(title, strings.Fields(members)...)
		}
	}
	return ps.Obj()
}

func (s *scenario) parsePod(d *datadriven.TestData, name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: oracleNamespace, Name: name, UID: types.UID("uid-of-" + name),
		ResourceVersion: strconv.Itoa(s.version), Labels: map[string]string{},
	}}
	p.Spec.SchedulerName = oracleScheduler
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "uid":
			p.UID = types.UID(arg.Vals[0])
		case "labels":
			for _, label := range arg.Vals {
				key, value, _ := strings.Cut(label, "=")
				p.Labels[key] = value
			}
		case "scheduler":
			p.Spec.SchedulerName = arg.Vals[0]
		case "gates":
			for _, gate := range arg.Vals {
				p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
			}
		case "bound":
			p.Spec.NodeName = "node"
		case "ready":
			p.Spec.NodeName = "node"
			p.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: s.now()},
			}
		case "phase":
			p.Status.Phase = corev1.PodPhase(arg.Vals[0])
		case "terminating":
			now := s.now()
			p.DeletionTimestamp = &now
		}
	}
	return p
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
	report, ok := s.engine.Report(types.NamespacedName{Namespace: oracleNamespace, Name: name})
	if !ok {
		return "no such sequence"
	}
	ps.Status = report.Status(ps, s.now().Time)

	var b strings.Builder
	at := func(t *metav1.Time) string {
		if t == nil {
			return "-"
		}
		return t.Sub(scenarioEpoch).String()
	}
	fmt.Fprintf(&b, "%s current=%d %q ready=%s\n%s\n", ps.Status.Phase, *ps.Status.CurrentIndex,
		ps.Status.CurrentGroup, ps.Status.ReadyPods, ps.Status.Message)
	for _, g := range ps.Status.Groups {
		fmt.Fprintf(&b, "  %-12s %d/%d %-10s released=%s satisfied=%s passed=%s\n",
			g.Name, g.Ready, g.Expected, g.Phase, at(g.ReleasedAt), at(g.SatisfiedAt), at(g.PassedAt))
	}
	for _, c := range ps.Status.Conditions {
		fmt.Fprintf(&b, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}
