// images builds the container images of our programs for several platforms, and needs no Docker and no container registry:
//
//	go -C hack/images run . -source "$PWD" -out "$PWD/dist/images" -image registry.example.com/team/podsequence:v1
//
// An image has nothing but one static program, certificates, the users that it runs as, and the licences of what it is made
// from. Two builds of one commit give the same digests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// programs are what images are built of. The image of a program is named after it: of team/podsequence:v1 the scheduler gets
// team/podsequence-scheduler:v1.
var programs = []program{
	{name: "podsequence-scheduler", main: "./cmd/scheduler", suffix: "-scheduler",
		about: "A kube-scheduler that starts pods in the order of PodSequences"},
	{name: "podsequence-controller", main: "./cmd/controller", suffix: "-controller",
		about: "The controller of PodSequences, SequentialJobs, DeploymentCoordinations and pod groups"},
	{name: "kubectl-podseq", main: "./cmd/kubectl-podseq", suffix: "-kubectl",
		about: "The kubectl plugin of PodSequences"},
}

// options are what the flags say.
type options struct {
	builder   builder
	platforms []string
	// image is REPOSITORY:TAG, of which the images have their names.
	image   string
	release release
	// out is the directory to write layouts, archives, inventories and digests to; "" writes none.
	out string
	// push reports whether to push the images to their registries.
	push bool
	// files is the directory to write the files of one program to instead, for a Dockerfile.
	files, only string
	// notices is the file to write the licences of one program to instead.
	notices string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func parse(args []string) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("images", flag.ExitOnError)
	flags.StringVar(&o.builder.source, "source", "", "absolute path of the source `DIRECTORY`")
	flags.StringVar(&o.builder.ldflags, "ldflags", "", "`FLAGS` for the linker")
	platforms := flags.String("platforms", "linux/amd64 linux/arm64", "`PLATFORMS` to build for, separated by spaces or commas")
	flags.StringVar(&o.image, "image", "podsequence:latest", "`REPOSITORY:TAG` from which the names of all images are made")
	flags.StringVar(&o.release.version, "version", "unknown", "`VERSION` of the programs")
	flags.StringVar(&o.release.commit, "commit", "unknown", "`COMMIT` of the sources")
	created := flags.String("created", "0", "creation time of the images, in `SECONDS` since 1970; give the time of the commit, so that builds are reproducible")
	flags.StringVar(&o.out, "out", "", "absolute path of the `DIRECTORY` for layouts, archives, inventories and digests; empty writes none")
	flags.BoolVar(&o.push, "push", false, "push the images to their registries, with the credentials in Docker's configuration")
	flags.StringVar(&o.files, "files", "", "`DIRECTORY` for the files of one image; nothing else is written (the Dockerfile uses this)")
	flags.StringVar(&o.notices, "notices", "", "`FILE` for the licences of what one program is built from on -platforms, which may be any; nothing else is written")
	flags.StringVar(&o.only, "only", "", "build only the image of this `PROGRAM`; empty builds all")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	seconds, err := strconv.ParseInt(*created, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("-created: %w", err)
	}
	o.release.created = time.Unix(seconds, 0).UTC()
	if o.platforms, err = parsePlatforms(*platforms, o.notices != ""); err != nil {
		return nil, err
	}
	if o.builder.source == "" {
		return nil, fmt.Errorf("-source is missing: give the directory of the sources")
	}
	// Building may take minutes, and is quiet.
	o.builder.wrapper = filepath.Join(o.builder.source, "hack", "with-progress.sh")
	return o, nil
}

// parsePlatforms reads a list with spaces in between, as make has lists, or commas, as docker buildx has them. Images are for Linux.
func parsePlatforms(list string, anySystem bool) ([]string, error) {
	platforms := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if len(platforms) == 0 {
		return nil, errors.New("-platforms is empty: name one, such as linux/amd64")
	}
	for _, platform := range platforms {
		system, architecture, _ := strings.Cut(platform, "/")
		if architecture == "" || strings.Contains(architecture, "/") || system != "linux" && !anySystem {
			return nil, fmt.Errorf("-platforms: %q is no platform of these images: use linux/amd64, linux/arm64 or another linux/ARCHITECTURE", platform)
		}
	}
	return platforms, nil
}

func run(ctx context.Context, o *options) error {
	chosen, err := choose(programs, o.only)
	if err != nil {
		return err
	}
	if o.notices != "" {
		if len(chosen) != 1 {
			return fmt.Errorf("-notices: name one program by -only")
		}
		return o.builder.writeNotices(ctx, o.notices, chosen[0], o.platforms)
	}
	work, err := os.MkdirTemp("", "podsequence-images-")
	if err != nil {
		return fmt.Errorf("make directory for programs: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	o.builder.out = work

	if o.files != "" {
		if len(chosen) != 1 || len(o.platforms) != 1 {
			return fmt.Errorf("-files: name one program by -only, and one platform by -platforms")
		}
		content, _, err := o.builder.build(ctx, chosen[0], o.platforms[0])
		if err != nil {
			return err
		}
		return writeFiles(o.files, content.all())
	}

	var built []*image
	for _, p := range chosen {
		image, err := buildImage(ctx, &o.builder, p, o.platforms, o.release)
		if err != nil {
			return fmt.Errorf("build image of %s: %w", p.name, err)
		}
		if image.reference, err = nameImage(o.image, p); err != nil {
			return err
		}
		built = append(built, image)
	}
	if o.out != "" {
		if err := writeAll(o.out, built, o.release); err != nil {
			return err
		}
	}
	if o.push {
		for _, image := range built {
			if err := push(ctx, image); err != nil {
				return err
			}
		}
	}
	return report(os.Stdout, built, o)
}

func choose(programs []program, only string) ([]program, error) {
	if only == "" {
		return programs, nil
	}
	var names []string
	for _, p := range programs {
		if p.name == only {
			return []program{p}, nil
		}
		names = append(names, p.name)
	}
	return nil, fmt.Errorf("-only: there is no program %q, only %s", only, strings.Join(names, ", "))
}
