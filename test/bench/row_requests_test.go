package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	podWrites  = "writes of pods"
	nodeWrites = "writes of nodes"
	allReads   = "reads"
)

func requestsRow() row {
	const gateless, gated, lite, onNodes, taint = "gate-less", "gated", "lite mode", "on each node", "a taint of each node"
	byHolding := func(h holding) func(b *testing.B) func(int) measurement {
		return measureAnew(func(b *testing.B, _ int) measurement {
			count := inFull(1000, 20)
			return countRequests(b, releaseNodes, count, h.programs, func(s *site) { s.release(h, count) })
		})
	}
	byNode := func(taints bool) func(b *testing.B) func(int) measurement {
		return measureAnew(func(b *testing.B, _ int) measurement {
			nodes := inFull(1000, 20)
			return countRequests(b, nodes, nodes, programsOnNodes(taints), func(s *site) { s.startOnNodes(nodes, taints) })
		})
	}
	return row{
		number: 7, name: "requests", turns: fewTurns,
		question: "How many requests to the API server does the release of a pod take, from its creation on? 1,000 pods",
		variants: []variant{
			{gateless, byHolding(byPlugin(false))}, {gated, byHolding(byPlugin(true))}, {lite, byHolding(byController())},
			{onNodes, byNode(false)}, {taint, byNode(true)},
		},
		claims: []claim{
			{text: "gate-less: the binding, and a condition for the one group waited for", of: gateless, figure: podWrites, atMost: new(2.0)},
			{text: "gated: and the gate", of: gated, figure: podWrites, atMost: new(3.0)},
			{text: "lite mode: the same, by two programs", of: lite, figure: podWrites, atMost: new(3.0)},
			{text: "on each node: the binding, and a condition", of: onNodes, figure: podWrites, atMost: new(2.0)},
			{text: "on each node: writes of nodes", of: onNodes, figure: nodeWrites, atMost: new(0.0)},
			{text: "a taint of each node: writes of pods", of: taint, figure: podWrites},
			{text: "a taint of each node: writes of nodes", of: taint, figure: nodeWrites},
		},
		notes: []string{"All figures are requests for each pod, of schedulers and controllers only: not those of who creates pods, nor those " +
			"of kubelets. Those of a start, such as the first lists, are among them."},
	}
}

// countRequests counts what schedulers and controllers ask of the API server while something happens, for each pod.
func countRequests(b *testing.B, nodes, pods int, programs []string, happens func(*site)) measurement {
	b.Helper()
	s := newSite(b, nodes, controlplane.Options{AuditLog: true}, programs...)
	defer s.close()
	began := time.Now()
	happens(s)
	m := measurement{figures: map[string]float64{podWrites: 0, nodeWrites: 0, allReads: 0}}
	require.NoError(b, s.ReadAudit("", func(r *cluster.Request) {
		if !r.IsAnswered() || r.RequestReceivedTimestamp.Time.Before(began) || !ofScheduling(r) || strings.HasPrefix(r.Resource(), "leases") {
			return
		}
		m.figures[r.Verb+" "+r.Resource()] += 1 / float64(pods)
		switch resource, _, _ := strings.Cut(r.Resource(), "/"); {
		case r.IsRead():
			m.figures[allReads] += 1 / float64(pods)
		case resource == "pods" && strings.HasPrefix(r.ObjectRef.Name, "many-"): // and not the one that they wait for
			m.figures[podWrites] += 1 / float64(pods)
		case resource == "nodes":
			m.figures[nodeWrites] += 1 / float64(pods)
		}
	}))
	return m
}

// ofScheduling reports whether a request is one of a scheduler, or of a controller that holds and releases pods.
func ofScheduling(r *cluster.Request) bool {
	return r.Program != "" || r.User.Username == "system:kube-scheduler" || r.UserAgent == taintAgent || r.UserAgent == pollingAgent
}
