package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// released is a small release, and the keys of who made it.
type released struct{ directory, private, public string }

// newRelease writes a release that is not signed yet.
func newRelease(t *testing.T) released {
	t.Helper()
	keys := t.TempDir()
	r := released{filepath.Join(t.TempDir(), "dist"), filepath.Join(keys, "release.key"), filepath.Join(keys, "release.pub")}
	require.NoError(t, run([]string{"keys", "-key", r.private, "-public", r.public}, nil, cryptoutils.SkipPassword))
	r.write(t, "install.yaml", "kind: Namespace\n")
	r.write(t, "images/podsequence-controller/index.json", "{}")
	image := sha256.Sum256([]byte("image"))
	r.write(t, digestsFile, fmt.Sprintf("registry.example.com/team/podsequence-controller:v1.2.3@sha256:%x\n", image))
	r.sum(t)
	return r
}

func (r released) write(t *testing.T, name, content string) {
	t.Helper()
	file := filepath.Join(r.directory, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
}

func (r released) read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(r.directory, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(content)
}

// sum writes the sums as hack/release.sh does.
func (r released) sum(t *testing.T) {
	t.Helper()
	files, err := listFiles(r.directory)
	require.NoError(t, err)
	slices.Sort(files)
	var text strings.Builder
	for _, file := range files {
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256([]byte(r.read(t, file))), file)
	}
	r.write(t, sumsFile, text.String())
}

func (r released) sign(change ...string) error {
	return run(append([]string{"sign", "-dir", r.directory, "-key", r.private, "-public", r.public,
		"-repository", "https://git.example.com/team/podsequence", "-version", "v1.2.3", "-commit", commit,
		"-image", "registry.example.com/team/podsequence:v1.2.3"}, change...), nil, cryptoutils.SkipPassword)
}

func (r released) verify() (string, error) {
	var out bytes.Buffer
	err := run([]string{"verify", "-dir", r.directory, "-public", r.public}, &out, cryptoutils.SkipPassword)
	return out.String(), err
}

func TestASignedReleaseVerifies(t *testing.T) {
	r := newRelease(t)
	require.NoError(t, r.sign())
	out, err := r.verify()
	require.NoError(t, err)
	assert.Equal(t, `verified 3 of the 3 files of the release
source   git+https://git.example.com/team/podsequence@refs/tags/v1.2.3
commit   `+commit+`
builder  https://git.example.com/team/podsequence#make-release
`, out)

	require.NoError(t, os.Remove(filepath.Join(r.directory, "install.yaml")))
	out, err = r.verify()
	require.NoError(t, err, "people download what they need")
	assert.Contains(t, out, "verified 2 of the 3 files")
}

func TestAReleaseIsSignedAgain(t *testing.T) {
	r := newRelease(t)
	require.NoError(t, r.sign())
	require.NoError(t, r.sign("-builder", "https://ci.example.com/builds/7"))
	out, err := r.verify()
	require.NoError(t, err)
	assert.Contains(t, out, "builder  https://ci.example.com/builds/7\n")
}

// Anyone with openssl, or any other implementation of ECDSA, can verify the signature without our tools.
func TestTheSignatureOfTheSumsIsPlainECDSA(t *testing.T) {
	r := newRelease(t)
	require.NoError(t, r.sign())
	public, err := readPublic(r.public)
	require.NoError(t, err)
	sum := sha256.Sum256([]byte(r.read(t, sumsFile)))
	assert.True(t, ecdsa.VerifyASN1(public, sum[:], []byte(r.read(t, signatureFile))))
}

