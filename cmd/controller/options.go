package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"example.com/podsequence/internal/buildinfo"
	"example.com/podsequence/internal/installation"
	"example.com/podsequence/internal/outage"
	"example.com/podsequence/internal/servertime"
	"example.com/podsequence/internal/statusbudget"
	"example.com/podsequence/pkg/controllers/deploymentcoordination"
	"example.com/podsequence/pkg/controllers/kueue"
	"example.com/podsequence/pkg/controllers/podgroup"
	"example.com/podsequence/pkg/controllers/podsequence"
	"example.com/podsequence/pkg/controllers/sequentialjob"
	"example.com/podsequence/pkg/sequence"
)

// options are what the flags say.
type options struct {
	kubeconfig string
	qps        float32
	burst      int

	controllers []string // see enabledControllers
	// kueueCheck runs the controller of AdmissionChecks of Kueue.
	kueueCheck bool

	metricsAddress string
	metricsSecure  bool
	// certFile and keyFile are the files with the certificate of the metrics server and its key; it signs a certificate itself if
	// they are empty.
	certFile, keyFile string
	healthAddress     string
	pprofAddress      string

	leaderElection leaderElection
	sequences      podsequence.Options
	groups         podgroup.Options
	// maxCoordinations is how many DeploymentCoordinations of a namespace count.
	maxCoordinations int
	// statusWrites is how many small writes are made for people in a second.
	statusWrites int
}

type leaderElection struct {
	enabled       bool
	namespace     string
	leaseDuration time.Duration
	renewDeadline time.Duration
	retryPeriod   time.Duration
}

func defaultOptions() *options {
	return &options{
		qps: 500, burst: 1000, // so that a group of 1,000 pods is released, or labelled, at once
		controllers:    []string{allControllers},
		metricsAddress: ":8443", metricsSecure: true,
		healthAddress: ":8081",
		pprofAddress:  "0",
		leaderElection: leaderElection{
			enabled: true, leaseDuration: 15 * time.Second, renewDeadline: 10 * time.Second, retryPeriod: 2 * time.Second,
		},
		sequences: podsequence.Options{
			SchedulerNames: []string{"podsequence-scheduler"},
			GatePrefixes:   []string{"podsequence.example.com/"},
			// That of the pod, or where the manifests install.
			InstallationNamespace: installation.Namespace(),
			UnprobedReadySeconds:  sequence.DefaultUnprobedReadySeconds,

			ReleaseGates: true,
			ExplainWaits: true,
		},
		groups: podgroup.Options{NameLabel: podgroup.DefaultNameLabel, ReadyLabel: podgroup.DefaultReadyLabel},

		maxCoordinations: deploymentcoordination.DefaultMaxCoordinations,
		statusWrites:     statusbudget.DefaultTotal,
	}
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"Kubeconfig `file` for access to the cluster. If empty: in a cluster the service account of the pod, else $KUBECONFIG or ~/.kube/config.")
	flags.Float32Var(&o.qps, "kube-api-qps", o.qps,
		"Highest average rate of requests to the API server, in requests a second. Raise it together with --kube-api-burst if "+
			"status or gates are late in a large cluster.")
	flags.IntVar(&o.burst, "kube-api-burst", o.burst,
		"Number of requests that may exceed --kube-api-qps for a moment.")

	flags.StringSliceVar(&o.controllers, "controllers", o.controllers,
		"Controllers to run, of "+strings.Join(controllerNames, ", ")+". * stands for all of them, and - before a name leaves that one out. "+
			"\"podsequence,podgroup\" runs two; \"*,-sequentialjob\", or \"-sequentialjob\" for short, runs all but one. May be repeated. "+
			"A controller that does not run needs neither its kind nor its permissions: see the components in manifests/options/without.")

	flags.BoolVar(&o.kueueCheck, "kueue-admission-check", o.kueueCheck,
		"Decide AdmissionChecks of Kueue whose spec.controllerName is "+kueue.CheckController+": no Workload is admitted while a PodSequence "+
			"would hold its pods. It needs the permissions of manifests/options/kueue, and Kueue's API v1beta2.")

	flags.StringVar(&o.metricsAddress, "metrics-bind-address", o.metricsAddress,
		"Address on which to serve /metrics, such as :8443 or 127.0.0.1:8080. \"0\" turns metrics off.")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", o.metricsSecure,
		"Serve metrics over HTTPS, and only to clients that may get the non-resource URL /metrics. If false, serve them over HTTP to everybody.")
	flags.StringVar(&o.certFile, "tls-cert-file", o.certFile,
		"`File` with the certificate for serving metrics over HTTPS, in PEM, with intermediate certificates if there are any. "+
			"It is read again when it changes. "+
			"If empty, the controller signs a certificate itself, which clients cannot verify.")
	flags.StringVar(&o.keyFile, "tls-private-key-file", o.keyFile,
		"`File` with the private key of --tls-cert-file, in PEM.")
	flags.StringVar(&o.healthAddress, "health-probe-bind-address", o.healthAddress,
		"Address on which to serve /livez and /readyz over HTTP. \"0\" turns them off.")
	flags.StringVar(&o.pprofAddress, "pprof-bind-address", o.pprofAddress,
		"Address on which to serve profiles for \"go tool pprof\" under /debug/pprof/ over HTTP to everybody, such as 127.0.0.1:6060, "+
			"to find out what takes memory or processor time. \"0\" turns them off.")

	o.addSequenceFlags(flags)

	flags.StringVar(&o.groups.NameLabel, "pod-group-name-label", o.groups.NameLabel,
		"Key of the label that puts a pod into a pod group: pods of one namespace with the same value form a group.")
	flags.StringVar(&o.groups.ReadyLabel, "pod-group-ready-label", o.groups.ReadyLabel,
		"Key of the label that every pod of a group gets, with the value true, when all of them run.")

	flags.IntVar(&o.maxCoordinations, "max-deployment-coordinations", o.maxCoordinations,
		"Highest number of DeploymentCoordinations that work in one namespace. The oldest count; the others do nothing and are Degraded, TooManyCoordinations.")

	flags.IntVar(&o.statusWrites, "status-writes", o.statusWrites,
		"Highest rate of writes that inform users, in all namespaces together, in writes a second: statuses, events, and conditions that say what pods wait for. "+
			"After a pause twenty times as many may come at once. Namespaces are served in turn. Large statuses count more: one of 64 groups as 9 writes, "+
			"one of 64 Deployments as 5. Raise it if statuses are late in a large cluster.")

	o.leaderElection.addFlags(flags)
}

