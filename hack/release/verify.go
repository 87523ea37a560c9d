package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
)

// verifyRelease verifies the signatures of a release, and those of its files that the directory has. It prints what the provenance
// says.
func verifyRelease(out io.Writer, directory, publicFile string) error {
	public, err := readPublic(publicFile)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(directory, sumsFile))
	if err != nil {
		return fmt.Errorf("read sums: %w", err)
	}
	signature, err := os.ReadFile(filepath.Join(directory, signatureFile))
	if err != nil {
		return fmt.Errorf("the release is not signed: %w", err)
	}
	if sum := sha256.Sum256(text); !ecdsa.VerifyASN1(public, sum[:], signature) {
		return fmt.Errorf("%s does not verify: the sums were changed, or somebody else signed them", signatureFile)
	}
	result, err := verifyProvenance(filepath.Join(directory, provenanceFile), public, text)
	if err != nil {
		return fmt.Errorf("%s does not verify: %w", provenanceFile, err)
	}

	listed, err := parseSums(text)
	if err != nil {
		return err
	}
	files, err := listFiles(directory)
	if err != nil {
		return err
	}
	if err := listed.compare(directory, files); err != nil {
		return err
	}
	fmt.Fprintf(out, "verified %d of the %d files of the release\n", len(files), len(listed))
	return describe(out, result)
}

// verifyProvenance verifies a bundle as cosign does with a key, and that its statement is about the sums.
func verifyProvenance(file string, public *ecdsa.PublicKey, text []byte) (*verify.VerificationResult, error) {
	verifier, err := signature.LoadVerifier(public, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	material := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) {
		return root.NewExpiringKey(verifier, time.Time{}, time.Time{}), nil
	})
	// There is neither a transparency log nor a clock to trust: the key is all.
	trusted, err := verify.NewVerifier(material, verify.WithNoObserverTimestamps())
	if err != nil {
		return nil, err
	}
	signed, err := bundle.LoadJSONFromPath(file)
	if err != nil {
		return nil, err
	}
	result, err := trusted.Verify(signed, verify.NewPolicy(verify.WithArtifact(bytes.NewReader(text)), verify.WithKey()))
	if err != nil {
		return nil, err
	}
	if result.Statement == nil || result.Statement.PredicateType != predicateType {
		return nil, errors.New("it has no SLSA v1 provenance")
	}
	return result, nil
}

// describe prints what a release was built from, for the reader to compare with what they wanted.
func describe(out io.Writer, result *verify.VerificationResult) error {
	definition := result.Statement.Predicate.GetFields()["buildDefinition"].GetStructValue().GetFields()
	run := result.Statement.Predicate.GetFields()["runDetails"].GetStructValue().GetFields()
	for _, source := range definition["resolvedDependencies"].GetListValue().GetValues() {
		fields := source.GetStructValue().GetFields()
		commit := fields["digest"].GetStructValue().GetFields()["gitCommit"].GetStringValue()
		fmt.Fprintf(out, "source   %s\ncommit   %s\n", fields["uri"].GetStringValue(), commit)
	}
	builder := run["builder"].GetStructValue().GetFields()["id"].GetStringValue()
	_, err := fmt.Fprintf(out, "builder  %s\n", builder)
	return err
}
