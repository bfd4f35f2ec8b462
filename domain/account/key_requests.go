package account

import (
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// RequestDays is the number of days that the counts of a key's requests cover, including today. Older counts are
// removed.
const RequestDays = 30

// KeyDay is an API key on a day.
type KeyDay struct {
	Key identity.KeyID
	Day int // in UTC: the number of days since 1970-01-01
}

// DayOf returns a time's day, as KeyDay has it.
func DayOf(t time.Time) int { return int(t.Unix() / (24 * 60 * 60)) }

// KeyRequests is the number of requests that were made with keys, by day.
type KeyRequests map[KeyDay]int64

// Last returns the requests with a key on each of the last RequestDays days, oldest first.
func (r KeyRequests) Last(id identity.KeyID, now time.Time) []int64 {
	counts := make([]int64, RequestDays)
	for i := range counts {
		counts[i] = r[KeyDay{id, DayOf(now) - RequestDays + 1 + i}]
	}
	return counts
}
