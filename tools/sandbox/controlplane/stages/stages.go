// Package stages holds what KWOK makes of nodes and pods in a sandbox.
//
// A pod runs as soon as it is bound and then follows its annotations. Most are Go durations since its start:
//
//	sandbox.podsequence.example.com/ready-after     when it becomes ready; default 1s. "never" keeps it unready, and
//	                                                makes it so again if it was ready before.
//	sandbox.podsequence.example.com/complete-after  when it ends with phase Succeeded; default 2s for a pod of a Job, whose
//	                                                work nobody does here, and never for any other. "never" keeps it running.
//	sandbox.podsequence.example.com/fail-after      when it ends with phase Failed; default never. It takes precedence.
//	sandbox.podsequence.example.com/crash-after     when its containers end with an error, counted from each of their
//	                                                starts, so again and again; default never. Readiness then counts
//	                                                from each start, too.
//	sandbox.podsequence.example.com/crash-times     how many times they do; default always.
//	sandbox.podsequence.example.com/restart-after   how long containers that crashed wait for their restart; default 1s.
//	                                                After "0s" a ready pod is never seen unready: the kubelet reports
//	                                                restart and end at once, and Ready with a later time.
//	sandbox.podsequence.example.com/gone-after      how long its containers run on after it is deleted; default 0s. If a finalizer
//	                                                keeps it, as those of Jobs, it then ends with phase Failed.
//	sandbox.podsequence.example.com/rejected        the reason for which the kubelet does not admit the pod; default none.
//	sandbox.podsequence.example.com/clock           how far the kubelet's clock is ahead, or behind if it is negative.
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
	"time"
)

//go:embed *.yaml
var files embed.FS

//go:embed pod.jq
var podDefinitions string

// kubeletNow is what templates write in place of KubeletNow: the time by the clock of the pod's kubelet.
const kubeletNow = `now | mustDateModify (dig "metadata" "annotations" "sandbox.podsequence.example.com/clock" "0s" .) | ` +
	`date "2006-01-02T15:04:05.999999999Z07:00"`

// Heartbeats of nodes, as node-heartbeat.yaml has them.
const (
	heartbeatInterval = 270 * time.Second
	heartbeatJitter   = 330 * time.Second
	delayTemplate     = "    durationMilliseconds: %d\n    jitterDurationMilliseconds: %d\n"
)

// Documents returns the stages as YAML documents. The heartbeats of nodes come several times within their grace period.
func Documents(gracePeriod time.Duration) ([]string, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list stages: %w", err)
	}
	// KWOK's jq has no modules to include.
	interval, jitter := heartbeatInterval, heartbeatJitter
	if often := gracePeriod / 5; often < interval {
		interval, jitter = often, often+often/5
	}
	replace := strings.NewReplacer(
		`include "pod";`, oneLine(podDefinitions), "KubeletNow", kubeletNow,
		delay(heartbeatInterval, heartbeatJitter), delay(interval, jitter),
	)
	documents := make([]string, 0, len(names))
	for _, name := range names {
		content, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read stage: %w", err)
		}
		documents = append(documents, replace.Replace(string(content)))
	}
	return documents, nil
}

// delay is how a stage says how long to wait: from interval to jitter.
func delay(interval, jitter time.Duration) string {
	return fmt.Sprintf(delayTemplate, interval.Milliseconds(), jitter.Milliseconds())
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
