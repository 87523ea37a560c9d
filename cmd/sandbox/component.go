package main

import (
	"context"
	"fmt"
	"os"
	_ "time/tzdata" // CronJobs may name any time zone, also on machines without a database of them.

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // registers the JSON log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // registers the metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // registers the version metric
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/cel"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// components are the programs that the sandbox executable can become. Each runs in a process of its own, for they
// would share feature gates and metrics in one.
var components = map[string]func(ctx context.Context) error{
	controlplane.Etcd: func(context.Context) error {
		etcdmain.Main(os.Args)
		return nil
	},
	controlplane.APIServer: func(context.Context) error {
		return checkExit(cli.Run(apiserver.NewAPIServerCommand()))
	},
	controlplane.ControllerManager: func(context.Context) error {
		return checkExit(cli.Run(controllermanager.NewControllerManagerCommand()))
	},
	controlplane.Scheduler: func(context.Context) error {
		return checkExit(cli.Run(scheduler.NewSchedulerCommand()))
	},
	controlplane.Kwok: runKwok,
}

func newComponentCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "component NAME -- ARGS",
		Short:  "Run one upstream component in the foreground; the other commands use this to start processes",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, ok := components[args[0]]
			if !ok {
				return fmt.Errorf("unknown component %q", args[0])
			}
			// Each of the programs reads its flags from here, as if it had been started by its own name.
			os.Args = args
			return run(cmd.Context())
		},
	}
}

// runKwok does what KWOK's own main does: its commands find logger and configuration in the context.
func runKwok(ctx context.Context) error {
	// The user's own configuration of KWOK is not for our cluster.
	kwokconfig.WorkDir = os.DevNull
	if err := learnTypes(); err != nil {
		return err
	}
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ = kwoklog.InitFlags(ctx, flags)
	ctx, err := kwokconfig.InitFlags(ctx, flags)
	if err != nil {
		return fmt.Errorf("load configuration of kwok: %w", err)
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	command.Version = "" // or cobra stumbles over the version flag of the other components
	return command.ExecuteContext(ctx)
}

// learnTypes lets the CEL library of KWOK 0.8.0 (easycel 0.6.0) meet all types that KWOK's expressions speak of, before
// several goroutines use it. It keeps types in maps that no lock guards, and KWOK makes an environment for each stage
// while it starts its server: with nodes and pods in the cluster it now and then ended with "concurrent map writes".
func learnTypes() error {
	_, err := cel.NewEnvironment(cel.EnvironmentConfig{
		Types:       cel.DefaultTypes,
		Conversions: cel.DefaultConversions,
		Methods:     cel.FuncsToMethods(cel.DefaultFuncs),
		Funcs:       cel.DefaultFuncs,
		Vars: map[string]any{
			"node":      (*corev1.Node)(nil),
			"pod":       (*corev1.Pod)(nil),
			"container": corev1.Container{},
			"other":     map[string]any{},
		},
	})
	if err != nil {
		return fmt.Errorf("prepare the expressions of kwok: %w", err)
	}
	return nil
}

// checkExit makes an error of the exit code of a program, which has printed its own already.
func checkExit(code int) error {
	if code != 0 {
		return exitError{fmt.Errorf("ended with exit code %d", code), code}
	}
	return nil
}
