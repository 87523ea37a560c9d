package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/template"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/sirupsen/logrus"
)

// placeholder is read for a variable that has no value where the file does not load without one. It reads as a text, a number, a port
// and a size. No value of a variable gets into the sequence: names of services cannot contain variables.
const placeholder = "1"

// load reads the files as Compose does, with .env and the environment. It also returns the variables that have no value and that the
// files cannot be read without.
func load(ctx context.Context, o Options) (*types.Project, []string, error) {
	// The library warns about what has nothing to do with the order, in the format of another program's log.
	logrus.SetOutput(io.Discard)
	v := &variables{}
	project, err := v.load(ctx, o)
	if err == nil || len(v.blank) == 0 {
		return project, slices.Sorted(slices.Values(v.required)), o.explain(err)
	}
	names := v.names()
	if !slices.Contains(o.Files, "-") { // which can be read once
		v = &variables{fill: true} // a blank is no number and no port
		project, err = v.load(ctx, o)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w; these variables have no value in the environment or in .env: %s",
			o.explain(err), strings.Join(names, ", "))
	}
	return project, v.names(), nil
}

// explain says which files an error of the library is about, and what to do.
func (o *Options) explain(err error) error {
	if err == nil {
		return nil
	}
	files := cmp.Or(strings.Join(o.Files, ", "), "the compose file")
	if strings.Contains(err.Error(), "depends on undefined service") {
		return fmt.Errorf("read %s: %w; if that service belongs to a profile, give --profile", files, err)
	}
	return fmt.Errorf("read %s: %w", files, err)
}

// variables stand for those that have no value.
type variables struct {
	// fill gives each of them the placeholder. Otherwise they are blank, as Compose reads them.
	fill bool
	// blank are those that are blank without fill, and required those that the file does not load without: these get the placeholder.
	blank, required []string
}

func (v *variables) load(ctx context.Context, o Options) (*types.Project, error) {
	options, err := cli.NewProjectOptions(o.Files,
		cli.WithOsEnv, cli.WithEnvFiles(), cli.WithDotEnv, cli.WithConfigFileEnv, cli.WithDefaultConfigPath,
		cli.WithDefaultProfiles(o.Profiles...),
		// The environment of containers does not matter, and its files are often not on this machine.
		cli.WithoutEnvironmentResolution,
		cli.WithLoadOptions(func(o *loader.Options) {
			if o.Interpolate != nil { // where the library only looks for the files it is nil
				o.Interpolate.Substitute = v.substitute
			}
		}),
		// The sequence gets the name that was given. Then a folder without a usable name does not matter.
		cli.WithName(loader.NormalizeProjectName(o.Name)),
	)
	if err != nil {
		return nil, err
	}
	if len(options.ConfigPaths) == 0 {
		return nil, errors.New("there is no compose.yaml here: name the file")
	}
	return options.LoadProject(ctx)
}

func (v *variables) names() []string {
	return slices.Sorted(slices.Values(slices.Concat(v.required, v.blank)))
}

// substitute replaces the variables in a text.
func (v *variables) substitute(text string, lookup template.Mapping) (string, error) {
	filled := map[string]bool{}
	mapping := func(name string) (string, bool) {
		if filled[name] {
			return placeholder, true
		}
		return lookup(name)
	}
	replace := func(reference string, mapping template.Mapping, config *template.Config) (string, error) {
		value, applied, err := template.DefaultReplacementAppliedFunc(reference, mapping, config)
		if !applied && err == nil {
			v.blank = addOnce(v.blank, strings.Trim(reference, "${}"))
			if v.fill {
				value = placeholder
			}
		}
		return value, err
	}
	for {
		value, err := template.SubstituteWithOptions(text, mapping, template.WithReplacementFunction(replace))
		missing, ok := errors.AsType[*template.MissingRequiredError](err)
		if !ok || filled[missing.Variable] {
			return value, err
		}
		filled[missing.Variable] = true
		v.required = addOnce(v.required, missing.Variable)
	}
}

func addOnce(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
