package real

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"example.com/podsequence/tools/sandbox/childprocess"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// sandbox is the program bin/sandbox, and the cluster that it runs in a directory.
type sandbox struct {
	program, dir string

	process *os.Process
	ended   chan error
}

func newSandbox() (*sandbox, error) {
	bin, err := controlplane.FindBin()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "podsequence-real-")
	if err != nil {
		return nil, fmt.Errorf("make directory of the cluster: %w", err)
	}
	return &sandbox{program: filepath.Join(bin, "sandbox"), dir: dir, ended: make(chan error, 1)}, nil
}

// command is the program with the directory.
func (s *sandbox) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, s.program, append([]string{"--dir", s.dir}, args...)...)
}

// run returns what a command printed.
func (s *sandbox) run(ctx context.Context, args ...string) (string, error) {
	output, err := s.command(ctx, args...).CombinedOutput()
	return strings.TrimSpace(string(output)), err
}

// up starts the cluster, and returns when it is up. It ends with this program, even if that is killed.
func (s *sandbox) up(ctx context.Context, args ...string) error {
	command := s.command(context.WithoutCancel(ctx), append([]string{"up"}, args...)...)
	output, said := io.Pipe()
	command.Stdout, command.Stderr = said, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := childprocess.Start(command); err != nil {
		return fmt.Errorf("start the sandbox: %w", err)
	}
	s.process = command.Process
	go func() {
		err := command.Wait()
		_ = said.Close() // never fails
		s.ended <- err
	}()
	isUp := make(chan struct{})
	go follow(output, isUp)
	select {
	case <-isUp:
		return nil
	case err := <-s.ended:
		s.process = nil
		if err == nil {
			err = errors.New("exit status 0")
		}
		return fmt.Errorf("the sandbox ended before the cluster was up: %w", err)
	case <-ctx.Done():
		return fmt.Errorf("start the sandbox: %w", ctx.Err())
	}
}

// follow prints what the sandbox says, and closes isUp when it says that it runs until Ctrl-C.
func follow(output io.Reader, isUp chan<- struct{}) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		fmt.Fprintln(os.Stderr, "  "+lines.Text())
		if strings.HasPrefix(lines.Text(), "Ctrl-C stops it.") && isUp != nil {
			close(isUp)
			isUp = nil
		}
	}
}

// stop ends the cluster.
func (s *sandbox) stop() error {
	if s.process == nil {
		return nil
	}
	if err := s.process.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("stop the sandbox: %w", err)
	}
	select {
	case err := <-s.ended:
		return err
	case <-time.After(stopPatience):
		return fmt.Errorf("the sandbox has not ended after %s", stopPatience)
	}
}
