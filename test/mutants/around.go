package main

const (
	feedPath    = "pkg/feed/"
	pluginPath  = "pkg/plugins/podsequence/"
	writerPath  = "pkg/podwriter/"
	controllers = "pkg/controllers/"
	kindsPath   = "pkg/controllers/"
	stalePath   = "internal/stale/"
	clockPath   = "internal/servertime/"
)

// ofFeed are about what is known of the API server, and what is asked.
func ofFeed() []mutant {
	return []mutant{
		{clockPath, "max(0, c.difference())", "min(0, c.difference())",
			"a clock that is ahead ends waits early", clocks, ""},
		{clockPath, "return s.own().Add(-s.difference())", "return s.own()",
			"times are written by a clock that is behind", clocks, ""},
		{clockPath, "if c.answered.IsZero() {\n\t\treturn time.Time{}", "if c.answered.IsZero() {\n\t\treturn c.WithTicker.Now()",
			"time begins with a clock that nobody has compared", clocks, ""},
		{feedPath, "2:  {11: hollow}, ", "2:  hollow, ",
			"no pod has a readiness probe", feed, ""},
		{feedPath, "if err == nil && isServed {", "if err == nil && isServed && ctx == nil {",
			"a list that is not served is taken for an empty one, though the kind is installed", feed, ""},
		{feedPath, "if err := kind.watch.await(ctx, newest); err != nil {", "if err := kind.watch.await(ctx, newest[:0]); err != nil {",
			"a gate is lifted though a sequence from before is not known yet", feed, ""},
		{feedPath, "return f.namespaces.await(ctx, newest)", "return f.namespaces.await(ctx, newest[:0])",
			"a gate is lifted though what the Namespace said before is not known yet", feed, ""},
		{feedPath, "!f.sequences[0].listed || !f.sequences[1].listed", "!f.sequences[0].listed",
			"pods are released before ClusterPodSequences are known", feed, ""},
		{feedPath, "if f.synced && !changes.Empty() {", "if !changes.Empty() {",
			"pods are released before everything is known", feed, ""},
	}
}

