// Command gitops applies a manifest as Flux or Argo CD does, with the libraries that these are built from. The tests use it to see what
// they do to annotations that they know nothing of. It is a module of its own: nothing else needs these libraries.
//
//	gitops flux [-force] [-ssa VALUE] FILE
//	gitops argo [-server-side] [-replace] [-force] FILE
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: gitops flux|argo [flags] FILE")

func run(ctx context.Context, arguments []string) error {
	if len(arguments) == 0 {
		return errUsage
	}
	tool, flags := arguments[0], flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	var apply func(ctx context.Context, config *rest.Config, object *unstructured.Unstructured) (string, error)
	switch tool {
	case "flux":
		apply = fluxFlags(flags)
	case "argo":
		apply = argoFlags(flags)
	default:
		return fmt.Errorf("%q is not known; %w", tool, errUsage)
	}
	if err := flags.Parse(arguments[1:]); err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	if flags.NArg() != 1 {
		return errUsage
	}
	object, err := read(flags.Arg(0))
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return fmt.Errorf("read KUBECONFIG: %w", err)
	}
	said, err := apply(ctx, config, object)
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	fmt.Println(said)
	return nil
}

// read returns the object of a manifest.
func read(file string) (*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(content, &object.Object); err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	return object, nil
}
