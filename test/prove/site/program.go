package site

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"example.com/podsequence/tools/sandbox/childprocess"
)

// restartPause is how long a program that ended by itself waits until it is started again.
const restartPause = 200 * time.Millisecond

// program is an instance of one of ours, and looks after itself as a kubelet would.
type program struct {
	name, file, log string
	args            []string
	url             string // where it serves its metrics

	stop    context.CancelFunc
	stopped sync.WaitGroup
	changed chan struct{}

	mu      sync.Mutex
	dir     string      // of the file
	process *os.Process // that runs now
	down    bool        // it must not run
}

// begin runs the program until end.
func (p *program) begin() {
	ctx, stop := context.WithCancel(context.Background())
	p.stop, p.changed = stop, make(chan struct{}, 1)
	p.stopped.Go(func() { p.run(ctx) })
}

func (p *program) end() {
	p.stop()
	p.signal(syscall.SIGCONT)
	p.signal(syscall.SIGKILL)
	p.stopped.Wait()
}

// setDown ends the program and keeps it from being started, or lets it start again.
func (p *program) setDown(down bool) {
	p.mu.Lock()
	was := p.down
	p.down = down
	p.mu.Unlock()
	if down {
		p.signal(syscall.SIGKILL)
	}
	if was != down {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
}

// runFrom makes the program run from a directory: if it runs from another, it starts again.
func (p *program) runFrom(dir string) {
	p.mu.Lock()
	was := p.dir
	p.dir = dir
	p.mu.Unlock()
	if was != dir {
		p.signal(syscall.SIGKILL)
	}
}

// path is the file that runs next.
func (p *program) path() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return filepath.Join(p.dir, p.file)
}

// signal sends a signal to the process, if there is one. Its ID cannot be another's: the process is not waited for meanwhile.
func (p *program) signal(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		_ = p.process.Signal(signal) // it may have ended
	}
}

func (p *program) run(ctx context.Context) {
	for ctx.Err() == nil {
		if p.mayRun() {
			p.runOnce(ctx)
		}
		select {
		case <-ctx.Done():
		case <-p.changed:
		case <-time.After(restartPause):
		}
	}
}

func (p *program) mayRun() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.down
}

// runOnce starts the program and returns when it has ended.
func (p *program) runOnce(ctx context.Context) {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return // the next turn is due soon
	}
	defer func() { _ = log.Close() }()
	command := exec.CommandContext(ctx, p.path(), p.args...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if !p.started(command) {
		return
	}
	_ = command.Wait() // it was killed, or says in its log why it ended
	p.mu.Lock()
	defer p.mu.Unlock()
	p.process = nil
}

// started starts the process unless it must be down by now.
func (p *program) started(command *exec.Cmd) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down || childprocess.Start(command) != nil {
		return false
	}
	p.process = command.Process
	return true
}

// recordedArgs are those with which the cluster of a directory runs a component.
func recordedArgs(dir, component string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(dir, "state", "processes", component+".json"))
	if err != nil {
		return nil, fmt.Errorf("read arguments of %s: %w", component, err)
	}
	var record struct{ Args []string }
	if err := json.Unmarshal(content, &record); err != nil {
		return nil, fmt.Errorf("read arguments of %s: %w", component, err)
	}
	return record.Args, nil
}

// counted is the sum of the samples of a metric, as the program says it to the administrator.
func (p *program) counted(ctx context.Context, config *rest.Config, metric string) int {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	administrator, err := rest.HTTPClientFor(config)
	if err != nil {
		return 0
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/metrics", nil)
	if err != nil {
		return 0
	}
	response, err := administrator.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	sum := 0.0
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && strings.HasPrefix(fields[0], metric) {
			if value, err := strconv.ParseFloat(fields[len(fields)-1], 64); err == nil {
				sum += value
			}
		}
	}
	return int(sum)
}
