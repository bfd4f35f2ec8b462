package stripesim_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	stripelib "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// cardTable returns the rows of cards.csv.
func cardTable(t *testing.T, isAccount bool) [][]string {
	file, err := os.Open("cards.csv")
	require.NoError(t, err)
	defer file.Close()
	reader := csv.NewReader(file)
	reader.Comment = '#'
	rows, err := reader.ReadAll()
	require.NoError(t, err)
	return slices.DeleteFunc(rows[1:], func(row []string) bool { return (strings.Contains(row[2], "_")) != isAccount })
}

// luhn reports whether a card number has its check digit (ISO/IEC 7812-1).
func luhn(number string) bool {
	sum := 0
	for i := range number {
		digit := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			digit = digit*2/10 + digit*2%10
		}
		sum += digit
	}
	return sum%10 == 0
}

func TestTheTableOfTestCardsIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range cardTable(t, false) {
		number, names, brand := row[0], strings.Fields(row[1]), row[2]
		country, funding, behaviour := row[3], row[4], row[5]
		assert.That(t, luhn(number) == (behaviour != "incorrect_number"), "%s has another check digit", number)
		for _, key := range append(names, number) {
			assert.That(t, !seen[key], "%s is twice in the table", key)
			seen[key] = true
		}
		switch stripelib.PaymentMethodCardBrand(brand) {
		case stripelib.PaymentMethodCardBrandAmex, stripelib.PaymentMethodCardBrandDiners,
			stripelib.PaymentMethodCardBrandDiscover, stripelib.PaymentMethodCardBrandJCB,
			stripelib.PaymentMethodCardBrandMastercard, stripelib.PaymentMethodCardBrandUnionpay,
			stripelib.PaymentMethodCardBrandVisa, stripelib.PaymentMethodCardBrandUnknown:
		default:
			t.Errorf("%s has the brand %q", number, brand)
		}
		assert.That(t, len(country) == 2 && strings.Contains("credit debit prepaid", funding), "%v", row)
	}
}

// documented is what https://docs.stripe.com/testing says of the cards that do not just succeed: why they are declined
// when they are added, at a purchase and at the renewal of a subscription that another card has paid. A question mark
// is a request for authentication. Radar has its default rules.
var documented = map[string]struct{ adding, buying, renewing string }{
	"4000000000000002": {adding: "generic_decline"},
	"4000000000009995": {adding: "insufficient_funds"},
	"4000000000009987": {adding: "lost_card"},
	"4000000000009979": {adding: "stolen_card"},
	"4000000000000069": {adding: "expired_card"},
	"4000000000000127": {adding: "incorrect_cvc"},
	"4000000000000119": {adding: "processing_error"},
	"4242424242424241": {adding: "incorrect_number"},
	"4000000000006975": {adding: "card_velocity_exceeded"},
	"4000000000000341": {buying: "generic_decline", renewing: "generic_decline"},
	"4100000000000019": {buying: "fraudulent", renewing: "fraudulent"},
	"4000000000004954": {buying: "fraudulent", renewing: "fraudulent"},
	"4000000000000101": {adding: "incorrect_cvc"},
	"4000058400307872": {adding: "incorrect_cvc"},
	"4000002500003155": {adding: "?", buying: "?"},
	"4000002760003184": {adding: "?", buying: "?", renewing: "authentication_required"},
	"4000003800000446": {buying: "?"},
	"4000008260003178": {adding: "?", buying: "insufficient_funds", renewing: "insufficient_funds"},
	"4000000000003220": {adding: "?", buying: "?"},
	"4000008400000027": {adding: "?", buying: "?"},
	"4000008400001629": {adding: "?generic_decline"},
	"4000008400001280": {adding: "generic_decline"},

	// Our own, since Stripe has no cards whose renewals fail for these reasons.
	"4000003410409995": {buying: "insufficient_funds", renewing: "insufficient_funds"},
	"4000003410409987": {buying: "lost_card", renewing: "lost_card"},
	"4000003410409979": {buying: "stolen_card", renewing: "stolen_card"},
	"4000003410400069": {buying: "expired_card", renewing: "expired_card"},
	"4000003410400127": {buying: "incorrect_cvc", renewing: "incorrect_cvc"},
	"4000003410400119": {buying: "processing_error", renewing: "processing_error"},
	"4000003410406975": {buying: "card_velocity_exceeded", renewing: "card_velocity_exceeded"},
	"4000003410900340": {renewing: "insufficient_funds"},
}

// declineOf returns why a card was declined; "" if it was not.
func declineOf(t *testing.T, err error) string {
	t.Helper()
	declined, isDeclined := errors.AsType[*payment.DeclinedError](err)
	require.That(t, err == nil || isDeclined, "%v", err)
	if isDeclined {
		return declined.DeclineCode
	}
	return ""
}

// add adds a card as a payer does, and returns it, and what documented has of that.
func (g gateway) add(t *testing.T, c payment.CustomerID, number string) (id payment.MethodID, outcome string) {
	t.Helper()
	ctx := t.Context()
	intent, err := g.CreateSetupIntent(ctx, "add "+number+time.Now().String(), c, payment.OffSession)
	require.NoError(t, err)
	done, err := g.Confirm(ctx, c, intent.ID, intent.ClientSecret, payment.Card{Number: secret.New(number),
		CVC: secret.New("123"), ExpMonth: 12, ExpYear: time.Now().Year() + 9})
	if err == nil && done.Status == "requires_action" {
		outcome = "?"
		_, err = g.Authenticate(ctx, c, intent.ID, intent.ClientSecret, true)
	}
	if decline := declineOf(t, err); decline != "" {
		return "", outcome + decline
	}
	w, err := g.Wallet(ctx, c)
	require.NoError(t, err)
	return w.Methods[0].ID, outcome
}

