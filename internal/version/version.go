// Package version tells which build of PodSequence is running.
package version

import (
	"fmt"
	"runtime"

	kubernetes "k8s.io/component-base/version"
)

// Set by the linker; see the Makefile.
var (
	version = "unknown"
	commit  = "unknown"
)

// String is what --version prints: our version and commit, the Kubernetes release built upon, and the Go release.
func String() string {
	return fmt.Sprintf("PodSequence %s (commit %.12s), Kubernetes %s, %s",
		version, commit, kubernetes.Get().GitVersion, runtime.Version())
}

// Release returns the version of PodSequence, such as v1.4.0.
func Release() string { return version }

// Kubernetes returns the release of Kubernetes that PodSequence is built from, such as v1.37.1.
func Kubernetes() string { return kubernetes.Get().GitVersion }

// Commit returns the commit that this program was built from.
func Commit() string { return commit }
