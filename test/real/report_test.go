package real

import (
	"os"
	"path/filepath"
	"strings"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// lastLines is how much of a log a story that failed prints.
const lastLines = 15

// report prints what one needs to understand why a story failed. What says most comes last: of a long output people see the end.
func (s *story) report() {
	if !s.Failed() {
		return
	}
	for _, node := range nodes {
		found, _ := filepath.Glob(filepath.Join(shared.Dir, "real-nodes", node, "log", "kubelet*")) // the pattern is well-formed
		for _, path := range found {
			s.logTail(path)
		}
	}
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		s.logTail(shared.Log(program))
	}
	for _, args := range [][]string{
		{"get", "events", "--sort-by", ".lastTimestamp"},
		{"get", "podsequences,sequentialjobs,pods,nodes", "--output", "wide"},
		{"get", "pods", "--output", "jsonpath={range .items[*]}{.metadata.name}: {.status.conditions}{'\n'}{end}"},
	} {
		if output, err := shared.sandbox.run(s.Ctx, append([]string{"kubectl", "--", "--namespace", s.Namespace}, args...)...); err == nil {
			s.Logf("kubectl %s:\n%s", strings.Join(args, " "), output)
		}
	}
	s.Logf("what the containers said:\n%s", s.said())
}

// logTail prints the last lines of a log.
func (s *story) logTail(path string) {
	content, err := os.ReadFile(path)
	if err != nil {
		s.Logf("%s: %v", path, err)
		return
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	lines = lines[max(0, len(lines)-lastLines):]
	s.Logf("%s:\n%s", path, strings.Join(lines, "\n"))
}
