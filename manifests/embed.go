// Package manifests holds what users apply to their clusters, for the sandbox to apply to its own.
package manifests

import "embed"

// FS holds all kustomizations and configuration files, so that the sandbox is one executable that needs no checkout.
//
//go:embed *
var FS embed.FS
