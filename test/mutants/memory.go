package main

// ofMemory are about what status remembers for the programs.
func ofMemory() []mutant {
	const file, written = specPath + "memory.go", "pkg/sequence/report/memory.go"
	return []mutant{
		{file, "m != nil && index < len(m.Groups) && m.Groups[index].Hash != \"\"", "m != nil && index < 0",
			"a pass counts only with the hash in groups", engine, ""},
		{file, "\treturn status.Groups[index].Hash", "\treturn \"\"",
			"a pass that an earlier release recorded is forgotten", engine, ""},
		{file, "if status.Memory != nil {", "if status.Memory == nil {",
			"what is remembered of nodes is looked for in the wrong place", engine, ""},
		{file, "len(id) == len(NodeID{})", "id != nil",
			"a memory of nodes that was cut brings the programs down", specs, ""},
		{"pkg/sequence/apply_sequence.go", "!sameTimeOuts(was, d.remembered)", "d.evaluated && was == nil",
			"a node is not looked at again when status remembers something else of it", engine, ""},
		{written, "a.urgency-b.urgency", "b.urgency-a.urgency",
			"what would make pods start too early is forgotten first", reports, ""},
		{written, "same.nodes[:min(len(same.nodes), fits)]", "same.nodes",
			"what status remembers of nodes has no bound", reports, ""},
		{"pkg/sequence/report/status_node.go", "return !n.Completed || n.Group != nil", "return !n.Completed",
			"a node on which only a wait is not over is not listed", engine, ""},
	}
}
