package world

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/test/prove/plan"
)

// bootsFrom is when the first node boots at the earliest: before, few pods run.
const bootsFrom = 4 * time.Second

// Annotations that have simulated kubelets report what real ones report: restarts of containers, pods that they do not admit, pods
// that take time to end, and times of clocks that are wrong.
const (
	crashAfter   = "sandbox.podsequence.example.com/crash-after"
	crashTimes   = "sandbox.podsequence.example.com/crash-times"
	restartAfter = "sandbox.podsequence.example.com/restart-after"
	goneAfter    = "sandbox.podsequence.example.com/gone-after"
	rejected     = "sandbox.podsequence.example.com/rejected"
	clock        = "sandbox.podsequence.example.com/clock"
)

// kubeletSeed is what the dice of kubelets differ by, so that what else is in a world does not depend on them.
const kubeletSeed = 0x6b7562656c6574

// kubelets are what the kubelets of a world do.
type kubelets struct {
	dice
	*world
	boots bool // of simulated nodes
}

// report chooses what the kubelet of a pod reports. Some pods crash a few times: they are ready for a moment between two crashes,
// or seem to be ready all the time.
func (k *kubelets) report(a *app, annotations map[string]string, spec *corev1.PodSpec) {
	switch {
	case k.chance(12) && spec.RestartPolicy != corev1.RestartPolicyNever:
		annotations[crashAfter] = one(k.dice, "500ms", "1s", "2s", "3s")
		annotations[crashTimes] = one(k.dice, "1", "2", "3", "5")
		annotations[restartAfter] = one(k.dice, "0s", "0s", "1s", "3s")
	case k.chance(15) && a.kind == "Pod" && spec.NodeName == "" && annotations[failAfter] == "":
		annotations[rejected] = one(k.dice, "OutOfcpu", "NodeAffinity", "UnexpectedAdmissionError")
	}
	if k.chance(20) {
		annotations[goneAfter] = one(k.dice, "1s", "2s", "4s")
	}
	if k.chance(10) && !k.boots { // one clock says when a node booted and when its pods were ready
		annotations[clock] = one(k.dice, "-1h", "-4s", "-1s", "1s", "4s", "1h")
	}
}

// inventBoots adds power failures: one or two for each real node, and one for a simulated node in some worlds.
func (k *kubelets) inventBoots() {
	for _, n := range k.nodes {
		for range k.between(1, 2) {
			if n.real {
				k.add(k.moment(bootsFrom, healAt), plan.Reboot, nil, n.name)
			}
		}
	}
	if n := one(k.dice, k.nodes...); k.boots && !n.real {
		k.add(k.moment(bootsFrom, healAt), plan.Reboot, nil, n.name)
	}
}

// heal makes most pods again that were rejected.
func (k *kubelets) heal() {
	for _, a := range k.apps {
		if a.template.Annotations[rejected] != "" && k.chance(70) {
			k.makeAgainWithout(a, rejected)
		}
	}
}
