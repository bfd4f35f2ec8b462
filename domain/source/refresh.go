package source

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
)

// RefreshJob is the kind of job that reads a source anew; its subject is the source.
const RefreshJob job.Kind = "source.refresh"

const (
	refreshEvery = 24 * time.Hour
	confirmAfter = 10 * time.Minute // a drift that would pause
	firstRetry   = time.Minute      // after a failure that may pass; doubles each time
	longestRetry = 6 * time.Hour

	tolerated  = 3 // failures in a row that may pass by themselves, before the source is failing
	breaksSeen = 2 // refreshes in a row that find a breaking drift, before the source is paused
)

// Failure is why a source could not be read.
type Failure struct {
	Code      string // as connections and sheets have it
	Transient bool   // it may pass by itself
	Hint      string // what to do about it
	At        time.Time
}

// FailureOf says why reading through a connection of kind k, or a sheet, failed with err; ok is false
// of what is no such failure, and tells nothing of the source.
func FailureOf(err error, k connection.Kind, at time.Time) (f *Failure, ok bool) {
	if code, isCode := errors.AsType[connection.Code](err); isCode {
		known := k.Failure(code, at)
		return &Failure{Code: string(known.Code), Transient: known.Category != connection.Config, Hint: known.Hint, At: at}, true
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil, false
	}
	known, isFault := errors.AsType[*fault.Error](err)
	if !isFault {
		return nil, false
	}
	switch known.Kind {
	case fault.RateLimited, fault.Upstream, fault.UpstreamTimeout:
		return &Failure{Code: known.Code, Transient: true, Hint: known.Detail, At: at}, true
	case fault.Forbidden, fault.NotFound, fault.TooLarge, fault.UnsupportedMedia, fault.Invalid:
		return &Failure{Code: known.Code, Hint: known.Detail, At: at}, true
	}
	return nil, false
}

// failing reports whether s cannot be read for good: a failure that somebody must mend counts at
// once, any other only from the third in a row on.
func (s *Source) failing() bool {
	return s.Failure != nil && (!s.Failure.Transient || s.Failures >= tolerated)
}

// NextRefresh returns when s is to be read again, as it stands. chance, from 0 to below 1, spreads
// the refreshes by a tenth in both directions.
func (s *Source) NextRefresh(now time.Time, chance float64) time.Time {
	wait := refreshEvery
	switch {
	case s.Failure != nil && s.Failure.Transient:
		wait = longestRetry
		if n := s.Failures - 1; n < 9 { // beyond, it is longer anyway
			wait = min(firstRetry<<max(n, 0), longestRetry)
		}
	case s.Drift.Level == Breaking && s.Failure == nil:
		wait = confirmAfter
	}
	return now.Add(time.Duration(float64(wait) * (0.9 + chance/5)))
}

// MayRefresh returns nil if by may have s read anew now.
func (s *Source) MayRefresh(by identity.Actor) error {
	if err := s.Allow(by, Use); err != nil {
		return err
	}
	if s.Paused != "" {
		return ErrPaused
	}
	return nil
}

// Due notes that by wants s read again at once, or as soon as interval has passed since it was read last, whatever
// came of that.
func (s *Source) Due(by identity.Actor, interval time.Duration) error {
	if err := s.MayRefresh(by); err != nil {
		return err
	}
	s.NextRefreshAt = by.At
	for _, ended := range []time.Time{s.LastRefreshedAt, s.failedAt()} {
		if free := ended.Add(interval); !ended.IsZero() && free.After(s.NextRefreshAt) {
			s.NextRefreshAt = free
		}
	}
	return nil
}

// failedAt is when the last refresh failed; zero if it did not.
func (s *Source) failedAt() time.Time {
	if s.Failure == nil {
		return time.Time{}
	}
	return s.Failure.At
}

// Outcome is what a refresh found: a reading, or why there is none.
type Outcome struct {
	Of      int64 // Source.Revision when the refresh began
	Reading Reading
	Failure *Failure
}

// Refreshed notes an outcome, and reports whether it counts: not if s changed since the refresh
// began, for then it says nothing of what s is by now. t is nil if the org has the type no more.
// chance is as in NextRefresh.
func (s *Source) Refreshed(by identity.Actor, t *Type, o Outcome, chance float64) (counts bool) {
	if s.Revision != o.Of { // a pause counts too
		return false
	}
	if t == nil {
		t = &Type{}
	}
	before := s.Status()
	if s.Failure = o.Failure; o.Failure != nil {
		s.Failures++
		if s.failing() && before != Failing {
			s.Record(by, "source.failing", string(s.ID), map[string]any{"code": o.Failure.Code})
			s.touch(by)
		}
	} else {
		if s.Failures = 0; before == Failing {
			s.Record(by, "source.recovered", string(s.ID), nil)
			s.touch(by)
		}
		s.LastRefreshedAt, s.RowEstimate = by.At, known(o.Reading.RowEstimate, s.RowEstimate)
		if through := o.Reading.Location.Connection; s.Location.Connection == "" && through != "" {
			s.Location.Connection = through
			s.touch(by)
		}
		s.observe(by, s.drift(t, o.Reading.Columns))
	}
	if s.Paused == "" {
		s.NextRefreshAt = s.NextRefresh(by.At, chance)
	}
	return true
}

// observe notes the drift that a refresh found, and pauses s if it is breaking for the second time in
// a row: tables are replaced, and half-written ones are read.
func (s *Source) observe(by identity.Actor, d Drift) {
	if d.Level == Breaking {
		d.Seen = s.Drift.Seen + 1
	}
	news := !d.same(s.Drift)
	if s.Drift = d; news {
		s.Record(by, "source.drifted", string(s.ID), map[string]any{"level": d.Level, "columns": len(d.Columns)})
		s.touch(by)
	}
	if d.Seen >= breaksSeen {
		s.Pause(by, BreakingDrift)
	}
}

// Pause stops the refreshes of s, and reports whether it was for another reason that it stood still,
// or for none. Its queued jobs are for the caller to cancel; a running one finds another revision.
func (s *Source) Pause(by identity.Actor, why PauseReason) bool {
	if s.Paused == why {
		return false
	}
	s.Paused, s.NextRefreshAt = why, time.Time{}
	s.Record(by, "source.paused", string(s.ID), map[string]any{"reason": why})
	s.touch(by)
	return true
}

// Reconnect ends the pause that the revocation of s's connection began, and reports whether s is to
// be read again. If the connection leads elsewhere by now, s stays paused until its owner has looked
// at it.
func (s *Source) Reconnect(by identity.Actor, elsewhere bool) bool {
	switch {
	case s.Paused != ConnectionRevoked:
		return false
	case elsewhere:
		s.Pause(by, ConnectionChanged)
		return false
	}
	s.Record(by, "source.resumed", string(s.ID), nil)
	s.Paused, s.Failure, s.Failures, s.NextRefreshAt = "", nil, 0, by.At
	s.touch(by)
	return true
}
