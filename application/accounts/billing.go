package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// followDetails queues a job that gives the payment gateway a workspace's name, the address of an owner, and the number
// of seats that its members need, unless the org takes no payments.
func (s *Service) followDetails(ctx context.Context, jobs ports.Jobs, by identity.Actor,
	id identity.WorkspaceID) error {
	if s.deps.GatewayAccount(by.Org) == "" {
		return nil
	}
	by.Workspace = id
	return jobs.Enqueue(ctx, job.New(by, payment.DetailsJob, payment.DetailsSubject, by.At))
}

// followOwner is followDetails for all workspaces that a person owns.
func (s *Service) followOwner(ctx context.Context, by identity.Actor, p *account.Person) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		for _, m := range p.Memberships {
			if m.Role != identity.Owner {
				continue
			}
			if err := s.followDetails(ctx, tx.Jobs, by, m.Workspace.ID); err != nil {
				return err
			}
		}
		return nil
	})
}
