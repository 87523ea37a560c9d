package main

const (
	readinessPath = "pkg/sequence/readiness/"
	inventoryPath = "pkg/sequence/inventory/"
	specPath      = "pkg/sequence/spec/"
	progressPath  = "pkg/sequence/progress/"
)

// ofReadiness are about whether groups are ready, and what the API says of pods and workloads.
func ofReadiness() []mutant {
	return []mutant{
		{readinessPath + "group.go", "n.Nothing = g.Demands.Workloads == 0 && g.Members.Expected == 0", "n.Nothing = false",
			"a group of which there is nothing yet is ready", engine, ""},
		{readinessPath + "group.go", "need.PodGroupShort || need.Ready < need.Required {", "need.PodGroupShort || need.Ready+1 < need.Required {",
			"a group is ready one pod early", engine, ""},
		{readinessPath + "group.go", "n.Certain = g.Members.Unseen == 0 && g.Demands.Unobserved == 0", "n.Certain = g.Members.Unseen == 0",
			"a workload counts whose controller has not seen its newest generation", engine, ""},
		{readinessPath + "group.go", "n.Certain = g.Members.Unseen == 0 &&", "n.Certain = g.Members.Unseen >= 0 &&",
			"a group is ready though the owner of a pod is not known yet", engine, ""},
		{readinessPath + "group.go", "return g.MinAvailable != nil || g.Demands.Short == 0", "return true",
			"a Job that is not complete is", engine, ""},
		{readinessPath + "group.go", "g.MinAvailable, n.Expected, true)", "g.MinAvailable, n.Expected, false)",
			"a percentage is rounded down", engine, ""},
		{readinessPath + "group.go", "need.PodGroupShort || need.Ready", "need.Ready",
			"a PodGroup that asks for more pods is not waited for", engine, ""},
		{readinessPath + "member.go", "!p.ReadyAt.Time().Before(nodeCreatedAt))", "!p.ReadyAt.Time().Before(time.Time{}))",
			"what was ready on an earlier node of the same name counts", engine, ""},
		{readinessPath + "member.go", "if p.IsReplaced() {", "if p.Failed {",
			"on nodes a lost pod is not waited for", engine, ""},
		{readinessPath + "demand.go", "Ready: min(ready, need)}", "Ready: ready}",
			"a surplus of one workload covers a gap of another", engine, ""},
		{readinessPath + "demand.go", "CountsPods(w) && (w.AllCurrent || w.Revision == revision)", "CountsPods(w)",
			"pods of an earlier revision count", engine, ""},
		{readinessPath + "demand.go", "return w.Counts() && !w.Superseded", "return w.Counts()",
			"all Jobs of a CronJob count, not only the newest", engine, ""},
		{readinessPath + "job.go", "return done, true", "return done, done < need",
			"a group that must complete is satisfied by the pods of a Job", engine, ""},
		{readinessPath + "statefulset.go", "if p.Failed || !w.Wants(p) {", "if !w.Wants(p) {",
			"a failed pod that an earlier group has is not expected again", engine, ""},
		{readinessPath + "daemonset.go", "return due && pods == 0", "return due && pods < 0",
			"a node is open before the DaemonSet that is due there has a pod", engine, ""},
		{inventoryPath + "pod.go", "case corev1.PodFailed:\n\t\treturn false, time.Time{}", "case corev1.PodUnknown:\n\t\treturn false, time.Time{}",
			"a failed pod with a stale Ready condition is ready", engine, ""},
		{inventoryPath + "proof.go", " || fields[0] != string(object.UID)", "",
			"a copy of a pod proves a release", engine, ""},
		{inventoryPath + "kinds.go", `ptr.Deref(strategy.RollingUpdate.Partition, 0) > 0`, `ptr.Deref(strategy.RollingUpdate.Partition, 0) < 0`,
			"pods below the partition of a StatefulSet do not count", engine, ""},
		{inventoryPath + "kinds.go", "min(parallelism, completions), completions", "max(parallelism, completions), completions",
			"a Job is expected to have more pods at once than it may", engine, ""},
		{inventoryPath + "version.go", "return err != nil || order > 0", "return err != nil || order != 0",
			"an older version of an object takes the place of a newer one", engine, ""},
		{inventoryPath + "pod.go", "return f.SameMembership(other) && f.Wants().Equal(other.Wants())", "return f.SameMembership(other)",
			"what was said of a pod is said of it though it tolerates other nodes since", engine, ""},
	}
}

