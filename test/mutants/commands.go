package main

const commandsPath = "tools/podseqctl/"

// ofCommands are about what kubectl podseq says.
func ofCommands() []mutant {
	return []mutant{
		{commandsPath + "timeline/critical.go", "case p.after != nil && p.after.group <= at:", "case p.after != nil && p.after.group < at:",
			"the critical path of an OrderedReady StatefulSet begins at its last pod", commands, ""},
		{commandsPath + "timeline/critical.go", "other < took && !c.isChained(place{i, n}) {", "other < took {",
			"a pod that is created after another one can save only what the next slowest pod leaves", commands, ""},
		{commandsPath + "timeline/critical.go", "isAwaited := !p.early || p.Ready == nil || p.Ready.After(released[at])", "isAwaited := true",
			"a pod that started out of turn is on the critical path though nobody waited for it", commands, ""},
		{commandsPath + "timeline/critical.go", "	return *later(&from, c.heldUntil(p))\n", "	return from\n",
			"time for which another sequence held a pod is the fault of this one", commands, ""},
		{commandsPath + "timeline/others.go", "if p.Bound == nil && place.Decision.Held {", "if p.Bound == nil && place.Decision.Held && of == nil {",
			"a pod that another sequence holds still is shown as being scheduled", commands, ""},
	}
}
