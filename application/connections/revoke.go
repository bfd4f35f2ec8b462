package connections

import (
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Revocation is a revocation's result.
type Revocation struct {
	Connection    *connection.Connection
	Paused        []source.Summary // sources that wait until the connection is reactivated, newest first
	CancelledJobs int

	// Withdrawn reports whether the service has ended the consent that was the credential; nil if the credential was
	// none. If false, the connection is revoked all the same, and the person can end the consent at the service.
	Withdrawn *bool
}

// Revoke ends a connection: in one transaction it erases the credential, pauses the sources that read through the
// connection, cancels the queued jobs of all of them, and records that its chats reply no more. Running work is
// interrupted and stores nothing, because its revisions have changed. When Revoke returns, no one opens a connection
// with the credential any more. Then it ends a consent at the service that it was given at.
func (s *Service) Revoke(
	ctx context.Context, by identity.Actor, id connection.ID, match revision.Match,
) (Revocation, error) {
	var grant consent
	out, err := ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (out Revocation, err error) {
		if out.Connection, err = tx.Connections.Update(ctx, by.Workspace, id,
			func(c *connection.Connection, _ int) error {
				previous := *c
				if err := c.Revoke(by, match); err != nil {
					return err
				}
				grant = s.consent(ctx, tx.Connections, by, &previous) // which is erased after this
				return nil
			}); err != nil {
			return out, err
		}
		if err := tx.Sources.UpdateThrough(ctx, by.Workspace, id, func(src *source.Source) error {
			src.Pause(by, source.ConnectionRevoked)
			out.Paused = append(out.Paused, src.Summary())
			return nil
		}); err != nil {
			return out, err
		}
		slices.Reverse(out.Paused)
		if err := silence(ctx, tx, by, id); err != nil {
			return out, err
		}
		subjects := []string{string(id)}
		for _, src := range out.Paused {
			subjects = append(subjects, string(src.ID))
		}
		for _, subject := range subjects {
			n, err := tx.Jobs.Cancel(ctx, by.Workspace, subject)
			if err != nil {
				return out, err
			}
			out.CancelledJobs += n
		}
		return out, nil
	})
	if err != nil {
		return Revocation{}, err
	}
	out.Withdrawn = s.withdraw(ctx, grant)
	select {
	case <-ctx.Done(): // the revocation is committed in any case
	case <-time.After(revokeGrace):
	}
	return out, nil
}

// silence records that the chats which reply through a revoked connection no longer do.
func silence(ctx context.Context, tx ports.Stores, by identity.Actor, id connection.ID) error {
	system := identity.System(by.Org, by.Workspace, "revoked connection", by.At)
	uses, err := tx.ChatLists.ConnectionUses(ctx, system, id)
	if err != nil {
		return err
	}
	for _, c := range uses {
		if _, err := tx.Chats.Update(ctx, by, c.ID, func(t *chat.Template) error {
			if t.Served().Reply.Connection == id {
				t.Replied(by, chat.Outcomes{Failures: 1, Code: connection.ErrRevoked.Code})
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// Rename gives a connection another name. Requires the admin role, unless by owns it.
func (s *Service) Rename(
	ctx context.Context, by identity.Actor, id connection.ID, match revision.Match, name string,
) (*connection.Connection, error) {
	return s.connections.Update(ctx, by.Workspace, id,
		func(c *connection.Connection, _ int) error { return c.Rename(by, match, name) })
}

// Confirm makes by the owner if a connection's owner has lost the role.
func (s *Service) Confirm(
	ctx context.Context, by identity.Actor, id connection.ID, match revision.Match,
) (*connection.Connection, error) {
	return s.connections.Update(ctx, by.Workspace, id,
		func(c *connection.Connection, _ int) error { return c.Confirm(by, match) })
}

// Erase removes a revoked connection's remaining data about its server.
func (s *Service) Erase(
	ctx context.Context, by identity.Actor, id connection.ID,
) (*connection.Connection, error) {
	return s.connections.Update(ctx, by.Workspace, id,
		func(c *connection.Connection, _ int) error { return c.Erase(by) })
}

// reconnect ends the pauses that a connection's revocation started.
func reconnect(ctx context.Context, tx ports.Stores, by identity.Actor, id connection.ID, elsewhere bool) error {
	var jobs []job.Job
	if err := tx.Sources.UpdateThrough(ctx, by.Workspace, id, func(src *source.Source) error {
		if src.Reconnect(by, elsewhere) {
			jobs = append(jobs, job.New(by, source.RefreshJob, string(src.ID), src.NextRefreshAt))
		}
		return nil
	}); err != nil {
		return err
	}
	for _, j := range jobs {
		if err := tx.Jobs.Enqueue(ctx, j); err != nil {
			return err
		}
	}
	return nil
}