// ofOrder are about who belongs where, what comes before what, and what is recorded of that.
func ofOrder() []mutant {
	return []mutant{
		{specPath + "membership.go", "limit = naming[0]", "limit = 0",
			"a pod belongs to the group that names it, though an earlier one selects it", engine, ""},
		{specPath + "name.go", "if isPlain(name) {", `if name != "" {`,
			"a name of a group breaks a line of status", engine, ""},
		{specPath + "order.go", "awaited[i] = g.Predecessors &^ s.Skipped", "awaited[i] = g.Predecessors",
			"skipped groups are waited for", engine, ""},
		{specPath + "order.go", "predecessors |= before[j]\n", "\n",
			"groups before those that a group depends on are not waited for", engine, ""},
		{specPath + "definition.go", "if uid != string(s.UID) {", `if uid == "" {`,
			"a proof of a sequence that was made again counts", engine, ""},
		{specPath + "definition.go", "return passed &^ others", "return passed",
			"a recorded pass proves that groups were passed which were skipped", engine, ""},
		{specPath + "definition.go", "passed &^= 1 << skipped", "_ = skipped",
			"a proof proves that groups were passed which were skipped", engine, ""},
		{specPath + "definition.go", "\t\tExpectedPods: spec.ExpectedPods,\n", "",
			"recorded passes hold though expectedPods changed", engine, ""},
		{specPath + "definition.go", "d.RequiredStatus = spec.RequiredStatus", "d.RequiredStatus = \"\"",
			"recorded passes hold though requiredStatus changed", engine, ""},
		{specPath + "consent.go", `return entry == "*" || entry == namespace`, `return entry != ""`,
			"consent for one namespace is consent for all", engine, ""},
		{specPath + "reach.go", "return exists && w.selector.Matches(", "return w.selector.Matches(",
			"a namespace that does not exist is selected", engine, ""},
	}
}

// ofProgress are about when groups are passed and released.
func ofProgress() []mutant {
	return []mutant{
		{progressPath + "state.go", "if !d.Refused && (!d.Suspended || s.ReleasedBefore.Has(i)) {", "if !d.Refused {",
			"a suspension stops nothing", engine, ""},
		{progressPath + "state.go", "(!d.Suspended || s.ReleasedBefore.Has(i))", "!d.Suspended",
			"a suspension holds what was released", engine, ""},
		{progressPath + "state.go", "ok = g.Wait == 0 || !now.Before(at)", "ok = true",
			"waits are over at once", engine, ""},
		{progressPath + "state.go", "if readiness.Confirmed {", "if readiness.Satisfied {",
			"what looks ready is not confirmed", engine, ""},
		{progressPath + "state.go", "if d.Continuous {\n\t\ts.Passed", "if d.Continuous && d.OnNode {\n\t\ts.Passed",
			"by Continuous in the cluster a pass is permanent", engine, ""},
		{progressPath + "state.go", "if g.ContinueOnTimeout && s.TimedOut(", "if s.TimedOut(",
			"a time-out lets the sequence go on that should fail", engine, ""},
		{progressPath + "state.go", "s.Pass(group, latest(at, s.ReleasedAt(d, group)))", "s.Pass(group, at)",
			"a group is passed before it was released", engine, ""},
		{progressPath + "state.go", "if at := s.Deadline(d, i); now.Before(at) && !s.SatisfiedOnce(d, i) {\n\t\t\tsoonest(at)", "if at := s.Deadline(d, i); now.Before(at) && !s.SatisfiedOnce(d, i) {\n\t\t\t_ = at",
			"nobody wakes when a time-out is over", engine, ""},
		{progressPath + "times.go", "return t.Truncate(time.Second).Add(time.Second)", "return t.Truncate(time.Second)",
			"a wait counts from the second before", engine, ""},
		{progressPath + "times.go", " || (d.Suspended && !s.Released.Has(group))", "",
			"time-outs run while a sequence is suspended", engine, ""},
		{progressPath + "times.go", "return s.Once.Has(group) || d.Readiness(group).NeedsNothing", "return d.Readiness(group).NeedsNothing",
			"a group that breaks after it was ready in time is too late", engine, ""},
		{progressPath + "times.go", "return !readiness.Satisfied || ", "return readiness.Satisfied || ",
			"a group that was ready in time, and is confirmed later, is too late", engine, ""},
		{progressPath + "times.go", "return FullSecondAfter(watched).Add(g.Timeout)", "return time.Time{}",
			"on a node a time-out that was over before a restart never comes", engine, ""},
		{progressPath + "times.go", "d.OnNode && !watched.Before(at)", "d.OnNode && watched.IsZero()",
			"on a node a time-out that was over before a restart comes at once", engine, ""},
	}
}
