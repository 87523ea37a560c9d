package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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
	files := cmp.Or(strings.Join(o.Files, ", "), "the compose file")
	// The library warns about what has nothing to do with the order, in the format of another program's log.
	logrus.SetOutput(io.Discard)
	v := &variables{}
	project, err := v.load(ctx, o)
	placeholders := v.required
	if err != nil && len(v.blank) > 0 {
		if !slices.Contains(o.Files, "-") { // which can be read once
			v = &variables{fill: true} // a blank is no number and no port
			project, err = v.load(ctx, o)
		}
		placeholders = slices.Concat(v.required, v.blank)
	}
	slices.Sort(placeholders)
	switch {
	case err != nil && len(placeholders) > 0:
		return nil, nil, fmt.Errorf("read %s: %w; these variables have no value in the environment or in .env: %s",
			files, err, strings.Join(placeholders, ", "))
	case err != nil:
		return nil, nil, fmt.Errorf("read %s: %w", files, err)
	}
	if err := check(project); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", files, err)
	}
	return project, placeholders, nil
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
		// What else is wrong with a project is for those who run it. A placeholder may be the name of a volume that is not defined.
		cli.WithConsistency(false),
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

// check refuses dependencies that no order can meet.
func check(project *types.Project) error {
	for _, name := range slices.Sorted(maps.Keys(project.Services)) {
		for _, on := range slices.Sorted(maps.Keys(project.Services[name].DependsOn)) {
			disabled, known := project.DisabledServices[on]
			switch _, enabled := project.Services[on]; {
			case enabled, known && !project.Services[name].DependsOn[on].Required:
			case known:
				return fmt.Errorf("service %s depends on %s, which belongs to a profile: give --profile %s",
					name, on, strings.Join(disabled.Profiles, " or "))
			default:
				return fmt.Errorf("service %s depends on %s, which does not exist: correct the name", name, on)
			}
		}
	}
	done := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(project.Services)) {
		if cycle := findCycle(project, done, []string{name}); cycle != nil {
			return fmt.Errorf("services depend on each other: %s: remove one of these from depends_on", strings.Join(cycle, " -> "))
		}
	}
	return nil
}

// findCycle returns the services of a cycle that the last of the path leads to, nil if there is none. It visits each service once: the
// library follows all paths, of which a file with 30 services has billions.
func findCycle(project *types.Project, done map[string]bool, path []string) []string {
	name := path[len(path)-1]
	if first := slices.Index(path, name); first < len(path)-1 {
		return path[first:]
	}
	if done[name] {
		return nil
	}
	for _, on := range slices.Sorted(maps.Keys(project.Services[name].DependsOn)) {
		if cycle := findCycle(project, done, append(path, on)); cycle != nil {
			return cycle
		}
	}
	done[name] = true
	return nil
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
