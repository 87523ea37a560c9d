package podgroupwatch

import "example.com/podsequence/internal/telemetry"

var watchErrors = telemetry.Shared.CounterVec("podgroup_watch_errors_total",
	"Failed lists and watches of PodGroups, or of what says whether the kind PodGroup exists, by resource.", "resource")
