package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/podsequence/pkg/controllers/deploymentcoordination"
	"example.com/podsequence/pkg/controllers/podgroup"
	"example.com/podsequence/pkg/controllers/podsequence"
)

// options are what the flags say.
type options struct {
	kubeconfig string
	qps        float32
	burst      int

	controllers []string // see enabledControllers

	metricsAddress string
	metricsSecure  bool
	metricsNames   bool
	healthAddress  string

	leaderElection leaderElection
	sequences      podsequence.Options
	groups         podgroup.Options
	// maxCoordinations is how many DeploymentCoordinations of a namespace count.
	maxCoordinations int
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
		qps: 500, burst: 1000, // so that a group of 1,000 pods is let go, or labelled, at once
		controllers:    []string{allControllers},
		metricsAddress: ":8443", metricsSecure: true,
		healthAddress: ":8081",
		leaderElection: leaderElection{
			enabled: true, leaseDuration: 15 * time.Second, renewDeadline: 10 * time.Second, retryPeriod: 2 * time.Second,
		},
		sequences: podsequence.Options{
			SchedulerNames: []string{"podsequence-scheduler"},
			GatePrefixes:   []string{"podsequence.example.com/"},
			ReleaseGates:   true,
			ExplainWaits:   true,

			StatusWritesPerNamespace: podsequence.DefaultStatusWritesPerNamespace,
		},
		groups: podgroup.Options{NameLabel: podgroup.DefaultNameLabel, ReadyLabel: podgroup.DefaultReadyLabel},

		maxCoordinations: deploymentcoordination.DefaultMaxCoordinations,
	}
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"Kubeconfig file. If empty, $KUBECONFIG or ~/.kube/config, and in a cluster the pod's service account.")
	flags.Float32Var(&o.qps, "kube-api-qps", o.qps, "Requests a second to the API server, on average.")
	flags.IntVar(&o.burst, "kube-api-burst", o.burst, "Requests to the API server at once, for a short time.")

	flags.StringSliceVar(&o.controllers, "controllers", o.controllers,
		"Controllers to run: "+strings.Join(controllerNames, ", ")+". * stands for all of them, and a - before a name leaves it out: "+
			"podsequence,podgroup runs two, and *,-sequentialjob, or -sequentialjob for short, all but one. May be given several times. "+
			"One that does not run needs neither its kind nor its permissions: see the components in manifests/without.")

	flags.StringVar(&o.metricsAddress, "metrics-bind-address", o.metricsAddress,
		"Address to serve /metrics at. \"0\" serves none.")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", o.metricsSecure,
		"Serve metrics by HTTPS, and only to those who may get the non-resource URL /metrics. If false, by HTTP to all.")
	flags.BoolVar(&o.metricsNames, "metrics-sequence-names", o.metricsNames,
		"Serve metrics with the names of PodSequences and ClusterPodSequences as labels, too. They are as many time series as users like.")
	flags.StringVar(&o.healthAddress, "health-probe-bind-address", o.healthAddress,
		"Address to serve /livez and /readyz at. \"0\" serves none.")

	flags.StringSliceVar(&o.sequences.SchedulerNames, "scheduler-names", o.sequences.SchedulerNames,
		"Names of podsequence-scheduler's profiles. Pods with one of these as spec.schedulerName are left to it. Empty if there is none (lite mode).")
	flags.BoolVar(&o.sequences.ReleaseGates, "gate-release", o.sequences.ReleaseGates,
		"Lift the gates of all other schedulers' pods when they may start. If false, no pod is written to.")
	flags.StringSliceVar(&o.sequences.GatePrefixes, "gate-prefixes", o.sequences.GatePrefixes,
		"Beginnings of gates that may be lifted, each a DNS name followed by '/'. A PodSequence that names another gate is Degraded, and that gate is left alone.")
	flags.BoolVar(&o.sequences.ExplainWaits, "explain-waits", o.sequences.ExplainWaits,
		"Say in the PodScheduled condition of pods that wait by a gate what they wait for.")
	flags.IntVar(&o.sequences.StatusWritesPerNamespace, "status-writes-per-namespace", o.sequences.StatusWritesPerNamespace,
		"How many statuses of PodSequences, and how many of DeploymentCoordinations, of one namespace to write in a second; twice as many at once "+
			"after a pause. A status of 64 groups counts as 9, one of 64 Deployments as 5.")

	flags.StringVar(&o.groups.NameLabel, "pod-group-name-label", o.groups.NameLabel,
		"Key of the label whose value names the group of a pod, within its namespace.")
	flags.StringVar(&o.groups.ReadyLabel, "pod-group-ready-label", o.groups.ReadyLabel,
		"Key of the label that every pod of a group gets, with value true, once all of them run.")

	flags.IntVar(&o.maxCoordinations, "max-deployment-coordinations", o.maxCoordinations,
		"How many DeploymentCoordinations of a namespace count, the oldest first. The others are Degraded, TooManyCoordinations, and do nothing.")

	l := &o.leaderElection
	flags.BoolVar(&l.enabled, "leader-elect", l.enabled,
		"Work only while holding the lease podsequence-controller. Needed when more than one replica runs.")
	flags.StringVar(&l.namespace, "leader-elect-resource-namespace", l.namespace,
		"Namespace of the lease. If empty, the pod's own, and outside a cluster podsequence-system.")
	flags.DurationVar(&l.leaseDuration, "leader-elect-lease-duration", l.leaseDuration,
		"How long after its last renewal a lease may be taken over by another replica.")
	flags.DurationVar(&l.renewDeadline, "leader-elect-renew-deadline", l.renewDeadline,
		"How long the leader tries to renew its lease before it stops working. Less than the lease duration.")
	flags.DurationVar(&l.retryPeriod, "leader-elect-retry-period", l.retryPeriod,
		"How often to try to acquire or renew the lease. Less than the renew deadline.")
}

// validate reports everything that is wrong, so that it can be fixed at once.
func (o *options) validate() error {
	errs := []error{
		validateControllers(o.controllers),
		validateNames("scheduler-names", o.sequences.SchedulerNames, validateSchedulerName),
		validateNames("gate-prefixes", o.sequences.GatePrefixes, validateGatePrefix),
		validateLabelKey("pod-group-name-label", o.groups.NameLabel),
		validateLabelKey("pod-group-ready-label", o.groups.ReadyLabel),
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
	if o.sequences.StatusWritesPerNamespace <= 0 {
		errs = append(errs, fmt.Errorf("--status-writes-per-namespace: %d must be greater than 0", o.sequences.StatusWritesPerNamespace))
	}
	if o.maxCoordinations <= 0 {
		errs = append(errs, fmt.Errorf("--max-deployment-coordinations: %d must be greater than 0", o.maxCoordinations))
	}
	return errors.Join(append(errs, o.leaderElection.validate())...)
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

// validateNames checks a list that must name each thing once.
func validateNames(flag string, names []string, validate func(string) error) error {
	var errs []error
	seen := sets.New[string]()
	for _, name := range names {
		if err := validate(name); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
		}
		if seen.Has(name) {
			errs = append(errs, fmt.Errorf("--%s: %q is there twice", flag, name))
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
		return fmt.Errorf("--%s: %q is not the key of a label: %s", flag, key, problems[0])
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
