package controlplane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/tools/sandbox/controlplane/stages"
)

// Start brings up a cluster and returns when every component is healthy, our manifests are applied and all nodes are
// ready. If it fails, nothing is left running.
func Start(ctx context.Context, options Options) (_ *Cluster, err error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	l := layout(options.Dir)
	release, err := l.claim()
	if err != nil {
		return nil, err
	}
	defer release()
	if err := l.refuseRunning(); err != nil {
		return nil, err
	}
	if err := l.reset(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			// The cause may be the end of ctx, which must not keep us from cleaning up.
			err = errors.Join(err, l.takeDown(context.WithoutCancel(ctx)))
		}
	}()

	plan, err := newPlan(options)
	if err != nil {
		return nil, err
	}
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	if err := plan.writeFiles(ca); err != nil {
		return nil, err
	}
	cluster, err := open(l, options.Detach)
	if err != nil {
		return nil, err
	}
	b := &bringUp{plan: plan, cluster: cluster, caCert: ca.certPEM()}
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	return cluster, nil
}

// bringUp is one start of a cluster.
type bringUp struct {
	plan    *plan
	cluster *Cluster
	caCert  []byte

	progressLock sync.Mutex
}

// run does as much at a time as the components' needs of each other allow.
func (b *bringUp) run(ctx context.Context) error {
	storage, storageCtx := errgroup.WithContext(ctx)
	// The API server waits for etcd by itself, so that it can be loaded meanwhile.
	for _, name := range []string{Etcd, APIServer} {
		storage.Go(func() error { return b.launch(storageCtx, name) })
	}
	if err := storage.Wait(); err != nil {
		return err
	}

	client, err := kubernetes.NewForConfig(b.cluster.Config())
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	if b.plan.ServeStages {
		if err := b.step("stages", "applied", func() error { return b.applyStages(ctx) }); err != nil {
			return err
		}
	}
	rest, restCtx := errgroup.WithContext(ctx)
	for _, name := range []string{ControllerManager, Scheduler, Kwok} {
		rest.Go(func() error { return b.launch(restCtx, name) })
	}
	rest.Go(func() error {
		return b.step("nodes", "ready", func() error { return b.bringUpNodes(restCtx, client) })
	})
	rest.Go(func() error { return b.launch(restCtx, RealNodes) })
	rest.Go(func() error { return createStorageClass(restCtx, client) })
	rest.Go(func() error { return b.bringUpOurs(restCtx, client) })
	if b.plan.wants(ControllerManager) {
		rest.Go(func() error { return waitForDefaultServiceAccount(restCtx, client) })
	}
	if err := rest.Wait(); err != nil {
		return err
	}
	if !b.plan.wants(ControllerManager) {
		return nil // Nobody creates the ServiceAccount of pods.
	}
	return waitForLabel(ctx, client)
}

// launch starts a component if it is wanted, and waits for its health.
func (b *bringUp) launch(ctx context.Context, name string) error {
	if !b.plan.wants(name) {
		return nil
	}
	return b.step(name, "ready", func() error { return b.cluster.run(ctx, b.plan.process(name)) })
}

// bringUpOurs starts our two programs under the identities that our manifests give them.
func (b *bringUp) bringUpOurs(ctx context.Context, client kubernetes.Interface) error {
	err := b.step("manifests", "applied", func() error { return b.cluster.ApplyOf(ctx, b.plan.Manifests, b.plan.Installation, b.plan.Without...) })
	if err != nil {
		return err
	}
	ours, ctx := errgroup.WithContext(ctx)
	for _, name := range []string{PodSequenceScheduler, PodSequenceController} {
		if !b.plan.wants(name) {
			continue
		}
		ours.Go(func() error {
			if b.plan.AsDefaultScheduler && name == PodSequenceScheduler {
				return b.launch(ctx, name) // it has the identity of kube-scheduler
			}
			if err := b.writeServiceAccountKubeconfig(ctx, client, name); err != nil {
				return err
			}
			return b.launch(ctx, name)
		})
	}
	return ours.Wait()
}

func (b *bringUp) bringUpNodes(ctx context.Context, client kubernetes.Interface) error {
	if err := createNodes(ctx, client, b.plan.Nodes, b.plan.NodeCapacity); err != nil {
		return err
	}
	if !b.plan.wants(Kwok) || !b.plan.wants(ControllerManager) {
		return nil // Nobody is there to make them ready.
	}
	return waitForNodes(ctx, client, b.plan.Nodes+b.plan.RealNodes)
}

// step times a part of the start and reports it once it is done.
func (b *bringUp) step(name, state string, do func() error) error {
	begin := time.Now()
	if err := do(); err != nil {
		return err
	}
	b.progressLock.Lock()
	defer b.progressLock.Unlock()
	b.plan.Progress(Step{Name: name, State: state, Took: time.Since(begin)})
	return nil
}

// writeServiceAccountKubeconfig lets one of our programs run with exactly the permissions that our manifests grant it.
func (b *bringUp) writeServiceAccountKubeconfig(ctx context.Context, client kubernetes.Interface, name string) error {
	seconds := int64(tokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}
	response, err := client.CoreV1().ServiceAccounts(ourNamespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("request token of %s: %w", name, err)
	}
	user := &clientcmdapi.AuthInfo{Token: response.Status.Token}
	return writeKubeconfig(b.plan.componentKubeconfig(name), b.plan.url("https", APIServer), b.caCert, user)
}

// applyStages makes the API server serve Stages, and creates those that KWOK plays.
func (b *bringUp) applyStages(ctx context.Context) error {
	applier, err := client.New(b.cluster.config, client.Options{})
	if err != nil {
		return fmt.Errorf("create client for stages: %w", err)
	}
	ours, err := stages.Documents(b.plan.NodeMonitorGracePeriod)
	if err != nil {
		return err
	}
	definition, err := decodeObjects(stageDefinition)
	if err != nil {
		return err
	}
	if err := applyAll(ctx, applier, definition); err != nil {
		return err
	}
	if err := waitForDefinitions(ctx, b.cluster.config, definition); err != nil {
		return err
	}
	all, err := decodeObjects(append(ours, b.plan.Stages...)...)
	if err != nil {
		return err
	}
	return applyAll(ctx, applier, all)
}
