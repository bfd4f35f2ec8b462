package connections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// lookAgain is how often whoever uses a credential asks whether it still may. Together with what a
// cut connection takes to close it keeps a revocation within two seconds.
const lookAgain = 500 * time.Millisecond

// Reprobe tries a connection's stored credential, or the new one if fresh is not nil. Its trial may
// have failed; that of a new credential has passed, or the error is a *connection.ProbeError.
func (s *Service) Reprobe(ctx context.Context, by identity.Actor, id connection.ID, fresh []byte) (connection.Trial, error) {
	c, err := s.connections.Get(ctx, by.Workspace, id)
	if err != nil {
		return connection.Trial{}, err
	}
	if err := c.MayTry(by, fresh != nil); err != nil {
		return connection.Trial{}, err
	}
	if err := s.offered(by.Org, c.Kind); err != nil {
		return connection.Trial{}, err
	}
	if fresh == nil {
		if err := s.admit(ctx, by, c.Target()); err != nil {
			return connection.Trial{}, err
		}
		return s.tryStored(ctx, by, c)
	}
	credential, err := connection.ParseCredential(c.Kind, fresh)
	if err != nil {
		return connection.Trial{}, err
	}
	if err := s.admit(ctx, by, credential.Target(by.Org)); err != nil {
		return connection.Trial{}, err
	}
	t, err := s.fenced(ctx, by, c, c.CredentialRevision, credential)
	if err != nil {
		return connection.Trial{}, err
	}
	return s.sealed(by, t, credential)
}

// Verify stores what Reprobe found.
func (s *Service) Verify(ctx context.Context, by identity.Actor, t connection.Trial) (c *connection.Connection, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if c, err = tx.Connections.Update(ctx, by.Workspace, t.ID, func(c *connection.Connection, others int) error { return c.Verify(by, t, others) }); err != nil {
			return err
		}
		return checkLater(ctx, tx.Jobs, by, c) // nothing is queued for one that comes back
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Check probes a connection that nobody asked about, and sees to it that it is probed again. by is
// the system. A connection that is gone, or is not to be used any more, is no error.
func (s *Service) Check(ctx context.Context, by identity.Actor, id connection.ID) error {
	c, err := s.connections.Get(ctx, by.Workspace, id)
	if errors.Is(err, connection.ErrNotFound) || err == nil && c.Status == connection.Revoked {
		return nil
	}
	if err != nil {
		return err
	}
	// First, so that a check which fails for good does not end all that would follow it.
	if err := checkLater(ctx, s.jobs, by, c); err != nil {
		return err
	}
	if s.offered(by.Org, c.Kind) != nil {
		return nil
	}
	t, err := s.tryStored(ctx, by, c)
	if errors.Is(err, connection.ErrCredentialChanged) || errors.Is(err, connection.ErrRevoked) {
		return nil
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
		return checkLater(ctx, tx.Jobs, by, c) // sooner than was thought, if it failed
	})
}

// tryStored probes the stored credential, which is in the clear from here until the probe has ended.
// It is read at the last moment: a connection that was revoked by then is not dialled.
func (s *Service) tryStored(ctx context.Context, by identity.Actor, c *connection.Connection) (connection.Trial, error) {
	sealed, revision, err := s.connections.Sealed(ctx, by.Workspace, c.ID)
	if err != nil {
		return connection.Trial{}, err
	}
	plain, err := s.sealer.Open(sealed, connection.Seal(c.Org, c.Workspace, c.ID, c.Kind))
	if err != nil {
		return connection.Trial{}, fmt.Errorf("the credential of %s: %w", c.ID, err)
	}
	credential, err := connection.ParseCredential(c.Kind, plain)
	if err != nil {
		// Not %w: to the caller it is no answer about what was submitted.
		return connection.Trial{}, fmt.Errorf("the stored credential of %s: %v", c.ID, err) //nolint:errorlint // see above
	}
	return s.fenced(ctx, by, c, revision, credential)
}

// fenced probes a credential as long as that of the connection has a revision, and cuts the probe
// short when it has not: connection.ErrCredentialChanged.
func (s *Service) fenced(ctx context.Context, by identity.Actor, c *connection.Connection, revision int64, credential connection.Credential) (connection.Trial, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		for tick := time.NewTicker(lookAgain); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			if now, err := s.connections.Get(ctx, by.Workspace, c.ID); err == nil && now.CredentialRevision != revision {
				end(connection.ErrCredentialChanged)
			}
		}
	}()
	t := connection.Trial{ID: c.ID, Of: revision, At: by.At}
	var err error
	t.Report, err = s.reach(ctx, by.Org, credential)
	return t, err
}
