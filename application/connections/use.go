package connections

import (
	"context"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

const (
	// lookAgain is how often whoever uses a credential asks whether it still may. Together with what a
	// cut connection takes to close it keeps a revocation within two seconds.
	lookAgain = 250 * time.Millisecond

	// calm is how long a revocation waits before it is answered: whoever read the credential before it
	// was erased, and has dialled nobody yet, has asked again by then.
	calm = 3 * lookAgain
)

// Use lends do what a connection reaches and its credential, in the clear until do returns. The
// context of do ends with connection.ErrCredentialChanged as soon as the credential is another one or
// none; that is Use's error then too, whatever do made of it. Members may use a connection.
func (s *Service) Use(ctx context.Context, by identity.Actor, id connection.ID, do func(context.Context, ports.Warehouse, ports.Target) error) error {
	c, err := s.connections.Get(ctx, by.Workspace, id)
	if err != nil {
		return err
	}
	if err := c.MayTry(by, false); err != nil {
		return err
	}
	if err := s.offered(by.Org, c.Kind); err != nil {
		return err
	}
	credential, revision, err := s.open(ctx, by, c)
	if err != nil {
		return err
	}
	return s.fenced(ctx, by, id, revision, func(ctx context.Context) error {
		return do(ctx, s.warehouses[c.Kind], s.target(by, credential))
	})
}

func (s *Service) target(by identity.Actor, credential connection.Credential) ports.Target {
	return ports.Target{Workspace: by.Workspace, Credential: credential, Egress: s.offers(by.Org).Egress, Limits: ports.DefaultLimits()}
}

// open reads the stored credential, and tells its revision. It is for the last moment before the
// credential is used: a connection that was revoked by then is not dialled.
func (s *Service) open(ctx context.Context, by identity.Actor, c *connection.Connection) (connection.Credential, int64, error) {
	stored, err := s.connections.Sealed(ctx, by.Workspace, c.ID)
	if err != nil {
		return connection.Credential{}, 0, err
	}
	plain, err := s.sealer.Open(stored.Sealed, stored.Place(c))
	if err != nil {
		return connection.Credential{}, 0, fmt.Errorf("the credential of %s: %w", c.ID, err)
	}
	credential, err := connection.ParseCredential(c.Kind, plain)
	if err != nil {
		// Not %w: to the caller it is no answer about what was submitted.
		return connection.Credential{}, 0, fmt.Errorf("the stored credential of %s: %v", c.ID, err) //nolint:errorlint // see above
	}
	return credential, stored.Revision, nil
}

// fenced runs do as long as the credential of a connection has a revision, and cuts it short when it
// has not: connection.ErrCredentialChanged.
func (s *Service) fenced(ctx context.Context, by identity.Actor, id connection.ID, revision int64, do func(context.Context) error) error {
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
			if now, err := s.connections.Get(ctx, by.Workspace, id); err == nil && now.CredentialRevision != revision {
				end(connection.ErrCredentialChanged)
			}
		}
	}()
	err := do(ctx)
	if cause := context.Cause(ctx); cause != nil { // what is said by then is not about the warehouse
		return cause
	}
	return err
}
