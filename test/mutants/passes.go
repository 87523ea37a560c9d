package main

// ofPasses are about which passes are recorded, by whom, after which look, and which records count.
func ofPasses() []mutant {
	const ripe, state, record, status = enginePath, progressPath, "pkg/record/", "pkg/sequence/report/"
	return []mutant{
		{ripe, "if w == nil || !w.CountsAs(&view.Workload) {", "if w == nil {",
			"a pass is recorded though a workload asks for more pods by now", engine, ""},
		{ripe, "return len(known) == 0", "return len(known) >= 0",
			"a pass is recorded though a workload that it counts is gone", engine, ""},
		{ripe, " || inventory.Newer(object.ResourceVersion, p.ResourceVersion) {", " {",
			"a pass is recorded though a pod has changed since", engine, ""},
		{ripe, "if p == nil || p.UID != object.UID ||", "if p != nil && p.UID == object.UID &&",
			"a pass is recorded though there is a pod that nobody knows yet", engine, ""},
		{ripe, "!is && slices.Contains(r.PodNamespaces, p.Namespace)", "!is && p == nil",
			"a pass is recorded though a pod that it counts is gone", engine, ""},
		{enginePath, "if _, still := now.Passes[hash]; !still {", "if _, still := now.Passes[hash]; !still && s == nil {",
			"a pass is recorded of a group that is not ready any more", engine, ""},
		{enginePath, "if now.UID != ripe.UID || ", "if s == nil || ",
			"a pass of a sequence is recorded in the one that was created after it", engine, ""},
		{ripe, "inventory.Newest(s.changedAs, k.nodes.changedAs)", "k.nodes.changedAs",
			"nobody looks at pods where the sequence has come after all that is known of them", engine, ""},
		{ripe, "inventory.Newest(s.changedAs, k.nodes.changedAs)", "s.changedAs",
			"nobody looks at pods where a node has come after all that is known of them", engine, ""},
		{enginePath, "|| slices.ContainsFunc(now.PodNamespaces, ", "|| s == nil && slices.ContainsFunc(now.PodNamespaces, ",
			"nobody looks at pods where a workload has changed since somebody asked what to look at", engine, ""},
		{ripe, "inventory.Behind(pods, w.changedAs)", "inventory.Behind(w.changedAs, w.changedAs)",
			"nobody looks at pods where a workload has changed after all that is known of them", engine, ""},
		{ripe, "if d.TimedOutRipe.Has(i) {", "if d.TimedOutRipe.Has(i) && s == nil {",
			"a group whose time is over waits for a look at what it counts", engine, ""},

		{state, "case records:", "case records && d.OnNode:",
			"a group is passed before that is recorded", progresses, ""},
		{state, "recorded && !d.OnNode && !d.Continuous {", "recorded && d.OnNode {",
			"a group of which a pass is recorded is not passed", progresses, ""},
		{state, "!(records && (s.Passed | s.Ripe).Contains(", "!(records && s.Passed.Contains(",
			"of groups that are ready only the first is recorded at once", progresses, ""},
		{progressPath, " && !d.DryRunRequested }", " }",
			"a dry run records passes", progresses, ""},

		{orderPath, "return pass, pass.UID == s.UID", "return pass, pass.UID != \"\"",
			"a pass of another object counts", orders, ""},
		{orderPath, "if status.EnforcementMode == v1alpha1.Continuous || ", "if ",
			"what an earlier release recorded counts though it could be lost", orders, ""},
		{orderPath, " || (wasDryRun && !s.DryRunRequested) {", " || (wasDryRun && false) {",
			"what was recorded in a dry run counts after it", orders, ""},
		{orderPath, " || (wasDryRun && !s.DryRunRequested) {", " || wasDryRun {",
			"a restart forgets which groups a dry run has passed", engine, ""},

		{record, "looked, err := r.eyes.look(ctx, ripe)", "looked, err := sequence.Looked{}, ctx.Err()",
			"a pass is recorded without a look", records, ""},
		{record, "if !r.decider.Agrees(ripe, looked) {", "if !r.decider.Agrees(ripe, looked) && ctx == nil {",
			"a pass is recorded though the engine does not agree any more", records, ""},
		{record, `map[string]any{"uid": ripe.UID, "resourceVersion": ripe.ResourceVersion}`, `map[string]any{"uid": ripe.UID}`,
			"a pass is recorded in a version of the sequence that nobody has looked at", records, ""},
		{record, "\tr.options.Recorded(object)\n", "\t_ = object\n",
			"a pass counts only when the watch brings it", records, ""},

		{status, "w.passes(),", "statusWriter{w.Report, &v1alpha1.PodSequence{}, w.now}.passes(),",
			"passes are dropped when status is written", reports, ""},
		{status, "case recorded && pass.UID == w.UID:", "case recorded:",
			"passes of another object are kept", reports, ""},
	}
}
