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

func (w *world) inventFaults() {
	for range w.between(1, 4) {
		w.inventFault(w.moment(time.Second, healAt))
	}
}

func (w *world) inventFault(at time.Duration) {
	short := w.moment(200*time.Millisecond, 2*time.Second)
	// Longer than the lease of our programs.
	long := w.moment(9*time.Second, 12*time.Second)
	ours := fmt.Sprintf("%s-%d", one(w.dice, scheduler, controller), w.between(1, 2))
	switch w.IntN(17) {
	case 10, 11, 12:
		write := one(w.dice, writes...)
		w.add(at, one(w.dice, plan.CrashBefore, plan.CrashAfter), nil, write.method, write.resource)
	case 13, 14:
		if program := one(w.dice, scheduler, controller); w.chance(50) {
			w.inventStaleServer(at, short, program+"-1", program+"-2")
			return
		}
		w.inventStaleServer(at, short, ours)
	case 15, 16:
		w.inventRemoval(at, short)
	case 0, 1:
		w.fault(at, plan.Kill, plan.Start, short, ours)
	case 2:
		program := one(w.dice, scheduler, controller)
		w.fault(at, plan.Kill, plan.Start, short, program+"-1")
		w.fault(at, plan.Kill, plan.Start, short, program+"-2")
	case 3:
		w.fault(at, plan.Stop, plan.Continue, long, ours)
	case 4:
		w.fault(at, plan.Kill, plan.Start, short, one(w.dice, apiServer, etcd, controllerManager))
	case 5:
		w.fault(at, plan.Stop, plan.Continue, short, one(w.dice, apiServer, etcd, controllerManager))
	case 6, 7:
		for _, resource := range some(w.dice, 30, watched) {
			w.add(at, plan.Delay, nil, resource, w.moment(100*time.Millisecond, w.mostDelay(resource)).String())
			w.add(at+short+2*time.Second, plan.Delay, nil, resource, "0s")
		}
	case 8:
		for _, resource := range some(w.dice, 40, watched) {
			w.add(at, plan.Cut, nil, resource)
		}
	case 9:
		w.add(at, plan.Refuse, nil, one(w.dice, "403", "409", "429", "500"))
		w.add(at+short, plan.Refuse, nil, "0")
	}
}

// inventStaleServer makes a lagging API server serve an instance of ours, or both of a program, and perhaps restarts them meanwhile.
func (w *world) inventStaleServer(at, short time.Duration, instances ...string) {
	lag := w.moment(500*time.Millisecond, 4*time.Second).String()
	for _, instance := range instances {
		w.add(at, plan.Travel, nil, instance, lag)
		if w.chance(40) {
			w.fault(at+short/2, plan.Kill, plan.Start, 100*time.Millisecond, instance)
		}
		w.add(at+short+4*time.Second, plan.Travel, nil, instance, "0s")
	}
}

// inventRemoval removes the definition of a kind of ours with all its objects, and restores all of it. Then new pods come.
func (w *world) inventRemoval(at, short time.Duration) {
	resource, cluster := "podsequences", false
	if w.chance(30) {
		resource, cluster = "clusterpodsequences", true
	}
	back := at + short
	w.add(at, plan.RemoveDefinition, nil, resource)
	w.add(back, plan.RestoreDefinition, nil, resource)
	if w.chance(40) {
		w.inventStaleServer(back-100*time.Millisecond, short, scheduler+"-1", scheduler+"-2")
	}
	for _, s := range w.sequences {
		if (s.namespace == "") == cluster {
			w.create(back+w.moment(0, time.Second), s.kind(), s.object())
		}
	}
	for range 3 {
		if a := one(w.dice, w.apps...); a.kind != "Pod" {
			w.deletePods(back+w.moment(0, 4*time.Second), a)
		}
	}
}

// inventClock puts the clocks of both instances of a program ahead for some time, in some worlds: the one that leads must be among them.
func (w *world) inventClock() {
	if !w.chance(15) {
		return
	}
	program, at, lasts := one(w.dice, scheduler, controller), w.moment(time.Second, healAt), w.moment(4*time.Second, 12*time.Second)
	for _, instance := range []string{program + "-1", program + "-2"} {
		w.fault(at, plan.ClockAhead, plan.ClockRight, lasts, instance)
	}
}

// fault begins something and ends it after some time.
func (w *world) fault(at time.Duration, begin, end plan.Verb, lasts time.Duration, process string) {
	w.add(at, begin, nil, process)
	w.add(at+lasts, end, nil, process)
}

// mostDelay is how late a watch may be. Where what is ready may break, a scheduler cannot know what its watches have not
// brought, and the referee allows for two seconds. The same is true of pods that are older than what a sequence says of them.
func (w *world) mostDelay(resource string) time.Duration {
	if slices.Contains([]string{"podsequences", "clusterpodsequences", "namespaces"}, resource) {
		return time.Second
	}
	for _, s := range w.sequences {
		if s.spec.Mode() != v1alpha1.BootstrapOnly {
			return time.Second
		}
	}
	return 5 * time.Second
}
