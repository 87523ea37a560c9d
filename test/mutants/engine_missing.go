package main

// ofMissing are about pods that wait for a sequence that does not exist.
func ofMissing() []mutant {
	return []mutant{
		{specPath + "join.go", "&& (j.Ours || j.Gated):", "&& j.Ours:",
			"a gated pod of another scheduler does not wait for the sequence that it names", engine, ""},
		{specPath + "join.go", "j.Required && !j.Selected && j.Ours", "j.Required && !j.Selected",
			"a namespace asks sequences of pods of other schedulers", engine, ""},
		{specPath + "join.go", "j.Required && !j.Selected && j.Ours", "j.Required && j.Ours",
			"a namespace that requires a sequence holds pods that have one", engine, ""},
		{enginePath + "published.go", "x.uninstalled.Load() || spec.IsOwn(", "spec.IsOwn(",
			"pods wait for sequences of a kind that is not installed", engine, ""},
		{enginePath + "published.go", "x.uninstalled.Load() || spec.IsOwn(set.InstallationNamespace, p.Namespace, &p.Labels)", "x.uninstalled.Load()",
			"pods of PodSequence itself wait for sequences", engine, ""},
		{enginePath + "members.go", "!p.Bound() && spec.NamedSequence(&p.Labels) == key.Name", "p.Bound() && spec.NamedSequence(&p.Labels) == key.Name",
			"pods that name a sequence are not looked at when it comes", engine, ""},
		{enginePath + "members.go", "\t\t\tp.placed = p.placed.And(tx.Question)\n", "",
			"a pod that waited for a sequence to be created is released by what was confirmed before", engine, ""},
		{enginePath + "members.go", "!p.Bound() && len(p.memberships()) == 0", "p.Bound()",
			"pods are not looked at when their namespace requires a sequence", engine, ""},
		{enginePath + "published.go", "return !known || x.requiring.Load() > 0", "return known && x.requiring.Load() > 0",
			"what a namespace requires that is not known yet is not waited for", engine, ""},
		{enginePath + "published.go", "return !known || x.requiring.Load() > 0", "return !known",
			"what namespaces require is not waited for", engine, ""},
		{enginePath + "settle.go", "\tk.publishGone(tx)\n", "",
			"a sequence that is gone still exists for those who name it", engine, ""},
		{enginePath + "publish.go", "if !released || p.existing.join(view, len(memberships) > 0, set).Missing() != spec.NothingMissing {", "if !released {",
			"a pod that the engine does not know is released by the sequence that it names", engine, ""},
		{enginePath + "settings.go", "(isOwn || (isNamed && gate == v1alpha1.DefaultSchedulingGateName))", "(isOwn || (isNamed && gate == \"\"))",
			"the default gate stays on a pod that names a sequence and is in no group", engine, ""},
		{enginePath + "settings.go", "(isNamed && gate == v1alpha1.DefaultSchedulingGateName)", "isNamed",
			"every gate is lifted from a pod that names a sequence", engine, ""},
		{enginePath + "judge.go", "return k.holderOf(p) == holder{}", "h := k.holderOf(p); h.missing = 0; return h == holder{}",
			"gates are lifted from pods that wait for a sequence", engine, ""},
	}
}
