package main

import (
	"crypto/tls"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appsv1 "example.com/podsequence/apis/apps/v1"
	batchv1alpha1 "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/buildinfo"
	"example.com/podsequence/internal/installation"
	"example.com/podsequence/internal/servertime"
	"example.com/podsequence/internal/statusbudget"
	"example.com/podsequence/pkg/controllers/deploymentcoordination"
	"example.com/podsequence/pkg/controllers/kueue"
	"example.com/podsequence/pkg/controllers/podgroup"
	"example.com/podsequence/pkg/controllers/podsequence"
	"example.com/podsequence/pkg/controllers/sequentialjob"
)

const (
	leaseName = "podsequence-controller"
)

// newManager makes a manager with all controllers, ready to start.
func newManager(o *options, config *rest.Config) (manager.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	metricsServer, certificate, err := o.metrics()
	if err != nil {
		return nil, err
	}
	clocks := servertime.New(klog.Background())
	clocks.Wrap(config)
	l := &o.leaderElection
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		Cache:                   cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Metrics:                 metricsServer,
		HealthProbeBindAddress:  o.healthAddress,
		PprofBindAddress:        o.pprofAddress,
		LivenessEndpointName:    "/livez",
		LeaderElection:          l.enabled,
		LeaderElectionID:        leaseName,
		LeaderElectionNamespace: l.resourceNamespace(),
		LeaseDuration:           &l.leaseDuration,
		RenewDeadline:           &l.renewDeadline,
		RetryPeriod:             &l.retryPeriod,
		// The process ends when the manager does, so that nothing is written after the lease is given back.
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make manager: %w", err)
	}
	if certificate != nil {
		if err := mgr.Add(certificate); err != nil {
			return nil, fmt.Errorf("add certificate of metrics: %w", err)
		}
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add liveness check: %w", err)
	}
	// Of the controllers only podsequence is ready by a condition of its own.
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add readiness check: %w", err)
	}
	if err := mgr.AddReadyzCheck("clock", clocks.Check); err != nil {
		return nil, fmt.Errorf("add readiness check of clocks: %w", err)
	}
	if err := o.addControllers(mgr, clocks); err != nil {
		return nil, err
	}
	return mgr, nil
}

// addControllers adds those that --controllers turns on.
func (o *options) addControllers(mgr manager.Manager, clocks *servertime.Clock) error {
	enabled := enabledControllers(o.controllers)
	budget := statusbudget.New(o.statusWrites)
	if err := mgr.Add(manager.RunnableFunc(budget.Start)); err != nil {
		return fmt.Errorf("add budget of status writes: %w", err)
	}
	coordination := deploymentcoordination.Options{
		Clock:            clocks,
		MaxCoordinations: o.maxCoordinations,
		StatusWrites:     budget,
	}
	if enabled.Has(podSequences) {
		sequences := o.sequences
		sequences.StatusWrites, sequences.Clock, sequences.Stamps = budget, clocks, clocks.Stamps()
		var holdsChanged listeners
		if enabled.Has(deploymentCoordinations) {
			// Deployments do not get their turn to roll out while a PodSequence would hold their pods, if others can go.
			coordination.Holds = deploymentcoordination.NewHolds()
			holdsChanged = append(holdsChanged, coordination.Holds.Changed)
		}
		checks := kueue.NewChanges()
		if o.kueueCheck {
			holdsChanged = append(holdsChanged, checks.Changed)
		}
		if len(holdsChanged) > 0 {
			sequences.HoldsChanged = holdsChanged.call
		}
		if err := serveEngine(); err != nil {
			return err
		}
		if len(o.sequences.SchedulerNames) > 0 {
			buildinfo.SchedulerExpected.Set(1)
		}
		holder, err := podsequence.Add(mgr, sequences)
		if err != nil {
			return fmt.Errorf("add PodSequence controller: %w", err)
		}
		coordination.Holder, coordination.HoldsKnown = holder, holder.Known()
		if o.kueueCheck {
			if err := kueue.Add(mgr, kueue.Options{Sequences: holder, Known: holder.Known(), Changes: checks}); err != nil {
				return fmt.Errorf("add controller of Kueue's checks: %w", err)
			}
		}
	}
	if enabled.Has(sequentialJobs) {
		if err := sequentialjob.Add(mgr, clocks, budget); err != nil {
			return fmt.Errorf("add SequentialJob controller: %w", err)
		}
	}
	if enabled.Has(deploymentCoordinations) {
		if err := deploymentcoordination.Add(mgr, coordination); err != nil {
			return fmt.Errorf("add DeploymentCoordination controller: %w", err)
		}
	}
	if enabled.Has(podGroups) {
		if err := podgroup.Add(mgr, o.groups); err != nil {
			return fmt.Errorf("add pod group controller: %w", err)
		}
	}
	return nil
}

// listeners are told of each namespace in which what is held may have changed.
type listeners []func(namespace string)

func (l listeners) call(namespace string) {
	for _, listener := range l {
		listener(namespace)
	}
}

// restConfig looks for a cluster where kubectl does, and then for the one we run in.
func (o *options) restConfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("load client configuration: %w", err)
	}
	config.QPS, config.Burst = o.qps, o.burst
	return config, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1alpha1.AddToScheme, appsv1.AddToScheme, batchv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	return scheme, nil
}

// metrics returns how metrics are served, and the certificate to watch for changes; nil if none is given.
func (o *options) metrics() (server.Options, *certwatcher.CertWatcher, error) {
	metrics := server.Options{BindAddress: o.metricsAddress, SecureServing: o.metricsSecure}
	if o.metricsSecure {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	if o.certFile == "" {
		return metrics, nil, nil
	}
	certificate, err := certwatcher.New(o.certFile, o.keyFile)
	if err != nil {
		return metrics, nil, fmt.Errorf("read --tls-cert-file %s and --tls-private-key-file %s: %w", o.certFile, o.keyFile, err)
	}
	metrics.TLSOpts = append(metrics.TLSOpts, func(config *tls.Config) { config.GetCertificate = certificate.GetCertificate })
	return metrics, certificate, nil
}

// resourceNamespace is empty where the manager finds out by itself.
func (l leaderElection) resourceNamespace() string {
	if l.namespace != "" {
		return l.namespace
	}
	if installation.InPod() {
		return ""
	}
	return installation.DefaultNamespace
}
