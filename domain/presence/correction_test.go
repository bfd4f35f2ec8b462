package presence_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/presence"
)

func TestShiftMovesOnlyWhatTheWrongClockRecorded(t *testing.T) {
	now := start
	for name, tt := range map[string]struct {
		by         time.Duration // of the correction
		seen, want time.Time
	}{
		"a heartbeat by a clock that was behind":           {time.Hour, after(-3610), after(-10)},
		"a heartbeat by a clock that was ahead":            {-time.Hour, after(3590), after(-10)},
		"a right one of another node, after being behind":  {time.Hour, after(-10), now},
		"a right one of another node, after being ahead":   {-time.Hour, after(-10), after(-10)},
		"one that had ended by the clock that was behind":  {time.Hour, after(-7200), after(-7200)},
		"one that would be later than the corrected clock": {time.Minute, now.Add(-time.Second), now},
	} {
		t.Run(name, func(t *testing.T) {
			r := &presence.Record{Devices: []presence.Device{{ID: "web", SeenAt: tt.seen, TTL: presence.DefaultTTL}}}
			r.Shift(tt.by, now)
			if got := r.Devices[0].SeenAt; !got.Equal(tt.want) {
				t.Errorf("seen %s before now, want %s", now.Sub(got), now.Sub(tt.want))
			}
			if !r.Due.Equal(tt.want.Add(presence.DefaultTTL)) {
				t.Errorf("due at %s", r.Due)
			}
			if !r.SeenAt.IsZero() || !r.ActiveAt.IsZero() {
				t.Error("a time that was not set was moved")
			}
		})
	}
}

func TestRectifyReplacesOnlyImpossibleTimes(t *testing.T) {
	now := start
	recordWith := func(seen time.Time) *presence.Record {
		web := presence.Device{ID: "web", SeenAt: seen, TTL: presence.DefaultTTL}
		return &presence.Record{Devices: []presence.Device{web}, SeenAt: seen, ActiveAt: seen}
	}
	other := recordWith(after(-10))
	other.Generation = 2
	for name, tt := range map[string]struct {
		seen  time.Time
		known *presence.Record
		want  time.Time
	}{
		"a past one stays":                            {now.Add(-time.Minute), nil, now.Add(-time.Minute)},
		"one within the skew of clocks stays":         {now.Add(presence.MaxSkew), nil, now.Add(presence.MaxSkew)},
		"a future one becomes now":                    {now.Add(time.Hour), nil, now},
		"a future one becomes the one that is known":  {now.Add(time.Hour), recordWith(after(-10)), after(-10)},
		"one that is known and wrong too becomes now": {now.Add(time.Hour), recordWith(after(7200)), now},
		"one of another generation says nothing":      {now.Add(time.Hour), other, now},
	} {
		t.Run(name, func(t *testing.T) {
			r := recordWith(tt.seen)
			r.Rectify(tt.known, now)
			for _, got := range []time.Time{r.Devices[0].SeenAt, r.SeenAt, r.ActiveAt} {
				if !got.Equal(tt.want) {
					t.Errorf("got %s, want %s", got, tt.want)
				}
			}
		})
	}
}
