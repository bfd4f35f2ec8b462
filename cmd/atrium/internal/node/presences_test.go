package node

import (
	"testing"
	"time"
	"unsafe"
)

// stepped is a time as it was read before the system's clock was set back by so many seconds: its wall
// clock is ahead by them, its monotonic one is not. No test can step the system's. The seconds of a
// time.Time's wall begin at bit 30.
func stepped(at time.Time, seconds uint64) time.Time {
	*(*uint64)(unsafe.Pointer(&at)) += seconds << 30
	return at
}

func TestTheClockOfPresencesGoesOnWhereTheSystemsJumps(t *testing.T) {
	before := time.Now()
	start := stepped(before, 3600)
	if ahead := start.Round(0).Sub(before.Round(0)); ahead != time.Hour || start.Sub(before) != 0 {
		t.Fatalf("it is not stepped: %s, %s", ahead, start.Sub(before))
	}
	now := steady(start)
	if went := now().Sub(start.Round(0)); went < -time.Microsecond || went > time.Minute {
		t.Errorf("since the system's clock was set back by an hour, %s have gone by", went)
	}
	for last := now(); last.Equal(now()); {
	}
}
