package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	releaseTime = "s"
	// releaseNodes have room for all pods that are released.
	releaseNodes = 20
)

func releaseRow() row {
	const ours, unheld, lite, poll = "our plugin", "queued and unheld, stock scheduler", "lite mode", "a controller that looks every 5 s"
	return row{
		number: 5, name: "release", turns: fewTurns,
		question: "How long does the release of 1,000 pods take, from the last Ready that they wait for to the last binding?",
		variants: []variant{
			{ours, measureAnew(func(b *testing.B, _ int) measurement { return measureRelease(b, byPlugin(false)) })},
			{unheld, measureAnew(measureUnheld)},
			{lite, measureAnew(func(b *testing.B, _ int) measurement { return measureRelease(b, byController()) })},
			{poll, measureAnew(func(b *testing.B, turn int) measurement { return measureRelease(b, byPoller(turn, fewTurns)) })},
		},
		claims: []claim{
			{text: "our plugin / unheld (from the first binding)", of: ours, to: unheld, figure: releaseTime, atMost: new(1.15)},
			{text: "our plugin / lite mode", of: ours, to: lite, figure: releaseTime, atMost: new(0.5)},
			{text: "our plugin / a controller that looks every 5 s", of: ours, to: poll, figure: releaseTime, atMost: new(0.5)},
		},
		axes: axes{X: "seconds since the last Ready", Y: "pods bound"},
		notes: []string{"Pods are known to be held before they are released; they are told so ten a second, and the release does not wait " +
			"for that. Unheld ones were created while the scheduler was down, and are counted from the first binding. The controller " +
			"that looks every 5 s lifts native gates, 16 at a time and without a limit of requests; from turn to turn its looks come " +
			"later after the last Ready.",
			"Lite mode is ours as well. It lifts about 250 gates a second, and the stock scheduler binds pods meanwhile."},
	}
}

// holding is a way to make many pods wait for one.
type holding struct {
	// programs of the cluster besides etcd and the API server.
	programs []string
	// pod makes one of the pods that wait; that which they wait for has no gate.
	pod       func(name string) *st.PodWrapper
	scheduler string
	// sequence makes our programs hold them.
	sequence bool
	// poller lifts their gates, with the first look so long after the last Ready.
	poller    bool
	firstLook time.Duration
}

// byPlugin is a holding in which podsequence-scheduler holds the pods, with or without the PodSequence gate.
func byPlugin(gated bool) holding {
	return holding{
		programs: []string{ourScheduler, ourProgram}, scheduler: ourScheduler, sequence: true,
		pod: func(name string) *st.PodWrapper {
			p := pod(name, ourScheduler)
			if gated {
				p = p.SchedulingGates([]string{v1alpha1.DefaultSchedulingGateName})
			}
			return p
		},
	}
}

// byController is a holding in which podsequence-controller holds pods of the stock scheduler, in lite mode.
func byController() holding {
	return holding{
		programs: []string{controlplane.Scheduler, ourProgram}, scheduler: controlplane.AnotherScheduler, sequence: true,
		pod: func(name string) *st.PodWrapper {
			return pod(name, controlplane.AnotherScheduler).SchedulingGates([]string{v1alpha1.DefaultSchedulingGateName})
		},
	}
}

// byPoller is a holding in which a controller that looks every 5 seconds holds pods of the stock scheduler.
func byPoller(turn, turns int) holding {
	return holding{
		programs: []string{controlplane.Scheduler}, scheduler: controlplane.AnotherScheduler,
		poller: true, firstLook: phase(turn, turns),
		pod: func(name string) *st.PodWrapper {
			return pod(name, controlplane.AnotherScheduler).SchedulingGates([]string{nativeGate})
		},
	}
}

func measureRelease(b *testing.B, h holding) measurement {
	b.Helper()
	s := newSite(b, releaseNodes, controlplane.Options{}, h.programs...)
	defer s.close()
	return s.release(h, inFull(1000, 30))
}

// release makes many pods wait for one, which turns ready, and measures until all of them are bound.
func (s *site) release(h holding, count int) measurement {
	s.b.Helper()
	if h.sequence {
		s.create(firstAndMany("shop"))
	}
	s.create(pod("first", h.scheduler).Label(tierLabel, tierFirst).Obj())
	s.createMany(count, func(i int) *st.PodWrapper { return h.pod(numbered("many", i)).Label(tierLabel, tierMany) })
	s.awaitBound("first")
	if h.sequence {
		s.awaitHeld(count, h.programs)
	}
	seen := s.watchBindings()
	ready := s.setReady("first")
	if h.poller {
		p := &poller{core: s.clientOf(pollingAgent), first: tierLabel + "=" + tierFirst, many: tierLabel + "=" + tierMany}
		require.NoError(s.b, p.run(s.ctx, h.firstLook))
	}
	return releaseOf(ready, s.awaitAll(seen, names("many", count)))
}

// measureUnheld measures how long the stock scheduler takes for pods that wait for nothing but their turn.
func measureUnheld(b *testing.B, _ int) measurement {
	b.Helper()
	s := newSite(b, releaseNodes, controlplane.Options{}, controlplane.Scheduler)
	defer s.close()
	require.NoError(b, s.Kill(s.ctx, controlplane.Scheduler))
	count := inFull(1000, 30)
	s.createMany(count, func(i int) *st.PodWrapper {
		return pod(numbered("many", i), controlplane.AnotherScheduler).Label(tierLabel, tierMany)
	})
	seen := s.watchBindings()
	require.NoError(b, s.StartComponent(s.ctx, controlplane.Scheduler))
	bound := s.awaitAll(seen, names("many", count))
	return releaseOf(slices.MinFunc(bound, time.Time.Compare), bound)
}

// releaseOf is the release of pods that were bound at these times.
func releaseOf(since time.Time, bound []time.Time) measurement {
	slices.SortFunc(bound, time.Time.Compare)
	m := measurement{figures: map[string]float64{releaseTime: milliseconds(since, bound[len(bound)-1]) / 1000}}
	for i, at := range bound {
		m.curve = append(m.curve, point{X: milliseconds(since, at) / 1000, Y: float64(i + 1)})
	}
	return m
}
