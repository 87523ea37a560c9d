// Package stages holds what KWOK makes of nodes and pods in a sandbox.
//
// A pod runs as soon as it is bound and then follows its annotations, all of which are Go durations since its start:
//
//	sandbox.podsequence.example.com/ready-after     when it becomes ready; default 1s. "never" keeps it unready, and
//	                                                makes it so again if it was ready before.
//	sandbox.podsequence.example.com/complete-after  when it ends with phase Succeeded; default 2s for a pod of a Job, whose
//	                                                work nobody does here, and never for any other. "never" keeps it running.
//	sandbox.podsequence.example.com/fail-after      when it ends with phase Failed; default never. It takes precedence.
//
// KWOK's own stages complete pods of Jobs too. Their annotation pod-complete.stage.kwok.x-k8s.io/delay replaces the 2s.
//
// Annotations may be changed while the pod runs. The start of a pod is known in whole seconds, so a delay that has to
// be worked out again, because the pod was changed or KWOK restarted, may end up to a second late, but never early.
package stages

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed *.yaml
var files embed.FS

//go:embed pod.jq
var podDefinitions string

// Documents returns the stages as YAML documents.
func Documents() ([]string, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list stages: %w", err)
	}
	// KWOK's jq has no modules to include.
	include := strings.NewReplacer(`include "pod";`, oneLine(podDefinitions))
	documents := make([]string, 0, len(names))
	for _, name := range names {
		content, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read stage: %w", err)
		}
		documents = append(documents, include.Replace(string(content)))
	}
	return documents, nil
}

// oneLine makes a jq program fit any place of a YAML block.
func oneLine(program string) string {
	var code []string
	for line := range strings.Lines(program) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			code = append(code, line)
		}
	}
	return strings.Join(code, " ")
}
