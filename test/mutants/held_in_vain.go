package main

// ofDeadlocks are about pods that would wait permanently, or be evicted in vain.
func ofDeadlocks() []mutant {
	return []mutant{
		{pluginPath + "podsequence.go", "\tpl.sparing.Do(pl.spareAwaited)\n", "",
			"a pod evicts what it waits for", plugin, ""},
		{pluginPath + "nodes.go", "if h.mayEvictAsGang(pod) {", "if h.mayEvictAsGang(pod) && pod == nil {",
			"a PodGroup evicts what it waits for", plugin, ""},
		{pluginPath + "preemption.go", "if pl.holder.waitsForAny(pod, []fwk.PodInfo{victim}) {", "if pl.holder.waitsForAny(pod, nil) {",
			"nobody tells a PodGroup that it evicts what it waits for", plugin, ""},
		{enginePath + "verdict.go", "is && m.holdFacts().IsRevocable() && ", "is && ",
			"a pod spares what was passed permanently", engine, ""},
		{enginePath + "verdict.go", "Awaited.Has(other.group) && e.nodes.applies(other, awaited.Node)", "Awaited.Has(other.group)",
			"a pod spares members of a group that is not for their node", engine, ""},
		{enginePath + "verdict.go", "m.sequence.groups[m.group].Awaited.Has(other.group) && ", "",
			"a pod spares members of its own group", engine, ""},
	}
}
