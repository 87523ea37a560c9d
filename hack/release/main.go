// release packages the kubectl plugin, writes the notes of a release that `make release` built, signs it and verifies it, without a service:
//
//	go -C hack/release run . plugin -programs ... -dir dist ...
//	go -C hack/release run . notes -changelog CHANGELOG.md -dir dist ...
//	go -C hack/release run . keys -key release.key -public release.pub
//	go -C hack/release run . sign -key release.key -public release.pub -dir dist ...
//	go -C hack/release run . verify -public release.pub -dir dist
//
// cosign and openssl verify the same signatures.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// Names of the files that signing adds to a release.
const (
	sumsFile       = "SHA256SUMS"
	signatureFile  = "SHA256SUMS.sig"
	provenanceFile = "provenance.sigstore.json"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, cryptoutils.GetPasswordFromStdIn); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run runs the command that args begin with. It calls password when it reads or writes an encrypted key.
func run(args []string, out io.Writer, password cryptoutils.PassFunc) error {
	if len(args) == 0 {
		return errors.New("name a command: plugin, notes, keys, sign or verify")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	key := flags.String("key", "", "`FILE` with the private key; if it is encrypted, the password is that of $COSIGN_PASSWORD, or typed in")
	public := flags.String("public", "", "`FILE` with the public key")
	directory := flags.String("dir", "", "`DIRECTORY` with the release")
	var b build
	flags.StringVar(&b.repository, "repository", "", "`URL` of the repository of the sources, such as https://git.example.com/team/podsequence")
	flags.StringVar(&b.version, "version", "", "`TAG` that the release was built from")
	flags.StringVar(&b.commit, "commit", "", "`COMMIT` of the tag, in full")
	flags.StringVar(&b.image, "image", "", "`REPOSITORY:TAG` from which the names of all images were made")
	flags.StringVar(&b.builder, "builder", "", "`URL` of what ran the build; empty means whoever holds the key")
	p := plugin{}
	flags.StringVar(&p.programs, "programs", "", "`DIRECTORY` with the programs of the kubectl plugin, named after their platforms")
	flags.Func("beside", "`FILE` that each archive of the plugin has beside the program; may be repeated", func(file string) error {
		p.beside = append(p.beside, file)
		return nil
	})
	flags.StringVar(&p.downloads, "downloads", "", "`URL` of the directory in which the release is published")
	created := flags.Int64("created", 0, "time of the archives, in `SECONDS` since 1970; give the time of the commit, so that builds are reproducible")
	changelog := flags.String("changelog", "", "`FILE` with the changelog")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "plugin":
		p.version, p.repository, p.created = b.version, b.repository, time.Unix(*created, 0).UTC()
		return packagePlugin(*directory, p)
	case "notes":
		return writeNotes(filepath.Join(*directory, notesFile), *changelog, b.version, b.repository)
	}
	if *public == "" {
		return errors.New("-public is missing: give the file of the public key")
	}
	if args[0] != "verify" && *key == "" {
		return errors.New("-key is missing: give the file of the private key")
	}
	if args[0] != "keys" && *directory == "" {
		return errors.New("-dir is missing: give the directory of the release")
	}
	switch args[0] {
	case "keys":
		return writeKeys(*key, *public, password)
	case "sign":
		return signRelease(*directory, *key, *public, password, b)
	case "verify":
		return verifyRelease(out, *directory, *public)
	}
	return fmt.Errorf("there is no command %q: use plugin, notes, keys, sign or verify", args[0])
}