// addSequenceFlags adds the flags of the controller of PodSequences.
func (o *options) addSequenceFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.sequences.SchedulerNames, schedulerNamesFlag, o.sequences.SchedulerNames,
		"Names of the profiles of podsequence-scheduler. The controller leaves pods with one of these as spec.schedulerName to that scheduler. "+
			"Set it to \"\" if podsequence-scheduler is not installed (lite mode).")
	flags.BoolVar(&o.sequences.ReleaseGates, "gate-release", o.sequences.ReleaseGates,
		"Lift the gates of pods of all other schedulers when their group is released. If false, the controller writes to no pod.")
	flags.StringSliceVar(&o.sequences.GatePrefixes, gatePrefixesFlag, o.sequences.GatePrefixes,
		"Prefixes of the scheduling gates that may be lifted, each a DNS name and '/', such as podsequence.example.com/. "+
			"Other gates are never lifted, and a PodSequence that names one is Degraded, GateNotAllowed. Give podsequence-scheduler the same prefixes.")
	flags.StringVar(&o.sequences.InstallationNamespace, "installation-namespace", o.sequences.InstallationNamespace,
		"Namespace where PodSequence itself runs. A namespaceSelector does not select it, and the programs of PodSequence are not held there. "+
			"The default is the namespace of the pod, and podsequence-system outside of a cluster. Give podsequence-scheduler the same.")
	flags.Int32Var(&o.sequences.UnprobedReadySeconds, "unprobed-ready-seconds", o.sequences.UnprobedReadySeconds,
		"How long a pod must have been Ready without a break before it counts as ready if none of its containers has a readiness probe, 0 to 3600 seconds. "+
			"The kubelet calls such a pod ready as soon as it runs, also between two crashes. 0 turns this off. Give podsequence-scheduler the same.")
	flags.BoolVar(&o.sequences.ExplainWaits, "explain-waits", o.sequences.ExplainWaits,
		"Write into the PodScheduled condition of a gated pod what the pod waits for, and an event if it is held for ten seconds.")
}

func (l *leaderElection) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&l.enabled, "leader-elect", l.enabled,
		"Work only while holding the Lease podsequence-controller, so that only one replica works. Turn it off only if there is one replica.")
	flags.StringVar(&l.namespace, "leader-elect-resource-namespace", l.namespace,
		"Namespace of the Lease. If empty: in a cluster the namespace of the pod, else podsequence-system.")
	flags.DurationVar(&l.leaseDuration, "leader-elect-lease-duration", l.leaseDuration,
		"Time after its last renewal when another replica may take the Lease over, such as 15s.")
	flags.DurationVar(&l.renewDeadline, "leader-elect-renew-deadline", l.renewDeadline,
		"Time for which the leader tries to renew the Lease before it exits, such as 10s. Must be less than --leader-elect-lease-duration.")
	flags.DurationVar(&l.retryPeriod, "leader-elect-retry-period", l.retryPeriod,
		"Time between attempts to acquire or renew the Lease, such as 2s. Must be less than --leader-elect-renew-deadline.")
}

