package main

// ofMemory are about what status remembers for the programs.
func ofMemory() []mutant {
	const pkg = orderPath
	return []mutant{
		{pkg, "m != nil && index < len(m.Groups) && m.Groups[index].Hash != \"\"", "m != nil && index < 0",
			"a pass counts only with the hash in groups", engine, ""},
		{pkg, "\treturn status.Groups[index].Hash", "\treturn \"\"",
			"a pass that an earlier release recorded is forgotten", engine, ""},
		{"pkg/sequence/report/", "return !n.Completed || n.Group != nil", "return !n.Completed",
			"a node on which only a wait is not over is not listed", engine, ""},
	}
}
