package node

import (
	"testing"
	"time"
	"unsafe"
)

// stepped is a time as it was read before the system's clock was set back by so many seconds: its wall
// clock is ahead by them, its monotonic one is not. No test can step the system's. The seconds of a
// time.Time's wall begin at bit 30.
func stepped(instant time.Time, seconds uint64) time.Time {
	*(*uint64)(unsafe.Pointer(&instant)) += seconds << 30
	return instant
}

func TestTheClockOfPresencesGoesOnWhereTheSystemsJumps(t *testing.T) {
	previous := time.Now()
	start := stepped(previous, 3600)
	if ahead := start.Round(0).Sub(previous.Round(0)); ahead != time.Hour || start.Sub(previous) != 0 {
		t.Fatalf("it is not stepped: %s, %s", ahead, start.Sub(previous))
	}
	now := steady(start)
	if wentTime := now().Sub(start.Round(0)); wentTime < -time.Microsecond || wentTime > time.Minute {
		t.Errorf("since the system's clock was set back by an hour, %s have gone by", wentTime)
	}
	for last := now(); last.Equal(now()); {
	}
}
