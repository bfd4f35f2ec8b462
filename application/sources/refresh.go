package sources

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// pollInterval is the interval at which a refresh checks whether its source is unchanged.
const pollInterval = 500 * time.Millisecond

// errOvertaken ends a refresh whose source was removed, paused or mapped again.
var errOvertaken = errors.New("the source has changed since its refresh began")

// refreshOf returns the job for a source's next refresh.
func refreshOf(src *source.Source, by identity.Actor) job.Job {
	return job.New(by, source.RefreshJob, string(src.ID), src.NextRefreshAt)
}

// RequestRefresh queues a source's refresh as soon as possible, but not sooner than Limits.Refresh after its last
// refresh ended. If a refresh is running, another one follows it.
func (s *Service) RequestRefresh(ctx context.Context, by identity.Actor, id source.ID) (out Seen, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		src, err := tx.Sources.Update(ctx, by.Workspace, id,
			func(src *source.Source) error { return src.Due(by, s.deps.Limits.Refresh) })
		if err != nil {
			return err
		}
		out = s.seen(src)
		return tx.Jobs.Enqueue(ctx, refreshOf(src, by))
	})
	if err != nil {
		return Seen{}, err
	}
	return out, nil
}

// Refresh reads a source, records the result, and queues the next refresh. by is the system. It returns
// nil for a source that is gone or paused. For one that cannot be read it returns an error marked
// job.Final, because the source itself schedules the retry.
func (s *Service) Refresh(ctx context.Context, by identity.Actor, id source.ID) error {
	chance := rand.Float64() //nolint:gosec // jitter needs no secrecy
	src, err := s.begin(ctx, by, id, chance)
	if errors.Is(err, source.ErrNotFound) || errors.Is(err, source.ErrPaused) {
		return nil
	}
	if err != nil {
		return err
	}
	if w, err := s.deps.Workspaces.Find(ctx, by.Org, string(by.Workspace)); err != nil || !w.DeletedAt.IsZero() {
		return err // the workspace may be restored; until then nothing in it is read
	}
	o := source.Outcome{Of: src.Revision}
	o.Reading, err = s.readWhile(ctx, by, src)
	if errors.Is(err, connection.ErrTooManyReads) {
		return job.Postponed(err)
	}
	if err != nil && !s.failed(ctx, by, src, err, &o) {
		if errors.Is(err, errOvertaken) || errors.Is(err, connection.ErrCredentialChanged) ||
			errors.Is(err, connection.ErrRevoked) {
			return nil // that change has queued the next refresh, or ended them
		}
		return err
	}
	found := o.Reading.Location.Connection
	if found == src.Location.Connection {
		found = ""
	}
	switch err := s.note(ctx, by, id, found, o, chance); {
	case errors.Is(err, connection.ErrRevoked):
		return nil // as if the pause had come while the sheet was read
	case err != nil:
		return err
	}
	if f := o.Failure; f != nil {
		return job.Final(fmt.Errorf("%s: %w", id, &fault.Error{Kind: fault.Upstream, Code: f.Code, Detail: f.Hint}))
	}
	return nil
}

// begin returns a refresh's source, and queues the next one: now, so that a refresh that fails permanently does not end
// the series; and with the source locked, so that a concurrent pause or detachment either comes first (source.ErrPaused
// or source.ErrNotFound) or finds the job to cancel.
func (s *Service) begin(
	ctx context.Context, by identity.Actor, id source.ID, chance float64,
) (*source.Source, error) {
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (*source.Source, error) {
		src, err := tx.Sources.Lock(ctx, by.Workspace, id)
		if err != nil {
			return nil, err
		}
		if src.Paused != "" {
			return nil, source.ErrPaused
		}
		return src, tx.Jobs.Enqueue(ctx, job.New(by, source.RefreshJob, string(id), by.At.Add(refreshLater(chance))))
	})
}

// refreshLater returns when a source is read again if this refresh does not complete.
func refreshLater(chance float64) time.Duration {
	return new(source.Source).NextRefresh(time.Time{}, chance).Sub(time.Time{})
}

