package id_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/id"
)

func TestFloor(t *testing.T) {
	start := time.Now().Truncate(time.Millisecond)
	newText := id.New("evt")
	if floor := id.Floor("evt", start); newText < floor {
		t.Errorf("%s was made at %v or later, and is below %s", newText, start, floor)
	}
	if floor := id.Floor("evt", time.Now().Add(time.Minute)); newText >= floor {
		t.Errorf("%s was made a minute before, and is not below %s", newText, floor)
	}
	if got, want := id.Floor("evt", time.Unix(-5, 0)), id.Floor("evt", time.Unix(0, 0)); got != want {
		t.Errorf("before 1970: %s, want %s", got, want)
	}
	if a, b := id.Floor("evt", time.UnixMilli(1_767_225_600_123)),
		id.Floor("evt", time.UnixMilli(1_767_225_600_124)); a >= b {
		t.Errorf("%s is not below %s, which is a millisecond later", a, b)
	}
}
