package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/manifests"
	"example.com/podsequence/tools/sandbox/realnode"
)

const (
	// stopGrace is how long a component may take to end by itself.
	stopGrace = 5 * time.Second
	// gonePoll is how often Wait looks whether another process has taken the cluster down.
	gonePoll = 500 * time.Millisecond
)

// Cluster is a cluster that has been started. Any number of processes may hold a Cluster of the same directory.
type Cluster struct {
	layout layout
	config *rest.Config
	health healthClients
	detach bool
}

// Open attaches to the cluster that runs in a directory. Components started through it outlive this process.
func Open(dir string) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolve directory of the cluster: %w", err)
	}
	l := layout(dir)
	if _, err := os.Stat(l.state()); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open %s: %w", dir, ErrNoCluster)
	}
	return open(l, true)
}

func open(l layout, detach bool) (*Cluster, error) {
	config, err := loadKubeconfig(l.kubeconfig())
	if err != nil {
		return nil, err
	}
	health, err := newHealthClients(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{layout: l, config: config, health: health, detach: detach}, nil
}

// Config returns the administrator's client configuration, without client-side rate limits.
func (c *Cluster) Config() *rest.Config {
	return rest.CopyConfig(c.config)
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string {
	return c.layout.kubeconfig()
}

// Log returns the path of a component's log.
func (c *Cluster) Log(name string) string {
	return c.layout.log(name)
}

// AuditLog returns the path of the audit log, which is written if Options.AuditLog was set.
func (c *Cluster) AuditLog() string {
	return c.layout.auditLog()
}

// URL returns where a component serves. The metrics of all but KWOK and etcd are at /metrics below it, for the
// administrator and others who may read them.
func (c *Cluster) URL(name string) (string, error) {
	p, err := loadProcess(c.layout, name)
	if err != nil {
		return "", err
	}
	return p.URL, nil
}

// EtcdConfig is what a client of etcd needs, to read the history of everything in the cluster.
func (c *Cluster) EtcdConfig() (clientv3.Config, error) {
	url, err := c.URL(Etcd)
	if err != nil {
		return clientv3.Config{}, err
	}
	tls, err := transport.TLSInfo{
		TrustedCAFile: c.layout.pki(caCertFile),
		CertFile:      c.layout.pki(etcdClientCertFile),
		KeyFile:       c.layout.pki(etcdClientKeyFile),
	}.ClientConfig()
	if err != nil {
		return clientv3.Config{}, fmt.Errorf("read certificates of a client of etcd: %w", err)
	}
	return clientv3.Config{Endpoints: []string{url}, TLS: tls}, nil
}

// PID returns the process ID of a running component.
func (c *Cluster) PID(name string) (int, error) {
	p, err := loadProcess(c.layout, name)
	if err != nil {
		return 0, err
	}
	if !p.alive() {
		return 0, fmt.Errorf("find process of %s: %w", name, os.ErrProcessDone)
	}
	return p.PID, nil
}

// Signal sends a signal to a running component.
func (c *Cluster) Signal(name string, sig syscall.Signal) error {
	p, err := loadProcess(c.layout, name)
	if err != nil {
		return err
	}
	return p.signal(sig)
}

// Kill ends a component at once, as a crash would, and returns when its process is gone.
func (c *Cluster) Kill(ctx context.Context, name string) error {
	p, err := loadProcess(c.layout, name)
	if err != nil {
		return err
	}
	return p.kill(ctx)
}

// StartComponent starts a component that has ended, with the ports and arguments it had and any more that are given, and
// returns when it is healthy.
func (c *Cluster) StartComponent(ctx context.Context, name string, moreArgs ...string) error {
	p, err := loadProcess(c.layout, name)
	if err != nil {
		return err
	}
	if p.alive() {
		return fmt.Errorf("component %s is running already", name)
	}
	p.Args = append(p.Args, moreArgs...)
	for attempt := 1; ; attempt++ {
		if err := p.awaitPorts(ctx); err != nil {
			return err
		}
		// Seen once on a busy machine, with a port at which nobody answered any more: why is not known.
		err := c.run(ctx, p)
		if err == nil || attempt == startAttempts || !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) {
			return err
		}
	}
}

// startAttempts is how often a component is started whose port is still in use.
const startAttempts = 3

// Replace ends a program of ours, and starts that of another release, which is in the directory bin, with the same arguments.
func (c *Cluster) Replace(ctx context.Context, name, bin string) error {
	p, err := loadProcess(c.layout, name)
	if err != nil {
		return err
	}
	if err := p.kill(ctx); err != nil {
		return err
	}
	p.Path = filepath.Join(bin, name)
	return c.run(ctx, p)
}

func (c *Cluster) run(ctx context.Context, p *process) error {
	if err := p.start(c.layout, c.detach); err != nil {
		return err
	}
	return p.waitUntilHealthy(ctx, c.layout, c.health.of(p.Name))
}

// ComponentStatus tells what has become of a component.
type ComponentStatus struct {
	// Name of the component.
	Name string
	// PID of its process; 0 if it does not run.
	PID int
	// URL where it serves.
	URL string
	// Problem is nil if the component runs and is healthy.
	Problem error
}

// Status looks at every component of the cluster.
func (c *Cluster) Status(ctx context.Context) ([]ComponentStatus, error) {
	processes, err := loadProcesses(c.layout)
	if err != nil {
		return nil, err
	}
	statuses := make([]ComponentStatus, 0, len(processes))
	for _, p := range processes {
		status := ComponentStatus{Name: p.Name, URL: p.URL}
		if p.alive() {
			status.PID = p.PID
			status.Problem = probe(ctx, c.health.of(p.Name), p.HealthURL)
		} else {
			status.Problem = os.ErrProcessDone
		}
		statuses = append(statuses, status)
	}
	return statuses, nil
}

// Wait returns nil when another process has taken the cluster down, or the error of ctx.
func (c *Cluster) Wait(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, gonePoll, true, func(context.Context) (bool, error) {
		_, err := os.Stat(c.layout.state())
		return errors.Is(err, fs.ErrNotExist), nil
	})
}

