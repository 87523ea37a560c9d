package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	appsv1 "example.com/podsequence/apis/apps/v1"
	batchv1alpha1 "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/servertime"
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

// listeners are told of each namespace in which what is held may have changed.
type listeners []func(namespace string)

func (l listeners) call(namespace string) {
	for _, listener := range l {
		listener(namespace)
	}
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
