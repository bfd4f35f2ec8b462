package connections

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// Reprobe tries a connection's stored credential, or the new one if fresh is not zero. A trial of the stored one may
// have failed. A new one's trial has passed, or the error is a *connection.ProbeError. watch is as in Probe.
func (s *Service) Reprobe(
	ctx context.Context, by identity.Actor, id connection.ID, fresh connection.Entry, watch func(connection.Check),
) (connection.Trial, error) {
	c, err := s.connections.Get(ctx, by.Workspace, id)
	if err != nil {
		return connection.Trial{}, err
	}
	if err := c.MayTry(by, !fresh.IsZero()); err != nil {
		return connection.Trial{}, err
	}
	if err := s.offered(by.Org, c.Kind); err != nil {
		return connection.Trial{}, err
	}
	if fresh.IsZero() {
		if err := s.admit(ctx, by, connection.Testing, c.Target()); err != nil {
			return connection.Trial{}, err
		}
		return s.tryStored(ctx, by, c, watch)
	}
	credential, err := parse(c.Kind, fresh)
	if err != nil {
		return connection.Trial{}, err
	}
	target := credential.Target(by.Org)
	if err := s.admit(ctx, by, connection.Probing, target); err != nil {
		return connection.Trial{}, err
	}
	if fresh.Consent != nil {
		if credential, err = s.exchange(ctx, by, c.Kind, *fresh.Consent); err != nil {
			return connection.Trial{}, err
		}
	}
	t, err := s.try(ctx, by, c, c.CredentialRevision, credential, watch)
	if err := errors.Join(err, s.refused(ctx, by, target, t.Report)); err != nil {
		return connection.Trial{}, err
	}
	return s.sealed(by, t, credential)
}

// Verify stores the result of Reprobe. A new credential that works resumes the connection's paused
// sources, each with a refresh. If it has another target, they wait for their owners.
func (s *Service) Verify(
	ctx context.Context, by identity.Actor, t connection.Trial,
) (*connection.Connection, error) {
	limits, err := s.deps.Quotas(ctx, by)
	if err != nil {
		return nil, err
	}
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (*connection.Connection, error) {
		var previous connection.Connection
		c, err := tx.Connections.Update(ctx, by.Workspace, t.ID, func(c *connection.Connection, others int) error {
			previous = *c
			return c.Verify(by, t, others)
		})
		if err != nil {
			return nil, err
		}
		if previous.Status == connection.Revoked {
			if err := tx.CheckUsage(ctx, by, limits, quota.Connections); err != nil {
				return nil, err
			}
		}
		if t.New != nil {
			if err := reconnect(ctx, tx, by, t.ID, !previous.LeadsTo(t.New.Credential)); err != nil {
				return nil, err
			}
		}
		return c, checkLater(ctx, tx.Jobs, by, c) // a reactivated connection has no queued check
	})
}

// Check probes a connection in the background and queues its next check. by is the system. It returns
// nil if the connection is gone or may no longer be used.
func (s *Service) Check(ctx context.Context, by identity.Actor, id connection.ID) error {
	c, err := s.beginCheck(ctx, by, id)
	if errors.Is(err, connection.ErrNotFound) || errors.Is(err, connection.ErrRevoked) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.offered(by.Org, c.Kind) != nil {
		return nil
	}
	t, err := s.tryStored(ctx, by, c, nil)
	if errors.Is(err, connection.ErrCredentialChanged) || errors.Is(err, connection.ErrRevoked) {
		return nil
	}
	if errors.Is(err, connection.ErrTooManyReads) {
		return job.Postponed(err)
	}
	if err != nil {
		return err
	}
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		c, err := tx.Connections.Update(ctx, by.Workspace, id, func(c *connection.Connection, _ int) error {
			c.Check(by, t)
			return nil
		})
		if err != nil || c.Status == connection.Revoked {
			return err
		}
		return checkLater(ctx, tx.Jobs, by, c) // if it failed, sooner than planned
	})
}

// beginCheck returns a check's connection, and queues the next one: now, so that a check that fails permanently does
// not end the series; and with the connection locked, so that a concurrent revocation either comes first
// (connection.ErrRevoked) or finds the job to cancel.
func (s *Service) beginCheck(
	ctx context.Context, by identity.Actor, id connection.ID,
) (*connection.Connection, error) {
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (*connection.Connection, error) {
		c, err := tx.Connections.Lock(ctx, by.Workspace, id)
		if err != nil {
			return nil, err
		}
		if err := c.MayTry(by, false); err != nil {
			return nil, err
		}
		return c, checkLater(ctx, tx.Jobs, by, c)
	})
}

// tryStored probes the stored credential.
func (s *Service) tryStored(
	ctx context.Context, by identity.Actor, c *connection.Connection, watch func(connection.Check),
) (connection.Trial, error) {
	credential, revision, err := s.open(ctx, by, c)
	if err != nil {
		return connection.Trial{}, err
	}
	return s.try(ctx, by, c, revision, credential, watch)
}

// try probes a credential while the connection's credential has a revision.
func (s *Service) try(
	ctx context.Context, by identity.Actor, c *connection.Connection, revision int64, credential connection.Credential,
	watch func(connection.Check),
) (connection.Trial, error) {
	t := connection.Trial{ID: c.ID, Of: revision, At: by.At}
	err := s.whileCurrent(ctx, by, c.ID, revision, func(ctx context.Context) (err error) {
		t.Report, err = s.reach(ctx, by, credential, watch)
		return err
	})
	return t, err
}
