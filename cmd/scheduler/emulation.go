package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/version"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/internal/outage"
)

const (
	emulateFlag = "emulate-api-server"
	// kube-scheduler's own.
	emulatedVersionFlag = "emulated-version"
)

const (
	// emulatedVersions is how many minor versions before its own Kubernetes code can emulate.
	emulatedVersions = 3
	// askTimeout bounds one request for the version of the API server.
	askTimeout = 10 * time.Second
)

// addEmulation makes the command ask the API server for its version before anything else, and emulate that version if it is
// older. Without it the scheduler would wait permanently for the informers of kinds that an older API server does not serve.
func addEmulation(command *cobra.Command) {
	emulate := command.Flags().Bool(emulateFlag, true,
		"Ask the API server for its Kubernetes version at start, and emulate that version if it is older than this scheduler. Ignored if --emulated-version is given.")
	prepare := command.PersistentPreRunE
	command.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		verflag.PrintAndExitIfRequested()
		flags := cmd.Flags()
		if *emulate && !flags.Changed(emulatedVersionFlag) && !flags.Changed("write-config-to") {
			if err := emulateAPIServer(cmd.Context(), flags); err != nil {
				return fmt.Errorf("choose the Kubernetes version to emulate: %w", err)
			}
		}
		return prepare(cmd, args)
	}
}

// emulateAPIServer sets the flag of the emulated version, if the API server is older than our scheduler code.
func emulateAPIServer(ctx context.Context, flags *pflag.FlagSet) error {
	if ctx == nil {
		ctx = context.Background()
	}
	config, err := clientConfig(flags)
	if err != nil {
		return err
	}
	server, err := awaitServerVersion(ctx, config)
	if err != nil {
		return err
	}
	ours := compatibility.DefaultBuildEffectiveVersion().BinaryVersion()
	emulated, err := emulatedVersion(ours, server)
	if err != nil {
		return fmt.Errorf("API server at %s: %w", config.Host, err)
	}
	if emulated == nil {
		klog.Background().Info("Not emulating an older Kubernetes version: the API server is not older than this scheduler",
			"apiServer", server.GitVersion, "scheduler", ours)
		return nil
	}
	klog.Background().Info("Emulating the Kubernetes version of the API server; restart this scheduler after an upgrade of the cluster",
		"emulated", emulated, "apiServer", server.GitVersion, "scheduler", ours, "turnOffBy", "--"+emulateFlag+"=false")
	return flags.Set(emulatedVersionFlag, emulated.String())
}

// emulatedVersion decides which version of Kubernetes scheduler code of the version given emulates before an API server: nil for
// its own.
func emulatedVersion(ours *version.Version, server apiversion.Info) (*version.Version, error) {
	served, err := servedVersion(server)
	if err != nil {
		return nil, err
	}
	oldest := version.MajorMinor(ours.Major(), ours.Minor()).SubtractMinor(emulatedVersions)
	switch {
	case served.LessThan(oldest):
		return nil, fmt.Errorf("its Kubernetes version %s is too old for this podsequence-scheduler, which works with %s and later: "+
			"upgrade the cluster", served, oldest)
	case served.LessThan(version.MajorMinor(ours.Major(), ours.Minor())):
		return served, nil
	default:
		return nil, nil
	}
}

// servedVersion is the minor version whose APIs a server serves, which may itself emulate an older one than its own.
func servedVersion(server apiversion.Info) (*version.Version, error) {
	major, minor := server.EmulationMajor, server.EmulationMinor
	if major == "" || minor == "" {
		major, minor = server.Major, server.Minor
	}
	numbers := make([]uint, 2)
	for i, text := range []string{major, strings.TrimRight(minor, "+")} { // some providers write 34+
		number, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("its version %q.%q is no Kubernetes version: set --%s=1.MINOR", major, minor, emulatedVersionFlag)
		}
		numbers[i] = uint(number)
	}
	return version.MajorMinor(numbers[0], numbers[1]), nil
}

// awaitServerVersion asks until the API server answers.
func awaitServerVersion(ctx context.Context, config *rest.Config) (server apiversion.Info, err error) {
	config = rest.CopyConfig(config)
	config.Timeout = askTimeout
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return server, fmt.Errorf("create client: %w", err)
	}
	err = outage.Await(ctx, config.Host, func(ctx context.Context) error {
		found, err := client.ServerVersionWithContext(ctx)
		if err != nil {
			return fmt.Errorf("ask for its version, which --%s=1.MINOR makes unnecessary: %w", emulatedVersionFlag, err)
		}
		server = *found
		return nil
	})
	return server, err
}

// clientConfig is the configuration that kube-scheduler makes its client of.
func clientConfig(flags *pflag.FlagSet) (*rest.Config, error) {
	kubeconfig := flags.Lookup("kubeconfig").Value.String()
	if file := flags.Lookup("config").Value.String(); file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		// Without defaults, which depend on features, and so on the version to emulate.
		config := configv1.KubeSchedulerConfiguration{}
		if err := yaml.Unmarshal(content, &config); err != nil {
			return nil, fmt.Errorf("decode configuration %s: %w", file, err)
		}
		kubeconfig = config.ClientConnection.Kubeconfig
	}
	config, err := clientcmd.BuildConfigFromFlags(flags.Lookup("master").Value.String(), kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read client configuration: %w", err)
	}
	return config, nil
}
