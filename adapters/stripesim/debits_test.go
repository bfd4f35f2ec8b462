package stripesim_test

import (
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// The test accounts of https://docs.stripe.com/testing#sepa-direct-debit.
const (
	debitThatSucceeds  = "AT61 1904 3002 3457 3201"
	debitThatFails     = "AT861904300235473202"
	debitThatFailsLate = "AT051904300235473205"
	debitIsDisputed    = "AT591904300235473203"
)

func TestTheTableOfTestAccountsIsSound(t *testing.T) {
	for _, row := range cardTable(t, true) {
		assert.That(t, row[4] == "", "%v", row)
		if row[2] == "us_bank_account" { // such a number has no check digits
			assert.That(t, len(row[0]) == 12 && row[3] == "US" && row[6] == "ach-direct-debit", "%v", row)
			continue
		}
		var digits strings.Builder // with letters as numbers, the country and check digits at the end (ISO 13616)
		for _, c := range row[0][4:] + row[0][:4] {
			value := strings.IndexRune("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", c)
			digits.WriteString(strconv.Itoa(value))
		}
		number, isNumber := new(big.Int).SetString(digits.String(), 10)
		require.That(t, isNumber, "%v", row)
		assert.That(t, new(big.Int).Mod(number, big.NewInt(97)).Int64() == 1, "%s has other check digits", row[0])
		assert.That(t, row[3] == row[0][:2] && row[6] == "sepa-direct-debit", "%v", row)
	}
}

// debtor returns a customer with a bank account as the default, and a subscription in euros that is charged to it.
func (g gateway) debtor(t *testing.T, account string) (payment.CustomerID, payment.GatewaySubscription) {
	t.Helper()
	return g.buyer(t, account, plans[len(plans)-1])
}

// buyer returns a customer who has bought a plan with a test card or account.
func (g gateway) buyer(
	t *testing.T, account string, plan payment.Plan,
) (payment.CustomerID, payment.GatewaySubscription) {
	t.Helper()
	c, err := g.CreateCustomer(t.Context(), "c", payment.Details{})
	require.NoError(t, err)
	method, _ := g.add(t, c, account)
	require.NoError(t, g.SetDefault(t.Context(), "d", c, method))
	s, err := g.Subscribe(t.Context(), "s", c, payment.Order{Plan: plan, Quantity: 1})
	require.NoError(t, err)
	return c, s
}

// state returns a customer's newest subscription and newest invoice.
func (g gateway) state(t *testing.T, c payment.CustomerID) (payment.GatewaySubscription, payment.Invoice) {
	t.Helper()
	subscriptions, err := g.Subscriptions(t.Context(), c)
	require.NoError(t, err)
	invoices, err := g.Invoices(t.Context(), c, "")
	require.NoError(t, err)
	return subscriptions[0], invoices[0]
}

func (g gateway) wait(t *testing.T, c payment.CustomerID, d time.Duration) {
	t.Helper()
	now, err := g.Now(t.Context(), c)
	require.NoError(t, err)
	for target := now.Add(d); now.Before(target); {
		now, err = g.Advance(t.Context(), c, target)
		require.NoError(t, err)
	}
}

func TestADirectDebitIsOnItsWayUntilTheBankAnswers(t *testing.T) {
	g := newAccount(t)
	c, s := g.debtor(t, debitThatSucceeds)
	assert.That(t, s.Status == payment.Active && s.Action == nil, "%s, %v", s.Status, s.Action)
	_, invoice := g.state(t, c)
	require.That(t, invoice.Status == payment.Open && invoice.NextAttemptAt.IsZero(), "%+v", invoice)
	g.wait(t, c, 40*time.Second)
	p, err := g.Pay(t.Context(), "again", c, invoice.ID)
	assert.That(t, err == nil && p.Invoice.Status == payment.Open && p.Action == nil, "paid again: %+v, %v", p, err)
	w, err := g.Wallet(t.Context(), c)
	require.NoError(t, err)
	m := w.Methods[0]
	assert.That(t, m.Type == "sepa_debit" && m.Last4 == "3201" && m.Country == "AT" && m.ExpYear == 0, "%+v", m)

	g.wait(t, c, 30*time.Second) // a minute after the first of them, which is the only one
	s, invoice = g.state(t, c)
	assert.That(t, s.Status == payment.Active && invoice.Status == payment.Paid, "%s, %+v", s.Status, invoice)

	g.wait(t, c, 31*24*time.Hour)
	s, renewal := g.state(t, c)
	assert.That(t, s.Status == payment.Active && renewal.Status == payment.Paid && renewal.ID != invoice.ID,
		"%s, %+v", s.Status, renewal)
}

func TestADirectDebitCanFailAfterTheSubscriptionBegan(t *testing.T) {
	for name, account := range map[string]string{"at once": debitThatFails, "later": debitThatFailsLate} {
		t.Run(name, func(t *testing.T) {
			g := newAccount(t)
			c, s := g.debtor(t, account)
			assert.That(t, s.Status == payment.Active, "%s", s.Status)
			g.wait(t, c, time.Hour)
			s, invoice := g.state(t, c)
			require.That(t, s.Status == payment.PastDue && invoice.Status == payment.Open &&
				!invoice.NextAttemptAt.IsZero(), "%s, %+v", s.Status, invoice)
			card, _ := g.add(t, c, "pm_card_visa")
			require.NoError(t, g.SetDefault(t.Context(), "card", c, card))
			p, err := g.Pay(t.Context(), "pay", c, invoice.ID)
			assert.That(t, err == nil && p.Invoice.Status == payment.Paid, "%+v, %v", p, err)
			s, _ = g.state(t, c)
			assert.That(t, s.Status == payment.Active, "%s", s.Status)
		})
	}
}

func TestARetriedDirectDebitIsNotChargedTwiceWhileItIsOnItsWay(t *testing.T) {
	g := newAccount(t)
	c, _ := g.debtor(t, debitThatFailsLate)
	g.wait(t, c, 20*24*time.Hour)
	s, invoice := g.state(t, c)
	assert.That(t, s.Status == payment.Unpaid && invoice.Status == payment.Open && invoice.Attempts > 2, "%s, %+v",
		s.Status, invoice)
}

func TestADirectDebitCanBeDisputedAfterItWasPaid(t *testing.T) {
	g := newAccount(t)
	c, _ := g.debtor(t, debitIsDisputed)
	g.wait(t, c, time.Hour)
	_, invoice := g.state(t, c)
	assert.That(t, invoice.Status == payment.Paid && invoice.Disputed(), "%+v", invoice)
}

func TestADirectDebitHasTheCurrencyOfItsScheme(t *testing.T) {
	euros := plans[len(plans)-1]
	for name, tt := range map[string]struct {
		account, reason string
		plan            payment.Plan
	}{
		"euros by SEPA":             {debitThatSucceeds, "", euros},
		"dollars by SEPA":           {debitThatSucceeds, "payment_method_currency_mismatch", plans[0]},
		"dollars by ACH":            {"pm_usBankAccount_success", "", plans[0]},
		"euros by ACH":              {"pm_usBankAccount_success", "payment_method_currency_mismatch", euros},
		"a bank without debits":     {"AT511904300000066666", "sepa_debit_debits_not_supported", euros},
		"a bank that is not in it":  {"AT27 1904 3000 0005 5555", "sepa_debit_bank_not_supported", euros},
		"ACH, which takes for ever": {"000000000009", "", plans[0]},
	} {
		t.Run(name, func(t *testing.T) {
			g := newAccount(t)
			c, err := g.CreateCustomer(t.Context(), "c", payment.Details{})
			require.NoError(t, err)
			method, reason := g.add(t, c, tt.account)
			if reason == "" {
				require.NoError(t, g.SetDefault(t.Context(), "d", c, method))
				_, err = g.Subscribe(t.Context(), "s", c, payment.Order{Plan: tt.plan, Quantity: 1})
				reason = declineOf(t, err)
			}
			assert.That(t, reason == tt.reason, "%q", reason)
		})
	}
}

func TestAnInvoiceWhosePaymentIsOnItsWayIsNotVoided(t *testing.T) {
	g := newAccount(t)
	c, s := g.debtor(t, debitThatSucceeds)
	require.NoError(t, g.Cancel(t.Context(), "end", c, s.ID, payment.Cancellation{}))
	g.wait(t, c, time.Hour)
	s, invoice := g.state(t, c)
	assert.That(t, s.Status == payment.Canceled && invoice.Status == payment.Paid, "%s, %+v", s.Status, invoice)
}
