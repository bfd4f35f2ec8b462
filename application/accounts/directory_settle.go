package accounts

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

const (
	// settledAtOnce is the number of people that a round of Settle reads.
	settledAtOnce = 100

	// settledTogether is the number of people that are settled in one transaction, for which other writers wait.
	settledTogether = 10

	// settleLimit is how long a request settles people. Providers give up after 30 s or more, and then repeat it.
	settleLimit = 5 * time.Second
)

// settleWithin is Settle for a request whose change is stored. It leaves the people who are not settled after
// settleLimit to those who wait for Left.
func (s *Directory) settleWithin(ctx context.Context, by identity.Actor, org *identity.Org) error {
	limited, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	err := s.Settle(limited, by, org)
	if err == nil || limited.Err() == nil || ctx.Err() != nil {
		return err
	}
	select {
	case s.unfinished <- struct{}{}:
	default:
	}
	return nil
}

// Settle updates the roles of everyone whose groups have changed, and of everyone if the claim rules have changed. It
// also completes an interrupted call's work.
func (s *Directory) Settle(ctx context.Context, by identity.Actor, org *identity.Org) error {
	rules := account.DirectoryRules(org)
	for {
		batch, err := s.users.Unsettled(ctx, by.Org, rules, settledAtOnce)
		if err != nil {
			return err
		}
		failed, failure := s.settleBatch(ctx, by, org, batch, rules)
		if len(batch) < settledAtOnce || failed == len(batch) {
			return failure
		}
	}
}

// settleBatch settles people, and returns how many of them it could not, and the last error.
func (s *Directory) settleBatch(
	ctx context.Context, by identity.Actor, org *identity.Org, batch []account.DirectoryUser, rules string,
) (failed int, failure error) {
	for people := range slices.Chunk(batch, settledTogether) {
		err := s.settle(ctx, by, org, people, rules)
		if err == nil {
			continue
		}
		if len(people) == 1 || ctx.Err() != nil {
			failed, failure = failed+len(people), err
			continue
		}
		for i := range people { // one of them holds up no other
			if err := s.settle(ctx, by, org, people[i:i+1], rules); err != nil {
				failed, failure = failed+1, err
			}
		}
	}
	return failed, failure
}

// settle gives users the roles that follow from their groups, in one transaction. They are read again: an account may
// have been erased in the meantime, and must not come back.
func (s *Directory) settle(
	ctx context.Context, by identity.Actor, org *identity.Org, people []account.DirectoryUser, rules string,
) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		for i := range people {
			u, err := tx.DirectoryUsers.User(ctx, by.Org, people[i].ID)
			if errors.Is(err, account.ErrDirectoryUserNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			_, err = signInByDirectory(ctx, tx.Users, by, org, u)
			if err != nil && !errors.Is(err, identity.ErrUnauthenticated) { // an operator has disabled the account
				return err
			}
			if err := tx.DirectoryUsers.Settle(ctx, by, u, rules); err != nil {
				return err
			}
		}
		return nil
	})
}
