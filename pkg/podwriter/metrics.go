package podwriter

import "example.com/podsequence/internal/telemetry"

var writeErrors = telemetry.Shared.Counter("pod_write_errors_total",
	"Failed writes to pods: to lift a gate, to say what the pod waits for, by its condition or an event, or to clear its nomination. "+
		"The program retries them.")
