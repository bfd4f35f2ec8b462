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

// RefreshJob is the kind of job that reads a source again. Its subject is the source.
const RefreshJob job.Kind = "source.refresh"

const (
	refreshEvery = 24 * time.Hour
	confirmAfter = 10 * time.Minute // after a drift that would pause the source
	firstRetry   = time.Minute      // after a transient failure; doubles each time
	longestRetry = 6 * time.Hour

	tolerated  = 3 // consecutive transient failures before the source is failing
	breaksSeen = 2 // consecutive refreshes with a breaking drift before the source is paused
)

// Failure is why a source could not be read.
type Failure struct {
	Code      string // as connections and sheets define it
	Transient bool   // it may resolve without a change
	Hint      string // how to fix it
	At        time.Time
}

// FailureOf returns why reading through a connection of kind k, or a sheet, failed with err. ok is false if err is not
// about the source.
func FailureOf(err error, k connection.Kind, now time.Time) (f *Failure, ok bool) {
	if code, isCode := errors.AsType[connection.Code](err); isCode {
		failure := k.Failure(code, now)
		f = &Failure{Code: string(failure.Code), Transient: failure.Category != connection.Config, Hint: failure.Hint,
			At: now}
		if unreadable, ok := errors.AsType[*connection.UnreadableError](err); ok {
			f.Hint = unreadable.Hint()
		}
		return f, true
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil, false
	}
	failure, isFault := errors.AsType[*fault.Error](err)
	if !isFault {
		return nil, false
	}
	switch failure.Kind {
	case fault.RateLimited, fault.Upstream, fault.UpstreamTimeout:
		return &Failure{Code: failure.Code, Transient: true, Hint: failure.Detail, At: now}, true
	case fault.Forbidden, fault.NotFound, fault.TooLarge, fault.UnsupportedMedia, fault.Invalid:
		return &Failure{Code: failure.Code, Hint: failure.Detail, At: now}, true
	}
	return nil, false
}

// failing reports whether s counts as unreadable: a failure that a person must fix counts at once, a
// transient one only when it is the third in a row.
func (s *Source) failing() bool {
	return s.Failure != nil && (!s.Failure.Transient || s.Failures >= tolerated)
}

// NextRefresh returns when to read s again. chance, from 0 to below 1, varies the interval by up to a
// tenth in both directions.
func (s *Source) NextRefresh(now time.Time, chance float64) time.Time {
	wait := refreshEvery
	switch {
	case s.Failure != nil && s.Failure.Transient:
		wait = longestRetry
		if n := s.Failures - 1; n < 9 { // above, the wait is longer anyway
			wait = min(firstRetry<<max(n, 0), longestRetry)
		}
	case s.Drift.Level == Breaking && s.Failure == nil:
		wait = confirmAfter
	}
	return now.Add(time.Duration(float64(wait) * (0.9 + chance/5)))
}

// MayRefresh returns nil if by may request a refresh of s now.
func (s *Source) MayRefresh(by identity.Actor) error {
	if err := s.Allow(by, Use); err != nil {
		return err
	}
	if s.Paused != "" {
		return ErrPaused
	}
	return nil
}

// Due schedules a refresh that by requested: at once, or, if s was read less than interval ago, when
// interval has passed since. A failed read counts too.
func (s *Source) Due(by identity.Actor, interval time.Duration) error {
	if err := s.MayRefresh(by); err != nil {
		return err
	}
	s.NextRefreshAt = by.At
	for _, end := range []time.Time{s.LastRefreshedAt, s.failedAt()} {
		if free := end.Add(interval); !end.IsZero() && free.After(s.NextRefreshAt) {
			s.NextRefreshAt = free
		}
	}
	return nil
}

// failedAt returns when the last refresh failed; zero if it did not.
func (s *Source) failedAt() time.Time {
	if s.Failure == nil {
		return time.Time{}
	}
	return s.Failure.At
}

// Outcome is a refresh's result: a reading, or why there is none.
type Outcome struct {
	Of      int64 // Source.Revision when the refresh started
	Reading Reading
	Failure *Failure
}

// Refreshed applies an outcome, and reports whether it counts. It does not count if s changed since the
// refresh started, because the result may no longer apply. t is nil if the org no longer has the type.
// chance is as in NextRefresh.
func (s *Source) Refreshed(by identity.Actor, t *Type, o Outcome, chance float64) (counts bool) {
	if s.Revision != o.Of { // a pause is a change too
		return false
	}
	if t == nil {
		t = &Type{}
	}
	previous := s.Status()
	if s.Failure = o.Failure; o.Failure != nil {
		s.Failures++
		if s.failing() && previous != Failing {
			s.Record(by, "source.failing", string(s.ID), map[string]any{"code": o.Failure.Code})
			s.touch(by)
		}
	} else {
		if s.Failures = 0; previous == Failing {
			s.Record(by, "source.recovered", string(s.ID), nil)
			s.touch(by)
		}
		s.LastRefreshedAt, s.RowEstimate = by.At, known(o.Reading.RowEstimate, s.RowEstimate)
		if connection := o.Reading.Location.Connection; s.Location.Connection == "" && connection != "" {
			s.Location.Connection = connection
			s.touch(by)
		}
		if row := o.Reading.Location.Sheet.HeaderRow; row != 0 && row != s.Location.Sheet.HeaderRow {
			s.Location.Sheet.HeaderRow = row // it was found elsewhere
			s.touch(by)
		}
		s.observe(by, s.drift(t, o.Reading.Columns))
	}
	if s.Paused == "" {
		s.NextRefreshAt = s.NextRefresh(by.At, chance)
	}
	return true
}

// observe records the drift that a refresh found, and pauses s if it is breaking for the second time in
// a row. The first time may be a table that is being replaced or is half-written.
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

// Pause stops the refreshes of s, and reports whether that changed the reason of its pause. The caller
// must cancel its queued jobs; a running one finds another revision.
func (s *Source) Pause(by identity.Actor, reason PauseReason) bool {
	if s.Paused == reason {
		return false
	}
	s.Paused, s.NextRefreshAt = reason, time.Time{}
	s.Record(by, "source.paused", string(s.ID), map[string]any{"reason": reason})
	s.touch(by)
	return true
}

// Reconnect follows a new credential of s's connection: it ends the pause that started when the connection was revoked,
// and reports whether s must be read again, as it must if the last read failed. If the connection now has another
// target, a paused s stays so until its owner has mapped it again.
func (s *Source) Reconnect(by identity.Actor, elsewhere bool) bool {
	switch {
	case s.Paused == "" && s.Failure != nil:
		s.NextRefreshAt = by.At
		return true
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
