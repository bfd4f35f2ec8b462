package sandbox_test

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sandbox"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/contract"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestWhatSomeoneElseChanged(t *testing.T) { contract.GatewayChangedElsewhere(t, open) }

// elsewhere is what a payer can do on the pages of the sandbox.
func elsewhere(g *sandbox.Gateway) contract.Elsewhere {
	return contract.Elsewhere{
		CancelAtPeriodEnd: func(t *testing.T, c payment.CustomerID, _ payment.SubscriptionID) {
			url, err := g.Portal(t.Context(), c, "https://app.example.com")
			if err == nil {
				_, err = g.EndAtPeriodEnd(t.Context(), link(url), true)
			}
			require.NoError(t, err)
		},
	}
}

// link returns the page at an address.
func link(url string) payment.SandboxLink {
	rest, _ := strings.CutPrefix(url, sandbox.PagePath)
	c, text, _ := strings.Cut(rest, "/")
	return payment.SandboxLink{Customer: payment.CustomerID(c), Secret: secret.New(text)}
}