// What the standards say, read by nothing of ours: a Sigstore bundle with a DSSE envelope, with an in-toto statement, with a SLSA
// provenance.
func TestTheProvenanceNamesSourcesFilesAndImages(t *testing.T) {
	r := newRelease(t)
	require.NoError(t, r.sign())
	var bundle struct {
		MediaType    string
		DsseEnvelope struct {
			PayloadType string
			Payload     []byte
			Signatures  []struct{ Sig []byte }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.read(t, provenanceFile)), &bundle))
	assert.Equal(t, "application/vnd.dev.sigstore.bundle.v0.3+json", bundle.MediaType)
	envelope := bundle.DsseEnvelope
	assert.Equal(t, "application/vnd.in-toto+json", envelope.PayloadType)
	require.Len(t, envelope.Signatures, 1)
	public, err := readPublic(r.public)
	require.NoError(t, err)
	encoded := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(envelope.PayloadType), envelope.PayloadType, len(envelope.Payload), envelope.Payload))
	assert.True(t, ecdsa.VerifyASN1(public, encoded[:], envelope.Signatures[0].Sig))

	subject := func(name string) string {
		return fmt.Sprintf(`{"name": %q, "digest": {"sha256": "%x"}}`, name, sha256.Sum256([]byte(r.read(t, name))))
	}
	assert.JSONEq(t, `{
		"_type": "https://in-toto.io/Statement/v1",
		"subject": [`+subject(sumsFile)+`, `+subject(digestsFile)+`, `+subject("images/podsequence-controller/index.json")+`,
			`+subject("install.yaml")+`,
			{"name": "registry.example.com/team/podsequence-controller:v1.2.3", "digest": {"sha256": "`+fmt.Sprintf("%x", sha256.Sum256([]byte("image")))+`"}}],
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": {
			"buildDefinition": {
				"buildType": "https://example.com/podsequence/release/v1",
				"externalParameters": {"repository": "https://git.example.com/team/podsequence", "version": "v1.2.3",
					"image": "registry.example.com/team/podsequence:v1.2.3"},
				"internalParameters": {"go": "`+goVersion(t)+`"},
				"resolvedDependencies": [{"uri": "git+https://git.example.com/team/podsequence@refs/tags/v1.2.3",
					"digest": {"gitCommit": "`+commit+`"}}]
			},
			"runDetails": {"builder": {"id": "https://git.example.com/team/podsequence#make-release"}}
		}
	}`, string(envelope.Payload))
}

// goVersion returns the Go release that go.mod asks for, which is the one that releases are built with.
func goVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if version, ok := strings.CutPrefix(line, "go "); ok {
			return "go" + strings.TrimSpace(version)
		}
	}
	t.Fatal("go.mod names no Go release")
	return ""
}