// ofPlugin are about the scheduler's queue and cycle.
func ofPlugin() []mutant {
	return []mutant{
		{pluginPath, "|| h.args.isOwn(pod) {", "|| h.args.isOwn(pod) && pod == nil {",
			"PodSequence itself waits until everything is known", plugin, ""},
		{pluginPath, "if !h.feed.Synced() {", "if !h.feed.Synced() && pod == nil {",
			"pods are released before everything is known", plugin, ""},
		{pluginPath, "\t\th.engine.ReportWhenSeen(pod)\n", "",
			"a pod that came before everything was known waits permanently", plugin, ""},
		{pluginPath, "\t\th.keepOut(logger, found, open, pod)\n", "\t\t_ = logger\n",
			"pods that no node is open to slow down all others", plugin, ""},
		{enginePath, "r.opens == r.to.sequence.opens.Load() && ", "",
			"a pod that was refused by all nodes is never tried again", plugin, ""},
		{enginePath, "|| seen.UID != p.pod.UID || seen.held.Load() {", "|| seen.held.Load() {",
			"a pod is not tried because one of its name was refused", plugin, ""},
		{enginePath, "\t\t\tp.published.refused.Store(old.refused.Load())\n", "",
			"a pod is tried in vain once its scheduler has told that it is unschedulable", plugin, ""},
		{enginePath, "\t\t\told.refused.Store(nil)", "\t\t\t_ = old",
			"a pod that was held keeps saying so while no node is open", plugin, ""},
		{pluginPath, "if _, status := pl.holder.decideInCycle(pod); !status.IsSuccess() {", "if _, status := pl.holder.decideInCycle(pod); !status.IsSuccess() && pod == nil {",
			"a pod out of back-off is not asked about", plugin, ""},
		{pluginPath, "\tif !status.IsSuccess() {\n\t\tpl.holder.requeue(klog.FromContext(ctx), pod)\n", "\tif !status.IsSuccess() {\n\t\t_ = klog.FromContext(ctx)\n",
			"a pod whose node closed in its cycle waits for five minutes", plugin, ""},
		{pluginPath, "\treturn nil, nil\n}\n\n// EventsToRegister", "\treturn nil, fwk.NewStatus(fwk.Unschedulable)\n}\n\n// EventsToRegister",
			"the profile loses batching", plugin, ""},
		{pluginPath, "if status.IsSuccess() {\n\t\t// Not what", "if status = nil; unbound != nil {\n\t\t// Not what",
			"a pod that must wait since its node was chosen is bound", plugin, ""},
		{pluginPath, "status = openNow(pl.holder.placement(unbound), node)", "_ = openNow(pl.holder.placement(unbound), node)",
			"a pod is bound to a node that has closed since it was chosen", plugin, ""},
		{pluginPath, "case found.Pin.IsOne():", "case false:",
			"a pod that selects its host is filtered on all nodes", plugin, ""},
		{pluginPath, `if pod.Spec.NodeName != "" || h`, `if h`,
			"a pod that has its node is held when it is resized", plugin, ""},
		{pluginPath, "d, again := found.OpenAs(nodeInfo.Node())", "d, again := found.Open(nodeInfo.Node().Name), false",
			"a pod goes to a node of which the engine knows older labels", plugin, ""},
		{pluginPath, "	if again {", "	if again && pod == nil {",
			"a pod that was refused for new labels of a node waits for five minutes", plugin, ""},
		{pluginPath, "\t\th.handle.DeleteNominatedPodIfExists(pod)\n", "",
			"a held pod keeps the room of a nomination that was not written", plugin, ""},
		{pluginPath, "if verdict.Ordered {", "if verdict.Ordered || pod != nil {",
			"pods of no sequence wait for the bindings of released pods", plugin, ""},
		{pluginPath, "if _, status := pl.lastLook(&unbound, node); !status.IsSuccess() {", "if _, status := pl.lastLook(&unbound, node); !status.IsSuccess() && pod == nil {",
			"a pod that must wait since it asked for a slot is bound", plugin, ""},
		{pluginPath, "context.AfterFunc(ctx, func() { <-pl.holder.binds })", "",
			"the slot of a pod that was bound is never given back", plugin, ""},
		{enginePath, "object.UID != known.Object.UID || ", "",
			"a node that is made again is open by the driver of the one before", plugin, ""},
		{pluginPath, "\t\t\th.writer.Lift(key)\n", "",
			"gates are not lifted", plugin, ""},
		{pluginPath, "\t\th.writer.ClearNomination(pod)\n", "\t\t_ = pod\n",
			"a held pod keeps the room that it was promised", plugin, ""},
		{pluginPath, "\t\th.stopBinding(pod)\n", "",
			"a held pod keeps its node until its volumes are there", plugin, ""},
		{pluginPath, "err == nil && pod.UID == uid {", "err == nil && uid != \"\" {",
			"another pod of the same name is activated", plugin,
			"PreEnqueue asks about whatever is activated"},
		{pluginPath, "return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, message)", "return fwk.NewStatus(fwk.Unschedulable, message)",
			"pods are evicted for one that no eviction helps", plugin, ""},
		{pluginPath, "if !reflect.DeepEqual(h.args, args) {", "if !reflect.DeepEqual(args, args) {",
			"profiles with other arguments share an engine", plugin, ""},
		{pluginPath, "\t}\n\tif d.Held {", "\t}\n\tif d.Held && d.Groups < 0 {",
			"every node is open", plugin, ""},
	}
}

// ofWriter are about the patches of pods.
func ofWriter() []mutant {
	return []mutant{
		{writerPath, "if err := w.options.CatchUp(ctx, pod.Namespace); err != nil {", "if err := w.options.CatchUp(ctx, pod.Namespace); err != nil && pod.Name == \"\" {",
			"a gate is lifted before the sequences are known that there are", writer, ""},
		{writerPath, "if lift = w.decider.Lift(pod); len(lift.Gates) == 0 {", "if len(lift.Gates) == 0 {",
			"a gate is lifted though a sequence holds the pod that has become known", writer, ""},
		{"tools/podseqctl/snapshot/", "case 1:\n\t\treturn matching[0], nil", "case 1, 2:\n\t\treturn matching[0], nil",
			"kubectl podseq skip takes the first of two groups of a name", commands, ""},
		{"tools/podseqctl/text/", "cells[i].Text = OneLine(cells[i].Text)", "_ = i",
			"a cell of a table breaks a line", commands, ""},
		{writerPath, `if pod.Spec.NodeName != "" || !w.options.Explains(pod) {`, `if !w.options.Explains(pod) {`,
			"a bound pod is told what it waits for", writer, ""},
		{writerPath, "case stale.IsConflict(err):\n\t\t\t// The pod, or its name's owner, has changed: the patch is dropped, and worked out anew from what is there now.\n\t\t\tqueue.AddRateLimited(pod)", "case stale.IsConflict(err):",
			"a patch that comes too late is not made anew", writer, ""},
		{writerPath, "case nomination.Recording:", "case nomination.Recording && nomination.UID == \"\":",
			"a restart takes the nominations of released pods", writer, ""},
	}
}