// Stop ends all components, those started by other processes included, and removes everything but their logs.
// Stopping a cluster that is gone is no error.
func (c *Cluster) Stop(ctx context.Context) error {
	if err := Stop(ctx, string(c.layout)); !errors.Is(err, ErrNoCluster) {
		return err
	}
	return nil
}

// Apply applies one of the kustomizations that are shipped under manifests/, by its path there, or one of the sandbox, without the
// features that are named, and without what the API server is too old for. It returns once the API server serves what the
// kustomization defines.
func (c *Cluster) Apply(ctx context.Context, kustomization string, without ...string) error {
	return c.ApplyOf(ctx, manifests.FS, kustomization, without...)
}

// ApplyOf is Apply of the manifests of another release.
func (c *Cluster) ApplyOf(ctx context.Context, files fs.FS, kustomization string, without ...string) error {
	applier, err := client.New(c.config, client.Options{})
	if err != nil {
		return fmt.Errorf("create client for manifests: %w", err)
	}
	_, err = applier.RESTMapper().RESTMapping(mutatingPolicies.GroupKind(), mutatingPolicies.Version)
	switch {
	case meta.IsNoMatchError(err):
		without = append(slices.Clone(without), withoutMutatingPolicies)
	case err != nil:
		return fmt.Errorf("look for %s: %w", mutatingPolicies, err)
	}
	objects, err := renderManifests(files, kustomization, without...)
	if err != nil {
		return err
	}
	definitions, others := splitDefinitions(objects)
	if err := applyAll(ctx, applier, definitions); err != nil {
		return err
	}
	if err := waitForDefinitions(ctx, c.config, definitions); err != nil {
		return err
	}
	return applyAll(ctx, applier, others)
}

// RealNodes says what the real nodes of the cluster do.
func (c *Cluster) RealNodes(ctx context.Context) ([]realnode.State, error) {
	content, err := c.askRealNodes(ctx, http.MethodGet, "/nodes")
	if err != nil {
		return nil, err
	}
	var states []realnode.State
	if err := json.Unmarshal(content, &states); err != nil {
		return nil, fmt.Errorf("decode states of real nodes: %w", err)
	}
	return states, nil
}

// CrashNode ends everything on a real node at once, as a power failure does. Its disk stays.
func (c *Cluster) CrashNode(ctx context.Context, name string) error {
	return c.changeNode(ctx, name, "crash")
}

// RebootNode crashes a real node and boots it from its disk.
func (c *Cluster) RebootNode(ctx context.Context, name string) error {
	return c.changeNode(ctx, name, "reboot")
}

// StopKubelet ends the kubelet of a real node. Its containers run on.
func (c *Cluster) StopKubelet(ctx context.Context, name string) error {
	return c.changeNode(ctx, name, "stop")
}

// StartNode boots a real node that has crashed, or starts its kubelet if that was stopped.
func (c *Cluster) StartNode(ctx context.Context, name string) error {
	return c.changeNode(ctx, name, "start")
}

func (c *Cluster) changeNode(ctx context.Context, name, action string) error {
	_, err := c.askRealNodes(ctx, http.MethodPost, "/nodes/"+name+"/"+action)
	if err != nil {
		return fmt.Errorf("%s node %s: %w", action, name, err)
	}
	return nil
}

func (c *Cluster) askRealNodes(ctx context.Context, method, path string) ([]byte, error) {
	url, err := c.URL(RealNodes)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, url+path, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for real nodes: %w", err)
	}
	response, err := c.health.admin.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for real nodes: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read answer about real nodes: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s", bytes.TrimSpace(body))
	}
	return body, nil
}
