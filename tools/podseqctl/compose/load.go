package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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
	switch unknown := unknownField(err); {
	case unknown != nil:
		return nil, nil, fmt.Errorf("read %s: %w", files, unknown)
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

// forbidden is what the library's schema says of a field that it does not have.
var forbidden = regexp.MustCompile(`([^\s:]+) false schema`)

// unknownField says which field Compose does not know, if that is what is wrong: no value of a variable would change it.
func unknownField(err error) error {
	if err == nil {
		return nil
	}
	if field := forbidden.FindStringSubmatch(err.Error()); field != nil {
		return fmt.Errorf("%s is no field of Compose: correct or remove it", field[1])
	}
	if strings.Contains(err.Error(), "additional properties") {
		return err
	}
	return nil
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
				return fmt.Errorf("service %s depends on %s, which is not in what was read: %s", name, on, orGive(project.ComposeFiles))
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

// composeFile is what files of Compose are called.
var composeFile = regexp.MustCompile(`^(docker-)?compose\b.*\.ya?ml$`)

// orGive says what to do about a service that is not in the files: a file that only overrides another one lacks the services of that.
func orGive(read []string) string {
	var beside []string
	for _, file := range read {
		entries, err := os.ReadDir(filepath.Dir(file))
		if err != nil {
			continue // the advice is the same without their names
		}
		for _, entry := range entries {
			other := filepath.Join(filepath.Dir(file), entry.Name())
			if composeFile.MatchString(entry.Name()) && !slices.Contains(read, other) {
				beside = addOnce(beside, entry.Name())
			}
		}
	}
	if len(beside) == 0 {
		return "if another file has it, give that first; otherwise correct the name"
	}
	return fmt.Sprintf("if %s has it, give that file first; otherwise correct the name", strings.Join(beside, " or "))
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
