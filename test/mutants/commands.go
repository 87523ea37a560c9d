package main

const commandsPath = "tools/podseqctl/"

// ofCommands are about what kubectl podseq says.
func ofCommands() []mutant {
	return []mutant{
		{commandsPath + "timeline/", "case p.after != nil && p.after.group <= at:", "case p.after != nil && p.after.group < at:",
			"the critical path of an OrderedReady StatefulSet begins at its last pod", commands, ""},
		{commandsPath + "timeline/", "other < took && !c.isChained(place{i, n}) {", "other < took {",
			"a pod that is created after another one can save only what the next slowest pod leaves", commands, ""},
		{commandsPath + "timeline/", "isAwaited := !p.early || p.Ready == nil || p.Ready.After(released[at])", "isAwaited := true",
			"a pod that started out of turn is on the critical path though nobody waited for it", commands, ""},
		{commandsPath + "timeline/", "	return *later(&from, c.heldUntil(p))\n", "	return from\n",
			"time for which another sequence held a pod is the fault of this one", commands, ""},
		{commandsPath + "timeline/", "if p.Bound == nil && place.Decision.Held {", "if p.Bound == nil && place.Decision.Held && of == nil {",
			"a pod that another sequence holds still is shown as being scheduled", commands, ""},
		{commandsPath + "lint/", "case hasMoreThan(s, i, group) || isOrdinalOf(s, selected):", "case hasMoreThan(s, i, group):",
			"pod 0 first, then the rest, is reported as Shadowed with one replica", commands, ""},
		{commandsPath + "lint/", "return o.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType", "return o == nil",
			"StatefulSets that lack pods at the same time are not reported", commands, ""},
		{commandsPath + "lint/", "return update == nil || isZero(update.MaxSurge)", "return update == nil || o != nil",
			"a DaemonSet that creates pods before it deletes others is reported", commands, ""},
		{commandsPath, "if f.Severity == lint.Note && !o.verbose {", "if f.Severity == lint.Note && o.strict {",
			"notes drown warnings", commands, ""},
		{commandsPath, "if names(said, s.Where(i)+\" of \"+s.String()) {", "if names(said, s.String()) {",
			"why ends with a finding about a group that the pod does not wait for", commands, ""},
		{commandsPath, "\tdeadlocks(&reason, s, namespace)\n", "",
			"why says nothing of a deadlock that lint knows", commands, ""},
		{commandsPath + "explain/", "ordinal >= first && ordinal < first", "ordinal < first",
			"why waits for a pod that its StatefulSet never creates", commands, ""},
	}
}
