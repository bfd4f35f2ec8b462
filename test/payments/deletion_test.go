package payments

import (
	"testing"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestNoOnePaysForADeletedWorkspace has a payer pay on a checkout page before and after its workspace is deleted.
func TestNoOnePaysForADeletedWorkspace(t *testing.T) {
	for name, first := range map[string]bool{"paid before": true, "paid after": false} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				api, g := atStripe(t)
				pay := newService(w.stores, func(identity.OrgID) payments.Terms {
					return payments.Terms{
						Kind: payment.Stripe, Account: stripeAccount, Gateway: g, Plans: plans,
						Returns: payment.ReturnPolicy{Loopback: true},
					}
				})
				people := accounts.NewService(w.stores.Atomic, w.stores.AccountStores, accounts.Deps{
					Events:         w.stores.Events,
					GatewayAccount: func(identity.OrgID) string { return stripeAccount },
					EndCheckouts:   pay.EndCheckouts,
				})
				by := fixture.NewTeam(t, w.stores, w.orgs[0]).Owner
				p, err := pay.Checkout(t.Context(), at(by), payments.CheckoutRequest{
					Plan: "basic", Quantity: 1, SuccessURL: "http://localhost/yes", CancelURL: "http://localhost/no",
				})
				require.NoError(t, err)
				require.That(t, !first || api.CheckOut(p.URL, "4242"), "the payer cannot pay")
				failure := people.DeleteWorkspace(t.Context(), at(by), by.Workspace, nil)
				if first {
					require.ErrorIs(t, failure, account.ErrWorkspaceInUse)
					return
				}
				require.NoError(t, failure)
				assert.That(t, !api.CheckOut(p.URL, "4242"), "the payer has paid for a deleted workspace")
			})
		})
	}
}
