package compose

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"
)

// What kompose makes of a service, by its source: pkg/loader/compose at commit 0302093e,
// pkg/transformer at 1685ab30, and its user guide.

// serviceLabel is the label of all pods that kompose makes of a service.
const serviceLabel = "io.kompose.service"

// Labels of a service in the compose file by which it is converted in another way.
const (
	groupLabel      = "kompose.service.group"
	cronJobLabel    = "kompose.cronjob.schedule"
	readinessPrefix = "kompose.service.healthcheck.readiness."
)

var separators = regexp.MustCompile("[._]")

// objectName returns the name of the workload of a service, which is also the value of serviceLabel.
func objectName(service string) string {
	return strings.ToLower(separators.ReplaceAllString(service, "-"))
}

// completes reports whether kompose makes a Pod or a CronJob of the service. Of all others it makes a workload that restarts them.
func completes(service types.ServiceConfig) bool {
	restart := service.Restart
	if service.Deploy != nil && service.Deploy.RestartPolicy != nil {
		restart = service.Deploy.RestartPolicy.Condition
	}
	return restart == "no" || restart == "on-failure"
}

// counted returns the number of restarts that restart: on-failure:3 has. kompose knows only on-failure.
func counted(service types.ServiceConfig) (times string, has bool) {
	return strings.CutPrefix(service.Restart, "on-failure:")
}

// hasReadinessProbe reports whether the container gets one. It comes from labels only: healthcheck becomes a liveness probe.
func hasReadinessProbe(service types.ServiceConfig) bool {
	label := func(name string) string { return service.Labels[readinessPrefix+name] }
	if disabled := label("disable"); disabled == "true" || disabled == "1" {
		return false
	}
	return cmp.Or(label("test"), label("tcp_port")) != "" || (label("http_get_path") != "" && label("http_get_port") != "")
}

// hasHealthcheck reports whether the compose file says how to check the health of the service.
func hasHealthcheck(service types.ServiceConfig) bool {
	check := service.HealthCheck
	return check != nil && !check.Disable && len(check.Test) > 0 && check.Test[0] != "NONE"
}
