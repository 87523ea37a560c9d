package inventory

import "time"

// Timestamp is a moment of the API in a third of the memory of a time.Time: microseconds since the zero time. The zero value is
// the zero time. Moments that no API server writes, before the zero time or after the year 9999, become the nearest that it does.
type Timestamp int64

var (
	zeroTime  = time.Time{}.UnixMicro()
	firstTime = time.Time{}
	lastTime  = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// TimestampOf returns the moment of a time.
func TimestampOf(t time.Time) Timestamp {
	switch {
	case t.Before(firstTime):
		t = firstTime
	case t.After(lastTime):
		t = lastTime
	}
	return Timestamp(t.UnixMicro() - zeroTime)
}

// Time returns the moment as a time in UTC.
func (t Timestamp) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(t) + zeroTime).UTC()
}
