package payment

import (
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
)

// MaxClockAdvance is the furthest that a clock of the sandbox goes in one call: a year.
const MaxClockAdvance = 366 * 24 * time.Hour

// ClockAdvance is a request to move a clock of the sandbox forward. It has one of its fields.
type ClockAdvance struct {
	By time.Duration // how far; zero if To is set
	To time.Time     // a time
}

// Target returns the time to which a clock goes that shows now. It returns *fault.Fields unless a has exactly one of
// its fields, and the target is after now by at most MaxClockAdvance.
func (a ClockAdvance) Target(now time.Time) (time.Time, error) {
	var errs fault.Fields
	target := a.To
	if target.IsZero() {
		target = now.Add(a.By)
	}
	switch {
	case (a.By == 0) == a.To.IsZero():
		errs.Add("", "required", "Send either advance_seconds or to.")
	case a.By < 0, a.By > MaxClockAdvance:
		errs.Add("/advance_seconds", "out_of_range", "Must be 1 to 31622400 seconds, which are 366 days.")
	case !target.After(now):
		errs.Add("/to", "in_the_past", "Must be after the time of the clock, which cannot go back.")
	case target.Sub(now) > MaxClockAdvance:
		errs.Add("/to", "too_late", "Must be within 366 days of the time of the clock.")
	}
	return target.Truncate(time.Second), errs.Err()
}