// TestEachTestCardBehavesAsDocumented adds each card, buys a plan with it, and renews a subscription with it.
func TestEachTestCardBehavesAsDocumented(t *testing.T) {
	for _, row := range cardTable(t, false) {
		number, want := row[0], documented[row[0]]
		t.Run(number, func(t *testing.T) {
			t.Parallel()
			api := newAccount(t)
			ctx := t.Context()
			buyer, err := api.CreateCustomer(ctx, "buyer", payment.Details{})
			require.NoError(t, err)
			card, outcome := api.add(t, buyer, number)
			assert.Equal(t, "adding", outcome, want.adding)
			if card == "" {
				return
			}
			w, err := api.Wallet(ctx, buyer)
			require.NoError(t, err)
			m := w.Methods[0]
			assert.That(t, m.Brand == row[2] && m.Country == row[3] && strings.HasSuffix(number, m.Last4), "%+v", m)
			require.NoError(t, api.SetDefault(ctx, "default", buyer, card))
			s, err := api.Subscribe(ctx, "buy", buyer, payment.Order{Plan: plans[0], Quantity: 1})
			outcome = declineOf(t, err)
			if s.Action != nil {
				outcome = "?"
			}
			assert.Equal(t, "buying", outcome, want.buying)
			assert.Equal(t, "renewing", api.renewWith(t, number), want.renewing)
		})
	}
	for number := range documented {
		assert.That(t, findRow(t, number), "%s is not in the table", number)
	}
}

func findRow(t *testing.T, number string) bool {
	for _, row := range cardTable(t, false) {
		if row[0] == number {
			return true
		}
	}
	return false
}

// newAccount returns an account of a test's own.
func newAccount(t *testing.T) gateway {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) // of a month with 31 days
	g, _ := newGateway(t, stripesim.Config{
		Objects: fixture.NewSandboxObjects(), Clock: func() time.Time { return begin },
		Deliver: func(context.Context, []byte, string) error { return nil },
	})
	return g
}

// renewWith returns why the renewal of a subscription is declined whose first period another card has paid.
func (g gateway) renewWith(t *testing.T, number string) string {
	t.Helper()
	ctx := t.Context()
	c, err := g.CreateCustomer(ctx, "renewing", payment.Details{})
	require.NoError(t, err)
	first, _ := g.add(t, c, "4242424242424242")
	require.NoError(t, g.SetDefault(ctx, "first", c, first))
	_, err = g.Subscribe(ctx, "renews", c, payment.Order{Plan: plans[0], Quantity: 1})
	require.NoError(t, err)
	next, _ := g.add(t, c, number)
	require.NoError(t, g.SetDefault(ctx, "next", c, next))
	_, _, err = g.AdvanceAll(ctx, 32*24*time.Hour)
	require.NoError(t, err)
	all, err := g.Subscriptions(ctx, c)
	require.That(t, err == nil && len(all) == 1, "%+v, %v", all, err)
	if all[0].Status == payment.Active {
		return ""
	}
	if all[0].Action != nil {
		return "authentication_required"
	}
	invoices, err := g.Invoices(ctx, c, "")
	require.NoError(t, err)
	_, err = g.Pay(ctx, "pay", c, invoices[0].ID)
	if err == nil { // only an attempt without the payer is declined
		return "insufficient_funds"
	}
	return declineOf(t, err)
}

func TestACardCanRecover(t *testing.T) {
	g := newAccount(t)
	ctx := t.Context()
	c, err := g.CreateCustomer(ctx, "c", payment.Details{})
	require.NoError(t, err)
	card, _ := g.add(t, c, "pm_card_chargeCustomerRecovers")
	require.NoError(t, g.SetDefault(ctx, "d", c, card))
	_, err = g.Subscribe(ctx, "s", c, payment.Order{Plan: plans[0], Quantity: 1})
	require.NoError(t, err)
	status := func(by time.Duration) payment.Status {
		_, _, err := g.AdvanceAll(ctx, by)
		require.NoError(t, err)
		all, err := g.Subscriptions(ctx, c)
		require.That(t, err == nil && len(all) == 1, "%+v, %v", all, err)
		return all[0].Status
	}
	assert.Equal(t, "after the renewal", status(32*24*time.Hour), payment.PastDue)
	assert.Equal(t, "after the next attempt", status(3*24*time.Hour), payment.Active)
}

func TestAPaymentMethodsNameIsACard(t *testing.T) {
	for name, number := range map[string]string{
		"pm_card_visa": "4242424242424242", "pm_card_us": "4242424242424242", "pm_card_jcb": "3530111333300000",
		"pm_card_visa_chargeDeclinedLostCard": "4000000000009987", "0341": "4000000000000341", "nothing": "",
	} {
		got := stripesim.TestCard(name)
		assert.Equal(t, fmt.Sprintf("the number of %s", name), got.Number.Reveal(), number)
	}
}
