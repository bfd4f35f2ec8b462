package connections

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

const (
	// pollInterval is the interval at which a credential's user checks whether it is still valid. This interval and the
	// time to close a connection keep a revocation within two seconds.
	pollInterval = 250 * time.Millisecond

	// revokeGrace is the time that a revocation waits before it returns: a caller who read the credential before
	// its erasure, and has not dialled yet, has checked again within this time.
	revokeGrace = 3 * pollInterval
)

// Use calls do with what a connection reaches and its credential, which is readable until do returns.
// The context of do ends with connection.ErrCredentialChanged as soon as the credential is replaced or
// erased; Use then returns that error, whatever do returned. Requires the member role.
func (s *Service) Use(
	ctx context.Context, by identity.Actor, id connection.ID,
	call func(context.Context, ports.Warehouse, ports.Target) error,
) error {
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
	return s.whileCurrent(ctx, by, id, revision, func(ctx context.Context) error {
		return call(ctx, s.deps.Warehouses[c.Kind], s.target(by, credential))
	})
}

func (s *Service) target(by identity.Actor, credential connection.Credential) ports.Target {
	offer, limits := s.deps.Offers(by.Org), ports.DefaultLimits()
	limits.Connect = cmp.Or(offer.Timeouts.Connect, limits.Connect)
	limits.Statement = credential.StatementLimit(cmp.Or(offer.Timeouts.Statement, limits.Statement))
	limits.Total = cmp.Or(offer.Timeouts.Total, limits.Total)
	return ports.Target{
		Workspace:  by.Workspace,
		Credential: credential,
		OAuth:      offer.Google,
		Egress:     offer.Egress,
		Limits:     limits,
	}
}

// open returns the stored credential and its revision. Call it immediately before the credential is
// used, so that a connection that has just been revoked is not dialled.
func (s *Service) open(
	ctx context.Context, by identity.Actor, c *connection.Connection,
) (connection.Credential, int64, error) {
	return s.opened(ctx, s.connections, by, c)
}

// opened is open in a transaction.
func (s *Service) opened(
	ctx context.Context, all ports.Connections, by identity.Actor, c *connection.Connection,
) (connection.Credential, int64, error) {
	sealed, err := all.Sealed(ctx, by.Workspace, c.ID)
	if err != nil {
		return connection.Credential{}, 0, err
	}
	plain, err := s.deps.Sealer.Open(sealed.Sealed, sealed.Place(c))
	if err != nil {
		return connection.Credential{}, 0, fmt.Errorf("the credential of %s: %w", c.ID, err)
	}
	credential, err := connection.ParseStored(c.Kind, plain)
	if err != nil {
		// Not %w: the caller must not take it for an error in the request.
		return connection.Credential{}, 0,
			fmt.Errorf("the stored credential of %s: %v", c.ID, err) //nolint:errorlint // see above
	}
	return credential, sealed.Revision, nil
}

// whileCurrent runs do while a connection's credential has a revision. If the revision changes, it cancels do
// and returns connection.ErrCredentialChanged, or connection.ErrRevoked.
func (s *Service) whileCurrent(
	ctx context.Context, by identity.Actor, id connection.ID, revision int64, check func(context.Context) error,
) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		for tick := time.NewTicker(pollInterval); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			switch current, err := s.connections.Get(ctx, by.Workspace, id); {
			case err != nil, current.CredentialRevision == revision: // a revoked one can get a new credential
			case current.Status == connection.Revoked:
				end(connection.ErrRevoked)
			default:
				end(connection.ErrCredentialChanged)
			}
		}
	}()
	err := check(ctx)
	if cause := context.Cause(ctx); cause != nil { // later results say nothing about the warehouse
		return cause
	}
	return err
}
