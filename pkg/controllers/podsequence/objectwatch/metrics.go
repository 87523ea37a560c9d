package objectwatch

import "example.com/podsequence/internal/telemetry"

var watchErrors = telemetry.Sequences.Counter("object_watch_errors_total",
	"Failed lists and watches of objects that sequences wait for, or of what tells whether they can be read.")
