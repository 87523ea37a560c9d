package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"

	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// writeKeys writes a new pair of keys, the private one encrypted with the password. It overwrites nothing.
func writeKeys(privateFile, publicFile string, password cryptoutils.PassFunc) error {
	for _, file := range []string{privateFile, publicFile} {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s exists: releases may be signed with it, so move it away yourself", file)
		}
	}
	private, public, err := cryptoutils.GeneratePEMEncodedECDSAKeyPair(elliptic.P256(), password)
	if err != nil {
		return fmt.Errorf("generate keys: %w", err)
	}
	if err := os.WriteFile(privateFile, private, 0o600); err != nil {
		return fmt.Errorf("write private key: %w", err)
	}
	if err := os.WriteFile(publicFile, public, 0o644); err != nil {
		return fmt.Errorf("write public key: %w", err)
	}
	return nil
}

// readPublic reads a public key. It must be of the one kind that openssl and cosign verify without being told how.
func readPublic(file string) (*ecdsa.PublicKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read public key: %w", err)
	}
	key, err := cryptoutils.UnmarshalPEMToPublicKey(text)
	if err != nil {
		return nil, fmt.Errorf("read public key %s: %w", file, err)
	}
	if public, ok := key.(*ecdsa.PublicKey); ok && public.Curve == elliptic.P256() {
		return public, nil
	}
	return nil, fmt.Errorf("%s is no ECDSA key of curve P-256: make one with `make release-key` or `cosign generate-key-pair`", file)
}

// readPrivate reads the private key that belongs to a public one: a signature by another key would verify nowhere.
func readPrivate(file string, public *ecdsa.PublicKey, password cryptoutils.PassFunc) (*keypair, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read private key: %w", err)
	}
	key, err := cryptoutils.UnmarshalPEMToPrivateKey(text, password)
	if err != nil {
		return nil, fmt.Errorf("read private key %s: %w", file, err)
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok || !private.PublicKey.Equal(public) {
		return nil, fmt.Errorf("the private key %s does not belong to the public key that users have", file)
	}
	return &keypair{private}, nil
}

// keypair signs with a key that its holder keeps. Sigstore's own keypair is for one signature.
type keypair struct{ private *ecdsa.PrivateKey }

var _ sign.Keypair = &keypair{}

func (*keypair) GetHashAlgorithm() protocommon.HashAlgorithm {
	return protocommon.HashAlgorithm_SHA2_256
}

func (*keypair) GetSigningAlgorithm() protocommon.PublicKeyDetails {
	return protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256
}

func (*keypair) GetKeyAlgorithm() string { return "ECDSA" }

func (k *keypair) GetPublicKey() crypto.PublicKey { return k.private.Public() }

func (k *keypair) GetPublicKeyPem() (string, error) {
	text, err := cryptoutils.MarshalPublicKeyToPEM(k.private.Public())
	return string(text), err
}

// GetHint names the key in a bundle, as cosign does.
func (k *keypair) GetHint() []byte {
	der, err := x509.MarshalPKIXPublicKey(k.private.Public())
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(der)
	return []byte(base64.StdEncoding.EncodeToString(sum[:]))
}

func (k *keypair) SignData(_ context.Context, data []byte) (signature, digest []byte, err error) {
	sum := sha256.Sum256(data)
	signature, err = ecdsa.SignASN1(rand.Reader, k.private, sum[:])
	return signature, sum[:], err
}
