package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"google.golang.org/protobuf/encoding/protojson"
)

// digestsFile lists the images of the release.
const digestsFile = "images/digests.txt"

// payloadType is the type of a statement in an envelope.
const payloadType = "application/vnd.in-toto+json"

// signRelease adds two files to a release: the signature of its sums, for openssl, and its signed provenance, for cosign. It signs
// nothing if the files are not as the sums say.
func signRelease(directory, privateFile, publicFile string, password cryptoutils.PassFunc, b build) error {
	if err := b.validate(); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(directory, sumsFile))
	if err != nil {
		return fmt.Errorf("read sums: %w", err)
	}
	listed, err := checkAll(directory, text)
	if err != nil {
		return err
	}
	digests, err := os.ReadFile(filepath.Join(directory, filepath.FromSlash(digestsFile)))
	if err != nil {
		return fmt.Errorf("read digests of images: %w", err)
	}
	images, err := parseDigests(digests)
	if err != nil {
		return err
	}
	public, err := readPublic(publicFile)
	if err != nil {
		return err
	}
	keys, err := readPrivate(privateFile, public, password)
	if err != nil {
		return err
	}

	signature, sum, err := keys.SignData(context.Background(), text)
	if err != nil {
		return fmt.Errorf("sign sums: %w", err)
	}
	files := maps.Clone(listed)
	files[sumsFile] = fmt.Sprintf("%x", sum)
	statement, err := b.statement(files, images)
	if err != nil {
		return err
	}
	bundle, err := sign.Bundle(&sign.DSSEData{Data: statement, PayloadType: payloadType}, keys, sign.BundleOptions{})
	if err != nil {
		return fmt.Errorf("sign provenance: %w", err)
	}
	encoded, err := protojson.Marshal(bundle)
	if err != nil {
		return fmt.Errorf("encode provenance: %w", err)
	}
	if err := os.WriteFile(filepath.Join(directory, signatureFile), signature, 0o644); err != nil {
		return fmt.Errorf("write signature: %w", err)
	}
	if err := os.WriteFile(filepath.Join(directory, provenanceFile), encoded, 0o644); err != nil {
		return fmt.Errorf("write provenance: %w", err)
	}
	return nil
}

// checkAll returns the sums of a whole release, after comparing them with its files.
func checkAll(directory string, text []byte) (sums, error) {
	listed, err := parseSums(text)
	if err != nil {
		return nil, err
	}
	files, err := listFiles(directory)
	if err != nil {
		return nil, err
	}
	if err := listed.compare(directory, files); err != nil {
		return nil, err
	}
	if len(files) < len(listed) {
		return nil, fmt.Errorf("%s lists %d files and the release has %d: build it again", sumsFile, len(listed), len(files))
	}
	return listed, nil
}
