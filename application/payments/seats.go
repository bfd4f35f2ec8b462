package payments

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/revision"
)

// members returns how many members by's workspace has, with open invitations; 0 if no plan has a seat for each.
func (s *Service) members(ctx context.Context, by identity.Actor, t Terms) (int64, error) {
	if !t.Plans.Seats() {
		return 0, nil
	}
	usage, err := s.usage.Amounts(ctx, by.Workspace, by.At)
	return usage.Members, err
}

// FollowSeats lets the subscription renew with as many seats as the workspace has members, if its plan has a seat for
// each. It buys none: a seat more than now costs something at once. by is the system.
func (s *Service) FollowSeats(ctx context.Context, by identity.Actor) error {
	t, err := s.terms(by)
	if err != nil {
		return ignoring(err)
	}
	members, err := s.members(ctx, by, t)
	if err != nil || members == 0 {
		return err
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if err != nil {
		return ignoring(err)
	}
	quantity := c.SeatsToRenew(t.Plans, members)
	if quantity == 0 {
		return nil
	}
	_, err = s.ChangeSubscription(ctx, by, newKey(), revision.Match{c.Revision}, payment.Changes{Quantity: &quantity})
	canPass := payment.OutcomeUnknown(err) || payment.NoEffect(err) || errors.Is(err, payment.ErrPending) ||
		errors.Is(err, revision.ErrMismatch)
	if _, isFault := errors.AsType[*fault.Error](err); isFault && !canPass { // the next audit tries again
		return nil
	}
	return err
}
