package main

import (
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl accepts kubeconfigs of all kinds
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"

	"example.com/podsequence/tools/sandbox/controlplane"
)

func newKubectlCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl -- ARGS",
		Short: "Run kubectl against the cluster",
		RunE: func(_ *cobra.Command, args []string) error {
			cluster, err := controlplane.Open(s.dir)
			if err != nil {
				return err
			}
			if err := os.Setenv("KUBECONFIG", cluster.Kubeconfig()); err != nil {
				return fmt.Errorf("set kubeconfig: %w", err)
			}
			// Kubectl relies on Ctrl-C to end it, which we catch for the other verbs.
			signal.Reset()
			// Kubectl reads its arguments from here more than once.
			os.Args = append([]string{"kubectl"}, args...)
			if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
				util.CheckErr(err) // prints as kubectl does, and exits
			}
			return nil
		},
	}
}
