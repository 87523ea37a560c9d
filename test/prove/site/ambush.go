package site

import (
	"strings"
)

// Write is a kind of write that our programs make.
type Write struct {
	Program  string // without the number of the instance
	Method   string // of HTTP
	Resource string // with its subresource, such as pods/binding
}

// Ambush waits for writes, to kill the instances that make them.
type Ambush struct {
	Write
	// After says that the API server has done what is asked for.
	After bool
	// In is a part of the path, such as a namespace. Any program is meant if there is none in Write.
	In string
	// Times is how many kills there are at most.
	Times int
}

// ambush is an Ambush that lies in wait.
type ambush struct {
	Ambush
	killed int
	pass   bool // the next such write is left alone
}

// springs reports whether a write runs into the ambush. After each kill just before a write, one write passes: else there would be no
// progress.
func (a *ambush) springs(made Write, path string) bool {
	if a.killed == a.Times || made.Method != a.Method || made.Resource != a.Resource ||
		a.Program != "" && a.Program != made.Program || !strings.Contains(path, a.In) {
		return false
	}
	if a.pass {
		a.pass = false
		return false
	}
	a.killed++
	a.pass = !a.After
	return true
}

// written is the resource of an object, with its subresource: that of /api/v1/namespaces/shop/pods/db/status is pods/status.
func written(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	const core, group = 2, 3 // what comes before: api/VERSION, or apis/GROUP/VERSION
	skip := core
	if parts[0] == "apis" {
		skip = group
	}
	if len(parts) <= skip {
		return ""
	}
	parts = parts[skip:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	const subresource = 2 // behind the resource and the name
	if len(parts) > subresource {
		return parts[0] + "/" + parts[subresource]
	}
	return parts[0]
}
