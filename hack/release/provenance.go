package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	// predicateType is the type of a SLSA v1 provenance; cosign calls it slsaprovenance1.
	predicateType = "https://slsa.dev/provenance/v1"
	// buildType names what `make release` does. README.md describes its parameters.
	buildType = "https://example.com/podsequence/release/v1"
)

// build is how a release was built.
type build struct {
	repository, version, commit, image, builder string
}

func (b build) validate() error {
	switch {
	case b.repository == "":
		return errors.New("-repository is missing: the provenance names the repository of the sources")
	case b.version == "":
		return errors.New("-version is missing: the provenance names the tag of the sources")
	case b.commit == "":
		return errors.New("-commit is missing: the provenance names the commit of the sources")
	}
	return nil
}

// statement returns a SLSA provenance, as JSON: all files and images, and what they were built from.
func (b build) statement(files, images sums) ([]byte, error) {
	parameters, err := structpb.NewStruct(map[string]any{"repository": b.repository, "version": b.version, "image": b.image})
	if err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	internal, err := structpb.NewStruct(map[string]any{"go": runtime.Version()})
	if err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	builder := b.builder
	if builder == "" {
		builder = b.repository + "#make-release"
	}
	predicate := &provenance.Provenance{
		BuildDefinition: &provenance.BuildDefinition{
			BuildType:          buildType,
			ExternalParameters: parameters,
			InternalParameters: internal,
			ResolvedDependencies: []*intoto.ResourceDescriptor{{
				Uri:    "git+" + b.repository + "@refs/tags/" + b.version,
				Digest: map[string]string{"gitCommit": b.commit},
			}},
		},
		RunDetails: &provenance.RunDetails{Builder: &provenance.Builder{Id: builder}},
	}
	if err := predicate.Validate(); err != nil {
		return nil, fmt.Errorf("provenance: %w", err)
	}
	statement := &intoto.Statement{Type: intoto.StatementTypeUri, PredicateType: predicateType}
	for _, of := range []sums{files, images} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			subject := &intoto.ResourceDescriptor{Name: name, Digest: map[string]string{"sha256": of[name]}}
			statement.Subject = append(statement.Subject, subject)
		}
	}
	text, err := protojson.Marshal(predicate)
	if err != nil {
		return nil, fmt.Errorf("encode provenance: %w", err)
	}
	statement.Predicate = &structpb.Struct{}
	if err := protojson.Unmarshal(text, statement.Predicate); err != nil {
		return nil, fmt.Errorf("encode provenance: %w", err)
	}
	if err := statement.Validate(); err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	return protojson.Marshal(statement)
}

// parseDigests reads digests.txt: one reference with its digest a line.
func parseDigests(text []byte) (sums, error) {
	parsed := sums{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		name, digest, ok := strings.Cut(lines.Text(), "@sha256:")
		if !ok {
			return nil, fmt.Errorf("%s: %q is no image with its digest", digestsFile, lines.Text())
		}
		parsed[name] = digest
	}
	return parsed, lines.Err()
}
