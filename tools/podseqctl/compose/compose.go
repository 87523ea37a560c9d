// Package compose makes a PodSequence of the depends_on graph of a compose file, for the workloads that kompose makes of that file.
package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// The bounds of the API.
const (
	maxGroups    = 64
	maxDependsOn = 16
)

// Options say what to import.
type Options struct {
	// Files are compose files, of which later ones override earlier ones. None stands for those that Compose finds by itself.
	Files []string
	// Profiles are those whose services count, beside services of no profile. None stands for those of the environment.
	Profiles []string
	// Name is the name of the sequence. It defaults to that of the project.
	Name string
}

// Import returns the sequence, and what its user has to know about it.
func Import(ctx context.Context, o Options) (*v1alpha1.PodSequence, []string, error) {
	if err := checkName("--name", o.Name); o.Name != "" && err != nil {
		return nil, nil, err
	}
	project, placeholders, err := load(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	r := newOrder(project)
	if len(placeholders) > 0 {
		r.note("%s: no value in the environment or in .env, so 1 was read instead; no value gets into the sequence",
			strings.Join(placeholders, ", "))
	}
	groups, err := r.groups()
	if err != nil {
		return nil, nil, err
	}
	name := cmp.Or(o.Name, strings.Trim(strings.ReplaceAll(project.Name, "_", "-"), "-"))
	if err := checkName("the name of the project", name); err != nil {
		return nil, nil, fmt.Errorf("%w; give --name", err)
	}
	return &v1alpha1.PodSequence{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.PodSequenceKind.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.PodSequenceSpec{PodGroups: groups},
	}, r.notes, nil
}

// checkName refuses a name that no object can have, or that pods cannot have in the label that names their sequence.
func checkName(what, name string) error {
	wrong := append(validation.IsDNS1123Subdomain(name), validation.IsValidLabelValue(name)...)
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%s, %q, cannot be the name of a PodSequence: %s", what, name, wrong[0])
}

// order is what the services of a project ask of each other.
type order struct {
	// services are those that pods run. provided are those that a provider runs, and disabled those of profiles that are not given.
	services           types.Services
	provided, disabled []string
	// wanted says by service which conditions it must meet, and for whom.
	wanted map[string]map[string][]string
	levels map[string]int
	notes  []string
}

func newOrder(project *types.Project) *order {
	r := &order{services: types.Services{}, wanted: map[string]map[string][]string{}, levels: map[string]int{}}
	for _, name := range slices.Sorted(maps.Keys(project.Services)) {
		if service := project.Services[name]; service.Provider == nil {
			r.services[name] = service
		} else {
			r.provided = append(r.provided, name)
		}
	}
	for _, service := range project.DisabledServices {
		for _, profile := range service.Profiles {
			r.disabled = addOnce(r.disabled, profile)
		}
	}
	slices.Sort(r.disabled)
	for _, name := range slices.Sorted(maps.Keys(r.services)) {
		for _, on := range slices.Sorted(maps.Keys(r.services[name].DependsOn)) {
			dependency := r.services[name].DependsOn[on]
			if slices.Contains(r.provided, on) {
				r.note("%s does not wait for %s, which its provider %s runs, and no pod: to wait for it, add an object that says when it is there "+
					"to the objects of a group", name, on, project.Services[on].Provider.Type)
				continue
			}
			if _, ok := r.services[on]; !ok {
				r.note("%s does not wait for %s, which is in no profile that is given", name, on)
				continue
			}
			if r.wanted[on] == nil {
				r.wanted[on] = map[string][]string{}
			}
			r.wanted[on][dependency.Condition] = append(r.wanted[on][dependency.Condition], name)
			r.noteDependency(name, on, dependency)
		}
	}
	return r
}

func (r *order) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *order) noteDependency(name, on string, dependency types.ServiceDependency) {
	if !dependency.Required {
		r.note("%s waits for %s although it is not required: to go on without %s when it does not get ready, "+
			"add timeout and onTimeout: Continue to group %s", name, on, on, on)
	}
	if dependency.Restart {
		r.note("%s is not restarted when %s is: PodSequence orders the start of pods, and restarts none", name, on)
	}
}

// before returns the services that a service names and waits for.
func (r *order) before(name string) []string {
	names := []string{} // not nil: such a group waits for none
	for _, on := range slices.Sorted(maps.Keys(r.services[name].DependsOn)) {
		if _, ok := r.services[on]; ok {
			names = append(names, on)
		}
	}
	return names
}

// follows reports whether a service waits for another one through others.
func (r *order) follows(name, other string, seen map[string]bool) bool {
	for _, on := range r.before(name) {
		if on == other {
			return true
		}
		if seen[on] || r.level(on) <= r.level(other) {
			continue // one that starts before the other one does not wait for it
		}
		seen[on] = true
		if r.follows(on, other, seen) {
			return true
		}
	}
	return false
}

// directly returns the services that a service waits for, without those that others of them wait for: a group waits for all that come
// before the groups of its dependsOn.
func (r *order) directly(name string) []string {
	before := r.before(name)
	return slices.DeleteFunc(slices.Clone(before), func(on string) bool {
		return slices.ContainsFunc(before, func(other string) bool { return other != on && r.follows(other, on, map[string]bool{}) })
	})
}

// level returns how many services must start one after another before this one. load has refused cycles.
func (r *order) level(name string) int {
	level, ok := r.levels[name]
	if !ok {
		for _, on := range r.before(name) {
			level = max(level, r.level(on)+1)
		}
		r.levels[name] = level
	}
	return level
}

