package record

import "example.com/podsequence/internal/telemetry"

var recordErrors = telemetry.Engine.Counter("pass_record_errors_total",
	"Failed attempts to record that a group was passed: to look at what the group counts, or to write status.passes. "+
		"The program retries them; meanwhile nothing that waits for the group is released.")
