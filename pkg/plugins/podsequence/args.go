package podsequence

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/internal/installation"
	"example.com/podsequence/pkg/sequence"
)

// Args are the plugin's arguments in a KubeSchedulerConfiguration, under pluginConfig. Profiles that enable the plugin
// share one engine and must have the same arguments.
type Args struct {
	// GatePrefixes are the beginnings of scheduling gates that may be lifted; a sequence that names another gate is
	// reported and its gate left alone. Each is a DNS name followed by '/'. Defaults to podsequence.example.com/.
	GatePrefixes []string `json:"gatePrefixes,omitempty"`

	// InstallationNamespace is the namespace of podsequence-controller. A namespaceSelector does not select it, and the pods of
	// PodSequence itself are not held there. Give the controller the same. Defaults to the namespace of the scheduler's own pod, or to
	// podsequence-system if it does not run in a pod with a ServiceAccount.
	InstallationNamespace string `json:"installationNamespace,omitempty"`

	// UnprobedReadySeconds is how long a pod must have been Ready without a break before it counts as ready if none of its containers has
	// a readiness probe, 0 to 3600 seconds; 0 for not at all. Give the controller the same. Defaults to 5.
	UnprobedReadySeconds *int32 `json:"unprobedReadySeconds,omitempty"`

	// ExplainWaits writes into the PodScheduled condition of held pods what they wait for, and an event on those that are held for
	// ten seconds. Defaults to true.
	ExplainWaits *bool `json:"explainWaits,omitempty"`
}

// DefaultGatePrefix is the only prefix allowed when the arguments name none.
const DefaultGatePrefix = "podsequence.example.com/"

// parseArgs decodes, defaults and validates the arguments. An unknown field is an error: it is a misspelt one.
func parseArgs(obj runtime.Object) (Args, error) {
	var args Args
	switch raw := obj.(type) {
	case nil:
	case *runtime.Unknown:
		if err := yaml.UnmarshalStrict(raw.Raw, &args); err != nil {
			return args, fmt.Errorf("decode arguments of plugin %s: %w", Name, err)
		}
	default:
		return args, fmt.Errorf("decode arguments of plugin %s: want *runtime.Unknown, got %T", Name, obj)
	}
	if len(args.GatePrefixes) == 0 {
		args.GatePrefixes = []string{DefaultGatePrefix}
	}
	if args.UnprobedReadySeconds == nil {
		args.UnprobedReadySeconds = new(int32(sequence.DefaultUnprobedReadySeconds))
	}
	if args.ExplainWaits == nil {
		explain := true
		args.ExplainWaits = &explain
	}
	args.InstallationNamespace = cmp.Or(args.InstallationNamespace, installation.Namespace())
	return args, args.validate()
}

func (a Args) validate() error {
	var errs []error
	for i, prefix := range a.GatePrefixes {
		domain, isPrefix := strings.CutSuffix(prefix, "/")
		if !isPrefix || len(validation.IsDNS1123Subdomain(domain)) > 0 {
			errs = append(errs, fmt.Errorf("gatePrefixes[%d]: %q must be a DNS name followed by '/', such as %s", i, prefix, DefaultGatePrefix))
		}
	}
	if problems := validation.IsDNS1123Label(a.InstallationNamespace); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("installationNamespace: %q is not the name of a namespace: %s", a.InstallationNamespace, problems[0]))
	}
	if seconds := *a.UnprobedReadySeconds; seconds < 0 || seconds > sequence.MaxUnprobedReadySeconds {
		errs = append(errs, fmt.Errorf("unprobedReadySeconds: %d must be from 0 to %d", seconds, sequence.MaxUnprobedReadySeconds))
	}
	return errors.Join(errs...)
}

// isOwn reports whether the pod belongs to PodSequence itself.
func (a Args) isOwn(pod *v1.Pod) bool {
	config := sequence.Config{InstallationNamespace: a.InstallationNamespace}
	return config.IsOwn(pod)
}

// unprobedReady returns UnprobedReadySeconds as a duration.
func (a Args) unprobedReady() time.Duration {
	return time.Duration(*a.UnprobedReadySeconds) * time.Second
}
