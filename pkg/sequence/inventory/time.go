package inventory

import "time"

// Timestamp is a moment of the API in a sixth of the memory of a time.Time: seconds since 1970. The zero value is the zero time.
// Other moments before the first second of 1970, and those after the year 2105, become the nearest that it can be.
type Timestamp uint32

var (
	firstTime = time.Unix(1, 0)
	lastTime  = time.Date(2106, 1, 1, 0, 0, 0, 0, time.UTC)
)

// TimestampOf returns the moment of a time.
func TimestampOf(t time.Time) Timestamp {
	switch {
	case t.IsZero():
		return 0
	case t.Before(firstTime):
		t = firstTime
	case t.After(lastTime):
		t = lastTime
	}
	return Timestamp(t.Unix())
}

// Time returns the moment as a time in UTC.
func (t Timestamp) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(int64(t), 0).UTC()
}