func TestAChangedReleaseDoesNotVerify(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, r *released)
		want   string
	}{
		"a file was changed": {
			func(t *testing.T, r *released) { r.write(t, "install.yaml", "kind: Pod\n") },
			"install.yaml was changed",
		},
		"a file was changed, and the sums with it": {
			func(t *testing.T, r *released) {
				r.write(t, "install.yaml", "kind: Pod\n")
				r.sum(t)
			},
			"SHA256SUMS.sig does not verify",
		},
		"a file was added": {
			func(t *testing.T, r *released) { r.write(t, "charts/other.tgz", "other") },
			"charts/other.tgz is not part of the release",
		},
		"somebody else signed it": {
			func(t *testing.T, r *released) {
				other := newRelease(t)
				other.directory = r.directory
				require.NoError(t, other.sign())
			},
			"SHA256SUMS.sig does not verify",
		},
		"somebody else signed the provenance": {
			func(t *testing.T, r *released) {
				signature, other := r.read(t, signatureFile), newRelease(t)
				other.directory = r.directory
				require.NoError(t, other.sign())
				r.write(t, signatureFile, signature)
			},
			"provenance.sigstore.json does not verify",
		},
		"the provenance was changed": {
			func(t *testing.T, r *released) {
				var bundle map[string]any
				require.NoError(t, json.Unmarshal([]byte(r.read(t, provenanceFile)), &bundle))
				envelope := bundle["dsseEnvelope"].(map[string]any)
				payload, err := base64.StdEncoding.DecodeString(envelope["payload"].(string))
				require.NoError(t, err)
				changed := bytes.Replace(payload, []byte("v1.2.3"), []byte("v1.2.4"), 1)
				require.NotEqual(t, payload, changed)
				envelope["payload"] = changed
				text, err := json.Marshal(bundle)
				require.NoError(t, err)
				r.write(t, provenanceFile, string(text))
			},
			"provenance.sigstore.json does not verify",
		},
		"the provenance is of another release": {
			func(t *testing.T, r *released) {
				other := newRelease(t)
				other.private, other.public = r.private, r.public
				other.write(t, "install.yaml", "kind: Pod\n")
				other.sum(t)
				require.NoError(t, other.sign())
				r.write(t, provenanceFile, other.read(t, provenanceFile))
			},
			"provenance.sigstore.json does not verify",
		},
		"the signature is missing": {
			func(t *testing.T, r *released) {
				require.NoError(t, os.Remove(filepath.Join(r.directory, signatureFile)))
			},
			"the release is not signed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelease(t)
			require.NoError(t, r.sign())
			_, err := r.verify()
			require.NoError(t, err)
			test.change(t, &r)
			_, err = r.verify()
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestNothingIsSignedThatWouldNotVerify(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, r *released) []string
		want   string
	}{
		"a file that changed after it was built": {
			func(t *testing.T, r *released) []string {
				r.write(t, "install.yaml", "kind: Pod\n")
				return nil
			},
			"install.yaml was changed",
		},
		"a release that lacks a file": {
			func(t *testing.T, r *released) []string {
				require.NoError(t, os.Remove(filepath.Join(r.directory, "install.yaml")))
				return nil
			},
			"lists 3 files and the release has 2",
		},
		"a key that is not the one users have": {
			func(t *testing.T, r *released) []string {
				r.public = newRelease(t).public
				return nil
			},
			"does not belong to the public key",
		},
		"a key of another kind": {
			func(t *testing.T, r *released) []string {
				public, _, err := ed25519.GenerateKey(rand.Reader)
				require.NoError(t, err)
				text, err := cryptoutils.MarshalPublicKeyToPEM(public)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(r.public, text, 0o644))
				return nil
			},
			"is no ECDSA key of curve P-256",
		},
		"a release from nowhere": {
			func(*testing.T, *released) []string { return []string{"-repository", ""} },
			"-repository is missing",
		},
		"a release of half a commit": {
			func(*testing.T, *released) []string { return []string{"-commit", "0123456"} },
			"gitCommit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelease(t)
			assert.ErrorContains(t, r.sign(test.change(t, &r)...), test.want)
			assert.NoFileExists(t, filepath.Join(r.directory, signatureFile))
			assert.NoFileExists(t, filepath.Join(r.directory, provenanceFile))
		})
	}
}

func TestAPrivateKeyIsEncryptedAndNeverOverwritten(t *testing.T) {
	secret := cryptoutils.StaticPasswordFunc([]byte("secret"))
	private, public := filepath.Join(t.TempDir(), "release.key"), filepath.Join(t.TempDir(), "release.pub")
	keys := func() error { return run([]string{"keys", "-key", private, "-public", public}, nil, secret) }
	require.NoError(t, keys())
	text, err := os.ReadFile(private)
	require.NoError(t, err)
	assert.Contains(t, string(text), "ENCRYPTED SIGSTORE PRIVATE KEY")
	info, err := os.Stat(private)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	known, err := readPublic(public)
	require.NoError(t, err)
	_, err = readPrivate(private, known, secret)
	assert.NoError(t, err)
	_, err = readPrivate(private, known, cryptoutils.StaticPasswordFunc([]byte("wrong")))
	assert.ErrorContains(t, err, "read private key")

	assert.ErrorContains(t, keys(), "exists")
	again, err := os.ReadFile(private)
	require.NoError(t, err)
	assert.Equal(t, text, again)
}
