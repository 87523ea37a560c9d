package compose

import (
	"fmt"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// conditions are those of depends_on, from the weakest to the strictest: a pod that has completed counts as ready, and one that is
// ready has started.
var conditions = []struct {
	name     string
	required v1alpha1.RequiredStatus
}{
	{types.ServiceConditionStarted, v1alpha1.RequireStarted},
	{types.ServiceConditionHealthy, v1alpha1.RequireReady},
	{types.ServiceConditionCompletedSuccessfully, v1alpha1.RequireComplete},
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
	switch {
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
