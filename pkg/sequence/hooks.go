package sequence

// A pod of a hook that no order concerns says so by its own annotations, or the Job that owns it does. The engine may come to know the pod
// before it knows that Job. Until then the pod is a member of groups like any other, so that it waits rather than starts too early.

// reviewHook enters the pods of a Job anew that has become a hook, or is none any more.
func (k *knowledge) reviewHook(w *workload, tx *transaction) {
	ns := k.namespaces[w.Namespace]
	if ns == nil {
		return
	}
	for _, p := range ns.pods {
		if p.OwnerUID != w.UID || p.OfHook == k.workloads.isOfHook(p.Pod) {
			continue
		}
		facts := *p.Pod
		facts.OfHook = !facts.OfHook
		p.markDirty(tx)
		k.update(ns, p, withFacts(facts), true, tx)
		tx.entered = append(tx.entered, p)
	}
}