// failed records in o why reading failed, and reports whether that is about the source.
func (s *Service) failed(
	ctx context.Context, by identity.Actor, src *source.Source, err error, o *source.Outcome,
) bool {
	if errors.Is(err, connection.ErrCredentialChanged) || errors.Is(err, connection.ErrRevoked) ||
		errors.Is(err, errOvertaken) || context.Cause(ctx) != nil {
		return false
	}
	kind := connection.Kind("")
	if id := src.Location.Connection; id != "" {
		if c, err := s.deps.Connections.Get(ctx, by.Workspace, id); err == nil {
			kind = c.Kind
		}
	}
	var ok bool
	o.Failure, ok = source.FailureOf(err, kind, by.At)
	return ok
}

// readWhile reads a source and estimates its rows while its revision is unchanged; otherwise errOvertaken.
func (s *Service) readWhile(ctx context.Context, by identity.Actor, src *source.Source) (r source.Reading, err error) {
	ctx, end := s.whileUnchanged(ctx, by, src)
	defer end()
	q := connection.PreviewQuery{Estimate: true}
	for _, c := range src.Columns { // also those beyond the first ones, which would be missing
		q.Columns = append(q.Columns, c.Name)
	}
	r, err = s.read(ctx, by, src.Location, q)
	if err == nil && src.LostHeader(r.Columns) {
		r, err = s.searched(ctx, by, src, r)
	}
	if cause := context.Cause(ctx); cause != nil {
		return source.Reading{}, cause
	}
	return r, err
}

// whileUnchanged returns a context that ends with errOvertaken when src has another revision, or is gone.
func (s *Service) whileUnchanged(
	ctx context.Context, by identity.Actor, src *source.Source,
) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for tick := time.NewTicker(pollInterval); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			latest, err := s.sources.Get(ctx, by.Workspace, src.ID)
			if errors.Is(err, source.ErrNotFound) || (err == nil && latest.Revision != src.Revision) {
				cancel(errOvertaken)
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// searched reads a sheet whose header is no longer in its row, from the row where it is now. It returns there, what was
// read before, if no row of the sheet's first ones is the header.
func (s *Service) searched(
	ctx context.Context, by identity.Actor, src *source.Source, reading source.Reading,
) (source.Reading, error) {
	location := src.Location
	location.Sheet.HeaderRow = 0
	sheet, connection, err := s.showSheet(ctx, by, location)
	if err != nil {
		return source.Reading{}, err
	}
	row := src.FindHeader(sheet.Preview)
	if row == 0 {
		return reading, nil
	}
	if row != sheet.Preview.HeaderRow {
		location.Sheet.HeaderRow = row
		if sheet, connection, err = s.showSheet(ctx, by, location); err != nil {
			return source.Reading{}, err
		}
		if src.FindHeader(sheet.Preview) != row {
			return reading, nil // empty rows above it had changed its number
		}
	}
	location.Connection = connection
	return ofSheet(location, sheet), nil
}

// note stores a refresh's outcome, if it still counts, and queues the next one, unless the outcome pauses the source.
// accountID is a connection that read the source for the first time.
func (s *Service) note(
	ctx context.Context, by identity.Actor, id source.ID, accountID connection.ID, o source.Outcome, chance float64,
) error {
	err := s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := lockConnection(ctx, tx, by, accountID); err != nil {
			return err
		}
		counts := false
		src, err := tx.Sources.Update(ctx, by.Workspace, id, func(src *source.Source) error {
			counts = src.Refreshed(by, s.typeOf(src.Org, src.Type), o, chance)
			return nil
		})
		if err != nil || !counts {
			return err
		}
		if src.Paused != "" {
			_, err := tx.Jobs.Cancel(ctx, by.Workspace, string(id))
			return err
		}
		if src.ChangeKey != "" && o.Failure == nil {
			if err := tx.Jobs.Enqueue(ctx, job.New(by, source.CompareJob, string(id), by.At)); err != nil {
				return err
			}
		}
		return tx.Jobs.Enqueue(ctx, refreshOf(src, by)) // sooner than planned, if it failed or drifted
	})
	if errors.Is(err, source.ErrNotFound) {
		return nil
	}
	return err
}
