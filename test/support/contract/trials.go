package contract

import (
	"context"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Trials is the suite for ports.Trials.
func Trials(t *testing.T, open Opener) {
	a := open(t)
	ctx := t.Context()
	one, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Owner, fixture.NewTeam(t, a.Stores, a.Orgs[0]).Owner
	foreign := fixture.NewTeam(t, a.Stores, a.Orgs[1]).Owner
	email := payment.TrialMark{Kind: payment.EmailMark, Digest: id.New("x")}
	card := payment.TrialMark{Kind: payment.CardMark, Digest: id.New("x")}
	claims := func(t *testing.T, by identity.Actor, address string, marks, batch []payment.TrialMark) {
		t.Helper()
		got, err := a.Trials.Claim(ctx, by, address, marks)
		must(t, err)
		same(t, "taken", got, batch)
	}
	t.Run("a mark belongs to the workspace that claimed it first", func(t *testing.T) {
		claims(t, one, sandboxAccount, []payment.TrialMark{email, card}, nil)
		claims(t, one, sandboxAccount, []payment.TrialMark{card, email}, nil)
		claims(t, other, sandboxAccount, []payment.TrialMark{email}, []payment.TrialMark{email})
		claims(t, other, sandboxAccount, []payment.TrialMark{{Kind: payment.CardMark, Digest: email.Digest}}, nil)
	})
	t.Run("at one account of one org", func(t *testing.T) {
		claims(t, other, "acct_1", []payment.TrialMark{email, card}, nil)
		claims(t, foreign, sandboxAccount, []payment.TrialMark{email, card}, nil)
	})
	t.Run("until it is released, which only its workspace can do", func(t *testing.T) {
		must(t, a.Trials.Release(ctx, other, sandboxAccount))
		must(t, a.Trials.Release(ctx, one, "acct_1"))
		claims(t, other, sandboxAccount, []payment.TrialMark{card}, []payment.TrialMark{card})
		must(t, a.Trials.Release(ctx, one, sandboxAccount))
		must(t, a.Trials.Release(ctx, one, sandboxAccount))
		claims(t, other, sandboxAccount, []payment.TrialMark{email, card}, nil)
	})
	t.Run("a deleted workspace keeps its marks", func(t *testing.T) {
		_, err := a.Workspaces.Update(ctx, other, other.Workspace, nil,
			func(w *account.Workspace) error { return w.Delete(other, nil) })
		must(t, err)
		claims(t, one, sandboxAccount, []payment.TrialMark{email}, []payment.TrialMark{email})
	})
	t.Run("a claim that is rolled back is none", func(t *testing.T) {
		mark := []payment.TrialMark{{Kind: payment.CardMark, Digest: id.New("x")}}
		wantErr(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			_, err := tx.Trials.Claim(ctx, one, sandboxAccount, mark)
			must(t, err)
			return errBoom
		}), errBoom)
		claims(t, foreign, sandboxAccount, mark, nil)
	})
	t.Run("one of many concurrent claims succeeds", func(t *testing.T) {
		marks := []payment.TrialMark{
			{Kind: payment.EmailMark, Digest: id.New("x")}, {Kind: payment.CardMark, Digest: id.New("x")},
		}
		second, free := a.Second(), make(chan bool, 8)
		var wg sync.WaitGroup
		for i := range 8 {
			by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Owner
			wg.Go(func() {
				batch, err := []ports.Stores{a.Stores, second}[i%2].Trials.Claim(context.Background(), by,
					sandboxAccount, marks)
				assert.NoError(t, err)
				free <- len(batch) == 0
			})
		}
		wg.Wait()
		close(free)
		n := 0
		for ok := range free {
			if ok {
				n++
			}
		}
		assert.Equal(t, "claims succeeded", n, 1)
	})
}
