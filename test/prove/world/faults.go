package world

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/prove/plan"
)

// Processes that faults name. There are two of each program of ours.
const (
	scheduler         = "podsequence-scheduler"
	controller        = "podsequence-controller"
	apiServer         = "kube-apiserver"
	etcd              = "etcd"
	controllerManager = "kube-controller-manager"
)

// watched are the resources that our programs watch, whose watches may be late or break.
var watched = []string{
	"pods", "nodes", "namespaces", "podsequences", "clusterpodsequences", "deployments", "replicasets", "statefulsets", "daemonsets", "jobs",
	"replicationcontrollers",
}

// writes are those that our programs make, and around which they may be killed.
var writes = []struct{ method, resource string }{
	{http.MethodPost, "pods/binding"}, {http.MethodPatch, "pods"}, {http.MethodPatch, "pods/status"},
	{http.MethodPatch, "podsequences/status"}, {http.MethodPatch, "clusterpodsequences/status"},
	{http.MethodPut, "podsequences/status"}, {http.MethodPut, "clusterpodsequences/status"},
}

// faults are what befalls the programs and machines of a world.
type faults struct{ *world }

func (f faults) invent() {
	for range f.between(1, 4) {
		f.inventOne(f.moment(time.Second, healAt))
	}
}

func (f faults) inventOne(at time.Duration) {
	short := f.moment(200*time.Millisecond, 2*time.Second)
	// Longer than the lease of our programs.
	long := f.moment(9*time.Second, 12*time.Second)
	ours := fmt.Sprintf("%s-%d", one(f.dice, scheduler, controller), f.between(1, 2))
	switch f.IntN(17) {
	case 10, 11, 12:
		write := one(f.dice, writes...)
		f.add(at, one(f.dice, plan.CrashBefore, plan.CrashAfter), nil, write.method, write.resource)
	case 13, 14:
		if program := one(f.dice, scheduler, controller); f.chance(50) {
			f.serveStale(at, short, program+"-1", program+"-2")
			return
		}
		f.serveStale(at, short, ours)
	case 15, 16:
		f.removeDefinition(at, short)
	case 0, 1:
		f.fault(at, plan.Kill, plan.Start, short, ours)
	case 2:
		program := one(f.dice, scheduler, controller)
		f.fault(at, plan.Kill, plan.Start, short, program+"-1")
		f.fault(at, plan.Kill, plan.Start, short, program+"-2")
	case 3:
		f.fault(at, plan.Stop, plan.Continue, long, ours)
	case 4:
		f.fault(at, plan.Kill, plan.Start, short, one(f.dice, apiServer, etcd, controllerManager))
	case 5:
		f.fault(at, plan.Stop, plan.Continue, short, one(f.dice, apiServer, etcd, controllerManager))
	case 6, 7:
		for _, resource := range some(f.dice, 30, watched) {
			f.add(at, plan.Delay, nil, resource, f.moment(100*time.Millisecond, f.mostDelay(resource)).String())
			f.add(at+short+2*time.Second, plan.Delay, nil, resource, "0s")
		}
	case 8:
		for _, resource := range some(f.dice, 40, watched) {
			f.add(at, plan.Cut, nil, resource)
		}
	case 9:
		f.add(at, plan.Refuse, nil, one(f.dice, "403", "409", "429", "500"))
		f.add(at+short, plan.Refuse, nil, "0")
	}
}

// serveStale makes a lagging API server serve an instance of ours, or both of a program, and perhaps restarts them meanwhile.
func (f faults) serveStale(at, short time.Duration, instances ...string) {
	lag := f.moment(500*time.Millisecond, 4*time.Second).String()
	for _, instance := range instances {
		f.add(at, plan.Travel, nil, instance, lag)
		if f.chance(40) {
			f.fault(at+short/2, plan.Kill, plan.Start, 100*time.Millisecond, instance)
		}
		f.add(at+short+4*time.Second, plan.Travel, nil, instance, "0s")
	}
}

// removeDefinition removes the definition of a kind of ours with all its objects, and restores all of it. Then new pods come.
func (f faults) removeDefinition(at, short time.Duration) {
	resource, cluster := "podsequences", false
	if f.chance(30) {
		resource, cluster = "clusterpodsequences", true
	}
	back := at + short
	f.add(at, plan.RemoveDefinition, nil, resource)
	f.add(back, plan.RestoreDefinition, nil, resource)
	if f.chance(40) {
		f.serveStale(back-100*time.Millisecond, short, scheduler+"-1", scheduler+"-2")
	}
	for _, s := range f.sequences {
		if (s.namespace == "") == cluster {
			f.create(back+f.moment(0, time.Second), s.kind(), s.object())
		}
	}
	for range 3 {
		if a := one(f.dice, f.apps...); a.kind != "Pod" {
			f.deletePods(back+f.moment(0, 4*time.Second), a)
		}
	}
}

// inventClock puts the clocks of both instances of a program ahead for some time, in some worlds: the one that leads must be among them.
func (f faults) inventClock() {
	if !f.chance(15) {
		return
	}
	program, at, lasts := one(f.dice, scheduler, controller), f.moment(time.Second, healAt), f.moment(4*time.Second, 12*time.Second)
	for _, instance := range []string{program + "-1", program + "-2"} {
		f.fault(at, plan.ClockAhead, plan.ClockRight, lasts, instance)
	}
}

// mostDelay is how late a watch may be. Where what is ready may break, a scheduler cannot know what its watches have not
// brought, and the referee allows for two seconds. The same is true of pods that are older than what a sequence says of them.
func (f faults) mostDelay(resource string) time.Duration {
	if slices.Contains([]string{"podsequences", "clusterpodsequences", "namespaces"}, resource) {
		return time.Second
	}
	for _, s := range f.sequences {
		if s.spec.Mode() != v1alpha1.BootstrapOnly {
			return time.Second
		}
	}
	return 5 * time.Second
}
