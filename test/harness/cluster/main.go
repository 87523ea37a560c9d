package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"example.com/podsequence/tools/sandbox/controlplane"
)

var withoutNativePodGroups = flag.Bool("without-native-podgroups", false,
	"start control planes without Kubernetes' own PodGroups: those before 1.37 do not know them")

// NativePodGroups returns the settings with which the API server serves Kubernetes' own PodGroups; none if the command line says
// that it cannot.
func NativePodGroups() (featureGates, runtimeConfig []string) {
	if *withoutNativePodGroups {
		return nil, nil
	}
	return []string{"GenericWorkload=true"}, []string{"scheduling.k8s.io/v1beta1=true"}
}

// Main is the TestMain of a package whose tests share a cluster. It starts the cluster, calls begin with it, runs the tests
// and ends the program. Unless the command line says otherwise so many parallel tests run at a time: they mostly wait, whatever
// the number of processors.
func Main(m *testing.M, parallel int, options controlplane.Options, begin func(*Cluster) error) {
	if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
		panic(err)
	}
	flag.Parse()
	code, err := runMain(m, options, begin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		code = 1
	}
	os.Exit(code)
}

func runMain(m *testing.M, options controlplane.Options, begin func(*Cluster) error) (code int, err error) {
	c, err := Start(context.Background(), options)
	if err != nil {
		return 1, err
	}
	stopAtEnd(c)
	if err = begin(c); err == nil {
		code = m.Run()
	}
	return code, errors.Join(append(stopAll(code == 0 && err == nil), err)...)
}