// groups returns the groups of the services, each after those that it waits for.
func (r *order) groups() ([]v1alpha1.PodGroup, error) {
	var names, alone []string
	for _, name := range slices.Sorted(maps.Keys(r.services)) {
		if len(r.before(name)) == 0 && len(r.wanted[name]) == 0 {
			alone = append(alone, name)
			continue
		}
		names = append(names, name)
	}
	switch {
	case len(r.services)+len(r.provided) == 0 && len(r.disabled) > 0:
		return nil, fmt.Errorf("all services belong to profiles: give --profile with those to import, of %s", strings.Join(r.disabled, ", "))
	case len(names) == 0:
		return nil, r.noOrder()
	case len(names) > maxGroups:
		return nil, fmt.Errorf("%d services depend on each other, and a PodSequence has at most %d groups: import files with fewer services, "+
			"or put services that start together into one group by hand", len(names), maxGroups)
	}
	if len(alone) > 0 {
		r.note("no group for %s: no order with other services, so these pods start at once", strings.Join(alone, ", "))
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(r.level(a), r.level(b)), cmp.Compare(a, b)) })
	groups, byName := make([]v1alpha1.PodGroup, 0, len(names)), map[string]string{}
	for _, name := range names {
		group, err := r.group(name)
		if err != nil {
			return nil, err
		}
		object := objectName(name)
		if other, ok := byName[object]; ok {
			return nil, fmt.Errorf("services %s and %s are both %s for kompose: rename one of them", other, name, object)
		}
		byName[object] = name
		groups = append(groups, group)
	}
	return groups, nil
}

// noOrder says that no service waits for another one, and what was left out.
func (r *order) noOrder() error {
	text := "no service depends on another one: there is no order to import"
	if len(r.provided) > 0 {
		text += fmt.Sprintf("; providers run %s, and no pods", strings.Join(r.provided, ", "))
	}
	if len(r.disabled) > 0 {
		text += fmt.Sprintf("; services of profiles are left out: give --profile with those to import, of %s", strings.Join(r.disabled, ", "))
	}
	return errors.New(text)
}

// group returns the group of a service.
func (r *order) group(name string) (v1alpha1.PodGroup, error) {
	object, before := objectName(name), r.directly(name)
	if wrong := validation.IsDNS1123Label(object); len(wrong) > 0 {
		return v1alpha1.PodGroup{}, fmt.Errorf("service %s: kompose names its objects %q, which Kubernetes refuses: %s", name, object, wrong[0])
	}
	if len(before) > maxDependsOn {
		return v1alpha1.PodGroup{}, fmt.Errorf("service %s depends on %d services that do not depend on each other, and a group waits for at most %d: "+
			"let some of them depend on others, or put some into one group by hand", name, len(before), maxDependsOn)
	}
	required, err := r.required(name)
	return v1alpha1.PodGroup{
		Name: name, DependsOn: before, RequiredStatus: required,
		PodSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{serviceLabel: v1alpha1.LabelValue(object)}},
	}, err
}

// required returns what the pods of a service must reach for those who wait for it. It is empty, for the default, if nobody does.
func (r *order) required(name string) (v1alpha1.RequiredStatus, error) {
	var required v1alpha1.RequiredStatus
	var strictest string
	var weaker []string
	for _, condition := range conditions {
		names := r.wanted[name][condition.name]
		if len(names) == 0 {
			continue
		}
		if strictest != "" {
			weaker = append(weaker, fmt.Sprintf("; %s would do for %s", strictest, strings.Join(r.wanted[name][strictest], ", ")))
		}
		strictest, required = condition.name, condition.required
	}
	if len(weaker) > 0 {
		r.note("%s: all who wait for it wait for %s, because a group has one requirement%s", name, strictest, strings.Join(weaker, ""))
	}
	if strictest == "" && len(r.wanted[name]) > 0 {
		return "", fmt.Errorf("service %s must meet a condition that is not known: use %s, %s or %s",
			name, conditions[0].name, conditions[1].name, conditions[2].name)
	}
	r.noteService(name, required)
	return required, nil
}

// noteService says what kompose makes of a service, where that cannot meet what is required of it.
func (r *order) noteService(name string, required v1alpha1.RequiredStatus) {
	service := r.services[name]
	_, scheduled := service.Labels[cronJobLabel]
	times, isCounted := counted(service)
	switch {
	case isCounted && !completes(service):
		r.note("%s has restart: on-failure:%s, and kompose knows no number there: remove it, and kompose makes a Pod", name, times)
	case required == v1alpha1.RequireComplete && !completes(service):
		r.note("%s must complete, and kompose makes a Deployment of it, whose pods never do: set restart: on-failure, and it makes a Pod", name)
	case required != "" && completes(service) && scheduled:
		r.note("%s becomes a CronJob (%s): those who wait for it wait until its first run", name, cronJobLabel)
	case required == v1alpha1.RequireReady && !completes(service) && !hasReadinessProbe(service):
		const otherwise = "until then its pods count as ready when they have run for some seconds"
		if hasHealthcheck(service) {
			r.note("%s must be healthy, and kompose makes a liveness probe of its healthcheck, and no readiness probe: "+
				"add the label %stest with the command; %s", name, readinessPrefix, otherwise)
		} else {
			r.note("%s must be healthy, and has no healthcheck: add the label %stest with a command, of which kompose makes a readiness probe; %s",
				name, readinessPrefix, otherwise)
		}
	}
	if group, ok := service.Labels[groupLabel]; ok {
		r.note("%s is in the %s %s: do not convert with --service-group-mode=label, or its pods get the name of that group "+
			"and no group of the sequence selects them", name, groupLabel, group)
	}
}
