package embed

import (
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
)

const (
	// UsageDays is for how many days the use of embed tokens is counted.
	UsageDays = 90

	// OtherOrigins represents a day's origins beyond a token's first MaxUsageOrigins.
	OtherOrigins Origin = "other"

	// MaxUsageOrigins is a token's maximum number of origins that are counted separately each day.
	MaxUsageOrigins = 100
)

// ErrUsageRange is for a range of days that is empty or too long.
var ErrUsageRange = &fault.Error{Kind: fault.Malformed, Code: "invalid_parameter",
	Detail: "The days must be a range of at most 90 days, as from=2026-03-01 and to=2026-03-31."}

// Day is a day in UTC: days since 1970.
type Day int64

// DayOf returns a moment's day.
func DayOf(t time.Time) Day { return Day(t.Unix() / (24 * 60 * 60)) }

// Time returns the beginning of d.
func (d Day) Time() time.Time { return time.Unix(int64(d)*24*60*60, 0).UTC() }

// Counts are numbers of calls of visitors.
type Counts struct {
	Sessions int64 // opened, without renewals
	Messages int64 // admitted for an answer
	Refusals int64 // of pages, sessions and messages whose token is known
}

// Failure counts a token's messages that got no whole reply for one reason on one day.
type Failure struct {
	Day   Day
	Code  string // a ReplyFailure, or why the connection failed
	Count int64
}

// Use counts a token's uses on one day from the pages of one origin, which the token's list may not have.
type Use struct {
	Day    Day
	Origin Origin // NoOrigin for pages without one
	Counts
}
