package main

// ofNodeConditions are about conditions of nodes that groups wait for.
func ofNodeConditions() []mutant {
	const readiness, inventory = readinessPath, inventoryPath
	return []mutant{
		{readinessPath, " || need.Unmet != 0 {", " {",
			"no condition of a node is waited for", engine, ""},
		{readiness, "return required.WhenAbsent == v1alpha1.AbsentPass, time.Time{}", "return false, time.Time{}",
			"an absent condition never passes", engine, ""},
		{readiness, "return required.WhenAbsent == v1alpha1.AbsentPass, time.Time{}", "return true, time.Time{}",
			"an absent condition always passes", engine, ""},
		{readiness, "holds = !held || !since.Equal(sinceBefore)", "holds = !held || false && !since.Equal(sinceBefore)",
			"a break of a condition that nobody saw does not begin a wait anew", engine, ""},
		{inventory, "is.Since != c.Since) && asked(c.Type)", "is.Since != c.Since)",
			"conditions that nobody asks for are news", engine, ""},
		{"pkg/sequence/", " && old.SameConditions(&view.Node, k.asksNodes) {", " {",
			"a condition that changes alone is not looked at", engine, ""},
		{enginePath, "d.noteConditions(before)", "_ = before",
			"a wait counts from when a condition was seen", engine, ""},
		{enginePath, "latest(g.objects.Since(), d.node.conditionsSince(g))", "g.objects.Since()",
			"a wait does not count from the conditions of a node", engine, ""},
		{"pkg/sequence/", "latest(pods[state], d.node.conditionsSince(d.sequence.groups[i]))\n\tif !now", "pods[state]\n\tif !now",
			"a pod that was bound before the condition of its node held counts as in order", engine, ""},
		{enginePath, "since.IsZero() && g.WithoutMembers", "g.WithoutMembers",
			"of a group of objects alone status does not say since when it is satisfied", engine, ""},
		{orderPath, " NodeConditions: normalConditions(spec.NodeConditions),", "",
			"a pass holds though the group waits for other conditions now", engine, ""},
		{orderPath, "return len(g.Objects) > 0 || len(g.NodeConditions) > 0 }", "return len(g.Objects) > 0 }",
			"a group of conditions alone is passed on every node", engine, ""},
	}
}
