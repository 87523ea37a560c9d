package main

// ofStarts are about pods that started before their sequence existed.
func ofStarts() []mutant {
	const pkg = "pkg/sequence/"
	return []mutant{
		{pkg, " && !(p.GateLifted && p.CreatedAt.Time().After(created))", "",
			"a pod whose gate was lifted in its turn started out of order, if its group was closed again before it was bound", engine, ""},
		{pkg, "(!bound.After(created) || !s.knowledge.settings.isOurs(p) && !(p.GateLifted && p.CreatedAt.Time().After(created))) && ", "",
			"a pod that was bound after its sequence was created started before it", engine, ""},
		{pkg, " && !bound.Before(created.Add(-oneInstallation))", "",
			"a pod that was bound long before its sequence was created is judged", engine, ""},
		{pkg, "return ready.IsZero() || !ready.Truncate(time.Second).Add(d.sequence.groups[i].Wait).After(at)", "return ready.IsZero() || true",
			"a group that became ready after the pod was bound was ready before", engine, ""},
		{pkg, "!bound.After(created) || !s.knowledge.settings.isOurs(p)", "!bound.After(created)",
			"a pod that another scheduler bound after its sequence was created is not judged", engine, ""},
		{pkg, "!d.isNode() && d.Passed.Has(i)", "d == nil",
			"a group that was passed permanently, and broke, was not passed", engine, ""},
		{pkg, "!p.BoundAt.Time().Before(o.from)", "p.Bound()",
			"a pod that another scheduler bound before a restart is judged anew", engine, ""},
		{pkg, "isNamesake := !written.IsZero() && p.BoundAt", "isNamesake := false && p.BoundAt",
			"a pod that has the name of one that started too early is taken for it", engine, ""},
		{pkg, "p.BoundAt.Time().After(written)", "!p.BoundAt.Time().Before(written)",
			"a pod that started too early in the second in which status was written is forgotten", engine, ""},
		{pkg, "ready.Truncate(time.Second).Add(d.sequence.groups[i].Wait)", "ready.Truncate(time.Second)",
			"a group was passed before its wait was over", engine, ""},
		{pkg, "if _, known := pods[state]; !known {", "if state != nil {",
			"all pods of a group are looked at for each pod that may have started out of order", engine, ""},
		{pkg, "case s.object.Status.ObservedGeneration < 1:", "case s.object.Status.StartedOutOfOrder == nil:",
			"pods are judged again after each restart", engine, ""},
		{pkg, "is && m.mayHaveStartedEarly(p) && slices.Contains(names, s.nameOf(p))", "is && m.sequence != nil && slices.Contains(names, s.nameOf(p))",
			"a pod that takes the place of one that started too early started too early", engine, ""},
		{pkg, "gone || !is || ", "!is || ",
			"a pod that is created again under the same name started too early", engine, ""},
		{"pkg/sequence/", "\ts.outOfOrder.checks = false", "\t_ = s.outOfOrder.checks",
			"pods of namespaces that come to be selected later are judged", engine, ""},
		{orderPath, "status.ObservedUID != uid {", "uid == \"\" {",
			"a status that was restored to another object counts", orders, ""},
		{"pkg/sequence/report/", "\t\tObservedUID:        w.object.UID,\n", "",
			"status does not say which object it describes", engine, ""},
		{controllers + "podsequence/", "slices.Contains(after.DegradedReasons, reason) && !slices.Contains(before.DegradedReasons, reason)", "slices.Contains(after.DegradedReasons, reason)",
			"a problem is told of with each status", statuses, ""},
	}
}
