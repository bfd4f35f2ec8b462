package accounts

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

const (
	// settledAtOnce is the number of people who are settled in one transaction, for which other writers wait.
	settledAtOnce = 250

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

// settleBatch settles people, and returns how many of them it could not, and the last error. A person who cannot be
// settled holds up no other.
func (s *Directory) settleBatch(
	ctx context.Context, by identity.Actor, org *identity.Org, batch []identity.UserID, rules string,
) (failed int, failure error) {
	err := s.settle(ctx, by, org, batch, rules)
	switch {
	case err == nil:
		return 0, nil
	case len(batch) == 1, ctx.Err() != nil:
		return len(batch), err
	}
	for half := range slices.Chunk(batch, (len(batch)+1)/2) {
		count, err := s.settleBatch(ctx, by, org, half, rules)
		failed, failure = failed+count, cmp.Or(err, failure)
	}
	return failed, failure
}

// settle gives users the roles that follow from their groups, in one transaction. An account may have been erased since
// their ids were read, and must not come back.
func (s *Directory) settle(
	ctx context.Context, by identity.Actor, org *identity.Org, ids []identity.UserID, rules string,
) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		users, err := tx.DirectoryUsers.Several(ctx, by.Org, ids)
		if err != nil {
			return err
		}
		now, all := time.Now(), make([]account.SignIn, len(users)) // users were read after the request began
		for i := range users {
			all[i] = directorySignIn(org, &users[i], now)
		}
		settleOne := func(in *account.SignIn) error { return settleByDirectory(by, in) }
		others, err := tx.LinkedSignIns.SignInLinked(ctx, by.Org, all, settleOne)
		if err != nil {
			return err
		}
		for _, in := range others {
			_, err := tx.Users.SignIn(ctx, by.Org, in, settleOne)
			if err != nil && !errors.Is(err, identity.ErrUnauthenticated) { // an operator has disabled the account
				return err
			}
		}
		return tx.DirectoryUsers.Settle(ctx, by, users, rules)
	})
}
