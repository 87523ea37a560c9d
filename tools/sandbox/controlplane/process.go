package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"example.com/podsequence/tools/sandbox/childprocess"
)

// exitPoll is how often a process that is no child of ours is looked at while its end is awaited.
const exitPoll = 10 * time.Millisecond

// process is the record of a component's process: what runs it, and which one runs it now. It is kept in a file, so
// that processes can be found, ended and started again by others than their parent.
type process struct {
	Name string   `json:"name"`
	Path string   `json:"path"`
	Args []string `json:"args"`
	// URL is where the component serves.
	URL string `json:"url"`
	// HealthURL answers 200 once the component does its work.
	HealthURL string `json:"healthURL"`
	// PID and StartTime together name one process: the system hands out process IDs again.
	PID       int    `json:"pid,omitempty"`
	StartTime uint64 `json:"startTime,omitempty"`
}

// save replaces the record in one step: readers see the old one or the new one.
func (p *process) save(l layout) error {
	content, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("encode record of %s: %w", p.Name, err)
	}
	path := l.record(p.Name)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("write record of %s: %w", p.Name, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write record of %s: %w", p.Name, err)
	}
	return nil
}

// loadProcess reads the record of a component that has been started in this directory.
func loadProcess(l layout, name string) (*process, error) {
	content, err := os.ReadFile(l.record(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("component %s is not part of the sandbox in %s", name, l)
	}
	if err != nil {
		return nil, fmt.Errorf("read record of %s: %w", name, err)
	}
	p := &process{}
	if err := json.Unmarshal(content, p); err != nil {
		return nil, fmt.Errorf("decode record of %s: %w", name, err)
	}
	return p, nil
}

// loadProcesses reads all records, in the order of Components; real nodes come last.
func loadProcesses(l layout) ([]*process, error) {
	var processes []*process
	for _, name := range append(Components(), RealNodes) {
		if _, err := os.Stat(l.record(name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		p, err := loadProcess(l, name)
		if err != nil {
			return nil, err
		}
		processes = append(processes, p)
	}
	return processes, nil
}

// start runs the process and records it. Its output is appended to the component's log.
func (p *process) start(l layout, detach bool) error {
	log, err := os.OpenFile(l.log(p.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log of %s: %w", p.Name, err)
	}
	// The child has a descriptor of its own.
	defer func() { _ = log.Close() }()

	cmd := exec.Command(p.Path, p.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = processAttributes(p.Name, detach)
	if err := childprocess.Start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	// Reaps the child; whether it runs is asked of the system, as we may not be its parent.
	go func() { _ = cmd.Wait() }()

	p.PID = cmd.Process.Pid
	if p.StartTime, err = processStartTime(p.PID); err != nil {
		// It is gone already, which the wait for its health will find out and explain.
		p.StartTime = 0
	}
	if err := p.save(l); err != nil {
		return errors.Join(err, cmd.Process.Kill())
	}
	return nil
}

// alive reports whether the recorded process, and not another one with its ID, is running.
func (p *process) alive() bool {
	if p.PID == 0 || p.StartTime == 0 {
		return false
	}
	startTime, err := processStartTime(p.PID)
	return err == nil && startTime == p.StartTime
}

// signal sends a signal to the recorded process and never to another one that has got its ID.
func (p *process) signal(sig syscall.Signal) error {
	// The handle stays with the process it was opened for, so that checking after opening leaves no gap.
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return fmt.Errorf("find process of %s: %w", p.Name, err)
	}
	defer func() { _ = handle.Release() }()
	if !p.alive() {
		return fmt.Errorf("signal %s: %w", p.Name, os.ErrProcessDone)
	}
	if err := handle.Signal(sig); err != nil {
		return fmt.Errorf("signal %s: %w", p.Name, err)
	}
	return nil
}

// awaitPorts waits until the ports to which the process returns are free. That of one that was killed may be taken for a moment longer than
// there is a process: one that the killed one was just starting, for example, holds on to it, too.
func (p *process) awaitPorts(ctx context.Context) error {
	for _, served := range []string{p.HealthURL, p.URL} {
		parsed, err := url.Parse(served)
		if err != nil || parsed.Port() == "" {
			continue
		}
		err = wait.PollUntilContextTimeout(ctx, exitPoll, stopGrace, true, func(context.Context) (bool, error) {
			return !isTaken(parsed.Host), nil
		})
		if err != nil {
			return fmt.Errorf("start %s: somebody still listens at %s: %w", p.Name, parsed.Host, err)
		}
	}
	return nil
}

// kill ends the process without giving it a chance to react, and waits until it is gone.
func (p *process) kill(ctx context.Context) error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	return p.waitForExit(ctx)
}

// terminate asks the process to end, and kills it if it has not done so within the grace period.
func (p *process) terminate(ctx context.Context, grace time.Duration) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	// A stopped process does not see the request before it is continued; one that runs may have ended by then.
	if err := p.signal(syscall.SIGCONT); err != nil {
		return unlessDone(err)
	}
	graceful, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if p.waitForExit(graceful) == nil {
		return nil
	}
	return unlessDone(p.kill(ctx))
}

// unlessDone takes it for no error that a process has ended already.
func unlessDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func (p *process) waitForExit(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, exitPoll, true, func(context.Context) (bool, error) {
		return !p.alive(), nil
	})
	if err != nil {
		return fmt.Errorf("wait for end of %s: %w", p.Name, err)
	}
	return nil
}

// waitUntilHealthy returns when the process answers its health check. If it ends before that, or takes too long, the
// error shows the end of its log.
func (p *process) waitUntilHealthy(ctx context.Context, l layout, client *http.Client) error {
	var lastErr error
	err := wait.PollUntilContextTimeout(ctx, healthPoll, startTimeout, true, func(ctx context.Context) (bool, error) {
		if !p.alive() {
			return false, errors.New("process ended")
		}
		lastErr = probe(ctx, client, p.HealthURL)
		return lastErr == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w%s", p.Name, errors.Join(err, lastErr), logTail(l.log(p.Name)))
	}
	return nil
}