// validate reports everything that is wrong, so that it can be fixed at once.
func (o *options) validate() error {
	errs := []error{
		validateControllers(o.controllers),
		validateNames(schedulerNamesFlag, o.sequences.SchedulerNames, validateSchedulerName),
		validateNames(gatePrefixesFlag, o.sequences.GatePrefixes, validateGatePrefix),
		validateLabelKey("pod-group-name-label", o.groups.NameLabel),
		validateLabelKey("pod-group-ready-label", o.groups.ReadyLabel),
	}
	if problems := validation.IsDNS1123Label(o.sequences.InstallationNamespace); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("--installation-namespace: %q is not the name of a namespace: %s",
			o.sequences.InstallationNamespace, problems[0]))
	}
	if o.kueueCheck && !enabledControllers(o.controllers).Has(podSequences) {
		errs = append(errs, fmt.Errorf("--kueue-admission-check: it needs the controller %s, which --controllers leaves out", podSequences))
	}
	if (o.certFile == "") != (o.keyFile == "") {
		errs = append(errs, errors.New("--tls-cert-file and --tls-private-key-file: give both or neither"))
	}
	if o.certFile != "" && !o.metricsSecure {
		errs = append(errs, errors.New("--tls-cert-file: metrics are served over HTTP because of --metrics-secure=false: leave out one of them"))
	}
	if o.groups.NameLabel == o.groups.ReadyLabel {
		errs = append(errs, fmt.Errorf("--pod-group-name-label and --pod-group-ready-label: both are %q", o.groups.NameLabel))
	}
	if len(o.sequences.GatePrefixes) == 0 {
		errs = append(errs, errors.New("--gate-prefixes: must not be empty"))
	}
	if o.qps <= 0 {
		errs = append(errs, fmt.Errorf("--kube-api-qps: %v must be greater than 0", o.qps))
	}
	if o.burst <= 0 {
		errs = append(errs, fmt.Errorf("--kube-api-burst: %v must be greater than 0", o.burst))
	}
	if seconds := o.sequences.UnprobedReadySeconds; seconds < 0 || seconds > sequence.MaxUnprobedReadySeconds {
		errs = append(errs, fmt.Errorf("--unprobed-ready-seconds: %d must be from 0 to %d", seconds, sequence.MaxUnprobedReadySeconds))
	}
	if o.statusWrites <= 0 {
		errs = append(errs, fmt.Errorf("--status-writes: %d must be greater than 0", o.statusWrites))
	}
	if o.maxCoordinations <= 0 {
		errs = append(errs, fmt.Errorf("--max-deployment-coordinations: %d must be greater than 0", o.maxCoordinations))
	}
	return errors.Join(append(errs, o.leaderElection.validate())...)
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

// awaitAPIServer returns when the API server says which kinds there are, which the manager must know before it can start. Until
// then it serves the health probes in place of the manager, so that the kubelet does not restart the program.
func (o *options) awaitAPIServer(ctx context.Context, config *rest.Config) error {
	stop, err := serveHealth(o.healthAddress)
	if err != nil {
		return err
	}
	defer stop()
	config = rest.CopyConfig(config)
	config.Timeout = 10 * time.Second // for one request
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	return outage.Await(ctx, config.Host, func(ctx context.Context) error {
		_, err := client.ServerResourcesForGroupVersionWithContext(ctx, batchv1.SchemeGroupVersion.String())
		return err
	})
}

func (l leaderElection) validate() error {
	if !l.enabled {
		return nil
	}
	var errs []error
	if l.namespace != "" && len(validation.IsDNS1123Label(l.namespace)) > 0 {
		errs = append(errs, fmt.Errorf("--leader-elect-resource-namespace: %q is not the name of a namespace", l.namespace))
	}
	if l.retryPeriod <= 0 {
		errs = append(errs, fmt.Errorf("--leader-elect-retry-period: %v must be greater than 0", l.retryPeriod))
	}
	// client-go retries after up to 2.2 periods, and refuses a deadline that allows no retry.
	if l.renewDeadline*5 <= l.retryPeriod*6 {
		errs = append(errs, fmt.Errorf("--leader-elect-renew-deadline: %v must be more than 1.2 times the retry period of %v", l.renewDeadline, l.retryPeriod))
	}
	if l.leaseDuration <= l.renewDeadline {
		errs = append(errs, fmt.Errorf("--leader-elect-lease-duration: %v must be more than the renew deadline of %v", l.leaseDuration, l.renewDeadline))
	}
	return errors.Join(errs...)
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

// validateNames checks a list that must name each thing once.
func validateNames(flag string, names []string, validate func(string) error) error {
	var errs []error
	seen := sets.New[string]()
	for _, name := range names {
		if err := validate(name); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
		}
		if seen.Has(name) {
			errs = append(errs, fmt.Errorf("--%s: %q is given twice", flag, name))
		}
		seen.Insert(name)
	}
	return errors.Join(errs...)
}

func validateSchedulerName(name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("%q is not the name of a scheduler: %s", name, problems[0])
	}
	return nil
}

func validateLabelKey(flag, key string) error {
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return fmt.Errorf("--%s: %q is not a label key: %s", flag, key, problems[0])
	}
	return nil
}

func validateGatePrefix(prefix string) error {
	domain, isPrefix := strings.CutSuffix(prefix, "/")
	if !isPrefix || len(validation.IsDNS1123Subdomain(domain)) > 0 {
		return fmt.Errorf("%q must be a DNS name followed by '/', such as podsequence.example.com/", prefix)
	}
	return nil
}
