// Package kustomizations holds what only the sandbox applies: the installations without replicas, whose programs it runs itself, and
// what its demos create. They are based on those in manifests/.
package kustomizations

import "embed"

// Directory is where the files are in the repository. The kustomizations refer to those in manifests/ by it.
const Directory = "tools/sandbox/kustomizations"

// FS holds all kustomizations.
//
//go:embed */kustomization.yaml
var FS embed.FS
