package server

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

// accessCheck is the interval at which the access of the readers of open streams is checked. A stream ends within
// a second after its reader has lost it, and the check itself takes a part of that.
const accessCheck = 500 * time.Millisecond

// trackStream ends s when its reader loses the access, or when the server drains unless s is finite, until release is
// called.
func (a *API) trackStream(s *Stream) (release func()) {
	s.caller, s.Observation.tracked = s.By, true
	o := &a.openStreams
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == 0 {
		o.all = map[*Stream]bool{}
		ctx, stop := context.WithCancel(context.Background()) // also while the server drains
		o.stop = stop
		go a.recheckLoop(ctx)
	}
	o.all[s] = true
	stop := func() bool { return false }
	if !s.isFinite {
		stop = context.AfterFunc(a.streams, func() { s.End(context.Canceled) })
	}
	return func() {
		stop()
		s.mu.Lock()
		s.finished = true
		if !s.broken {
			_ = s.controller.SetWriteDeadline(time.Now().Add(streamWrite)) // of the end of the response
		}
		if lost, ok := errors.AsType[*fault.Error](s.ended); ok {
			s.Observation.Code = lost.Code // in the log of the request, whose status does not show it
		}
		s.mu.Unlock()
		o.mu.Lock()
		defer o.mu.Unlock()
		if delete(o.all, s); len(o.all) == 0 {
			o.stop()
		}
	}
}

// recheckLoop checks the readers of all streams until the context ends.
func (a *API) recheckLoop(ctx context.Context) {
	check := time.NewTicker(accessCheck)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-check.C:
		}
		if err := a.Services.Seats.Keep(ctx, a.Now()); err != nil && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "the node could not store that it is alive; it tries again", "error", err)
		}
		for id, streams := range a.openStreams.byOrg() {
			if err := a.recheckOrg(ctx, id, streams); err != nil && ctx.Err() == nil {
				a.Log.WarnContext(ctx, "the readers of streams could not be checked; it is tried again",
					"streams", len(streams), "error", err)
			}
		}
	}
}

// recheckOrg ends an org's streams whose readers have lost the access. An outage ends no stream.
func (a *API) recheckOrg(ctx context.Context, id identity.OrgID, streams []*Stream) error {
	ctx, cancel := context.WithTimeout(ctx, a.Config.RequestTimeout)
	defer cancel()
	org, ok := a.Orgs().ByID(id)
	if !ok {
		for _, s := range streams {
			s.End(identity.ErrUnauthenticated)
		}
		return nil
	}
	var callers []*Stream
	visitors := map[*Visitors][]*Stream{}
	for _, s := range streams {
		if s.visitors == nil {
			callers = append(callers, s)
		} else {
			visitors[s.visitors] = append(visitors[s.visitors], s)
		}
	}
	errs := []error{a.recheckCallers(ctx, org, callers)}
	for v, streams := range visitors {
		errs = append(errs, v.Recheck(ctx, org, streams))
	}
	return errors.Join(errs...)
}

// recheckCallers checks the streams of callers with a credential.
func (a *API) recheckCallers(ctx context.Context, org *identity.Org, streams []*Stream) error {
	if len(streams) == 0 {
		return nil
	}
	proofs := make([]session.Proof, len(streams))
	for i, s := range streams {
		proofs[i] = *s.proof
	}
	now := a.Now()
	principals, err := a.Services.Tickets.ResolveProofs(ctx, org, proofs, now)
	if err != nil {
		return err
	}
	for i, s := range streams {
		by, err := actorOf(principals[i], s.Observation, now)
		if err == nil {
			err = s.checkSecondFactor(org, by)
		}
		if err == nil {
			err = s.recheck(ctx, by)
		}
		if err != nil && !IsOutage(err) {
			s.End(err)
		}
	}
	return nil
}

// recheck returns the error that the operation would return to its caller, who is now by.
func (s *Stream) recheck(ctx context.Context, by identity.Actor) error {
	if by.User != s.By.User || by.Operator != s.By.Operator {
		return identity.ErrUnauthenticated
	}
	if role := identity.ParseRole(
		s.Operation.Access.Needs,
	); s.Operation.Access.Area == "workspace" && by.Role < role {
		return identity.Needs(role)
	}
	s.mu.Lock()
	s.caller = by
	s.mu.Unlock()
	return by.RequireScope(s.Operation.Scope)
}

// IsOutage reports whether an error is unrelated to a caller's access.
func IsOutage(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return !ok || f.Kind == fault.Unavailable
}

const (
	streamWrite = 10 * time.Second // a client that reads nothing for this long is disconnected
)

// End ends the stream, also while it waits for its reader. The error is what a new request would get.
func (s *Stream) End(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished || s.ended != nil {
		return
	}
	s.ended = cause
	deadline := time.Now()
	if _, ok := s.Body.(Explainer); ok {
		deadline = deadline.Add(lastWrite)
	}
	_ = s.controller.SetWriteDeadline(deadline)
	s.cancel(cause)
}

// EndedBy returns the error of End; nil while the stream goes on, or after the response.
func (s *Stream) EndedBy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return nil
	}
	return s.ended
}

// Current returns the caller with their role as of the last check.
func (s *Stream) Current() identity.Actor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.caller
}
