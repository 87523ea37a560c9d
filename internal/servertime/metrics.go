package servertime

import "example.com/podsequence/internal/telemetry"

var clockAhead = telemetry.Shared.Gauge("clock_ahead_seconds",
	"By how much the clock of this machine is ahead of the API server's, negative where it is behind. Waits and timeouts count by the earlier of both.")
