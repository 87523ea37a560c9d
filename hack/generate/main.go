// Generate writes what follows from other files of the repository. `make generate` calls it after controller-gen:
//
//	go run ./hack/generate                     # docs/api.md, docs/metrics.md, a part of docs/permissions.md, and what the CRDs still lack
//	go run ./hack/generate -promtool DIRECTORY # what promtool can check of the alert rules and the dashboard
package main

import (
	"flag"
	"fmt"
	"os"

	"example.com/podsequence/hack/generate/apidoc"
	"example.com/podsequence/hack/generate/embeddedpods"
	"example.com/podsequence/hack/generate/metricsdoc"
	"example.com/podsequence/hack/generate/monitoring"
	"example.com/podsequence/hack/generate/permissionsdoc"
)

func main() {
	directory := flag.String("promtool", "", "`DIRECTORY` to write what promtool checks to, instead of all else")
	flag.Parse()
	if err := run(*directory); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(directory string) error {
	if directory != "" {
		return monitoring.Write(monitoring.Source, directory)
	}
	if err := embeddedpods.AdaptFile("manifests/crds/batch.example.com_sequentialjobs.yaml"); err != nil {
		return err
	}
	api, err := apidoc.Page("manifests/crds")
	if err != nil {
		return err
	}
	if err := os.WriteFile("docs/api.md", []byte(api), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile("docs/metrics.md", []byte(metricsdoc.Page()), 0o644); err != nil {
		return err
	}
	return permissionsdoc.Write("manifests", "docs/permissions.md")
}
