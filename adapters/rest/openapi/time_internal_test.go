package openapi

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestTimesAreWrittenInTheirLayout(t *testing.T) {
	east := time.FixedZone("", 5*60*60+45*60)
	times := []time.Time{
		{}, time.Unix(0, 0), time.Date(2026, 2, 28, 23, 59, 59, 999_999_999, time.UTC),
		time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 12, 31, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 1, 1, 2, 3, 4, 5_000_000, east),
	}
	for range 1000 {
		times = append(times, time.Unix(rand.Int64N(1<<33)-1<<31, rand.Int64N(1e9)))
	}
	for _, now := range times {
		want := `"` + now.UTC().Format(timeLayout) + `"`
		if got := string(Time(now).AppendJSON(nil)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
