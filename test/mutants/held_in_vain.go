package main

// ofDeadlocks are about pods that would wait permanently, or be evicted in vain.
func ofDeadlocks() []mutant {
	const circles = enginePath
	return []mutant{
		{pluginPath, "\tpl.sparing.Do(pl.spareAwaited)\n", "",
			"a pod evicts what it waits for", plugin, ""},
		{pluginPath, "if h.mayEvictAsGang(pod) {", "if h.mayEvictAsGang(pod) && pod == nil {",
			"a PodGroup evicts what it waits for", plugin, ""},
		{pluginPath, "if pl.holder.waitsForAny(pod, []fwk.PodInfo{victim}) {", "if pl.holder.waitsForAny(pod, nil) {",
			"nobody tells a PodGroup that it evicts what it waits for", plugin, ""},
		{enginePath, "is && m.holdFacts().IsRevocable() && ", "is && ",
			"a pod spares what was passed permanently", engine, ""},
		{enginePath, "Awaited.Has(other.group) && e.nodes.applies(other, awaited.Node)", "Awaited.Has(other.group)",
			"a pod spares members of a group that is not for their node", engine, ""},
		{enginePath, "m.sequence.groups[m.group].Awaited.Has(other.group) && ", "",
			"a pod spares members of its own group", engine, ""},

		{circles, " || g.ContinueOnTimeout {", " || g == nil {",
			"a circle that a timeout opens is taken for a deadlock", engine, ""},
		{circles, "held <= need.Expected-need.Required {", "held == 0 && need.Expected >= 0 {",
			"a group that can do without a pod is taken to need it", engine, ""},
		{circles, "search.holdFacts(p, m).Rule() != hold.ByGroup {", "search.holdFacts(p, m).Rule() == hold.Unsupported {",
			"a dry run is taken to hold its pods", engine, ""},
		{controllers + "podsequence/", "\tfor _, other := range before {\n\t\tc.again(other)\n\t}\n", "",
			"a circle that is open is still reported by the other sequences", statuses, ""},
		{controllers + "podsequence/", "if !slices.Contains(before, other) {", "if slices.Contains(before, other) {",
			"only one sequence of a circle says so", statuses, ""},
		{"pkg/sequence/report/", "\n\tv1alpha1.ReasonWaitsForItself,", "",
			"no alert fires for sequences that wait for each other", statuses, ""},

		{inventoryPath, "return w.KeepsOldPods && w.Observed && !w.Terminating", "return w.Observed && !w.Terminating",
			"pods are reported that their StatefulSet replaces", engine, ""},
		{enginePath, "p.Terminating || p.Failed || p.Ready {", "p.Terminating || p.Failed || p.Ready || p.Bound() {",
			"a pod of an older revision is not reported any more when it has a node", engine, ""},
		{enginePath, "w.IsUpToDate(owner.revision) || !w.Wants(p.Pod)", "w.IsUpToDate(owner.revision)",
			"pods are reported that their StatefulSet is about to delete", engine, ""},

		{enginePath, "if !(reached && outOfOrder) && set.isUnheld(", "if !reached && set.isUnheld(",
			"nobody is told of a template that nothing can hold once its group is passed", engine, ""},
		{enginePath, "\t\treturn !reached\n", "\t\treturn true\n",
			"a pod without an owner is reported, though there will be no other", engine, ""},
		{enginePath, " || (reached && p.Succeeded)", "",
			"pods of Jobs are reported that are done", engine, ""},
		{enginePath, "!slices.Contains(w.Gates, s.Gate) &&", "true &&",
			"pods whose gate was lifted are reported, though their template has it", engine, ""},
		{enginePath, "(p.GateLifted || labelled) &&", "labelled &&",
			"a pod is reported whose gate was lifted in its turn", engine, ""},
		{enginePath, "(p.GateLifted || labelled) &&", "(p.GateLifted || labelled && false) &&",
			"in lite mode pods are reported that were given the gate for their label", engine, ""},
		{enginePath, "len(k.settings.published(p.published, view.UID).lift) > 0", "p != nil",
			"a pod is not reported whose gate somebody lifted before its turn", engine, ""},
	}
}
