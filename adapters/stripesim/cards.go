package stripesim

import (
	_ "embed"
	"encoding/csv"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

// testCard is a row of cards.csv: a test card that Stripe publishes. Where Stripe's behaviour depends on settings, such
// as rules against fraud, a card behaves as in a new account.
type testCard struct {
	number, brand, country, funding string
	names                           []string // of its payment method
	does                            behaviour
	source                          string // a section of https://docs.stripe.com/testing; "atrium" for our own cards
}

//go:embed cards.csv
var cardsTable string

// testCards returns the table.
var testCards = sync.OnceValue(func() []testCard {
	reader := csv.NewReader(strings.NewReader(cardsTable))
	reader.Comment = '#'
	rows, err := reader.ReadAll()
	if err != nil {
		panic(err) // the table is part of the program
	}
	var all []testCard
	for _, row := range rows[1:] {
		all = append(all, testCard{number: row[0], names: strings.Fields(row[1]), brand: row[2], country: row[3],
			funding: row[4], does: behaviour(row[5]), source: row[6]})
	}
	return all
})

// findCard returns the test card or bank account with a number, in which spaces and hyphens do not count, or with the
// name of a payment method; nil if not found.
func findCard(c payment.Card) *testCard {
	text := c.Number.Reveal()
	number := strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(text))
	for _, card := range testCards() {
		if card.number == number || slices.Contains(card.names, text) {
			return &card
		}
	}
	return nil
}

// behaviour is how a test card behaves: a name in rulesOf; the reason why it is declined when it is added; or charge_
// and the reason why each charge is declined. The empty one succeeds.
type behaviour string

// asking says for which charges a card's bank requires authentication.
type asking int

const (
	nowhere      asking = iota
	unlessSetUp         // all, until the payer has authenticated once, as when the card was added for later use
	untilSetUp          // those with the payer present, and the others until the payer has authenticated once
	always              // all
	whilePresent        // those with the payer present
)

// rules are what a behaviour means.
type rules struct {
	adding   string // why the card is declined when it is added; "" if it is not
	withCVC  bool   // it is only declined if a security code is checked
	asks     asking
	charging string // why charges are declined, after authentication; "" if they are not
	recovers bool   // without the payer, the first attempt to pay an invoice is declined, and the next one succeeds
}

var rulesOf = map[behaviour]rules{
	"incorrect_cvc":                     {adding: "incorrect_cvc", withCVC: true},
	"fails_to_charge":                   {charging: "generic_decline"},
	"authentication":                    {asks: untilSetUp},
	"authentication_always":             {asks: always},
	"authentication_on_session":         {asks: whilePresent},
	"authentication_declined":           {asks: unlessSetUp, adding: "generic_decline", charging: "generic_decline"},
	"authentication_insufficient_funds": {asks: unlessSetUp, charging: "insufficient_funds"},
	"recovers":                          {recovers: true},
}

// rules returns what b means.
func (b behaviour) rules() rules {
	b = behaviour(strings.TrimPrefix(strings.TrimPrefix(string(b), late), "_"))
	switch b {
	case "generic_decline", "insufficient_funds", "lost_card", "stolen_card", "expired_card", "processing_error",
		"incorrect_number", "card_velocity_exceeded", "sepa_debit_bank_not_supported",
		"sepa_debit_debits_not_supported":
		return rules{adding: string(b)}
	}
	if reason, isDeclined := strings.CutPrefix(string(b), "charge_"); isDeclined {
		return rules{charging: reason}
	}
	return rulesOf[b]
}

// newMethod returns a test card's payment method, which is not attached yet. The number goes no further than the
// table of cards. payment.ErrTestCardsOnly, payment.ErrMethodExpired.
func (s *account) newMethod(c payment.Card) (*method, error) {
	card := findCard(c)
	if card == nil {
		return nil, payment.ErrTestCardsOnly
	}
	m := &method{
		Brand: card.brand, Last4: card.number[len(card.number)-4:], Country: card.country, Funding: card.funding,
		ExpMonth: c.ExpMonth, ExpYear: c.ExpYear, Behaviour: card.does, Created: s.now(),
		Fingerprint: s.MAC("sandbox card\x00" + card.number), checked: !c.CVC.IsZero(),
	}
	if m.isDebit() {
		m.ExpMonth, m.ExpYear = 0, 0
	}
	if m.expired(s.now()) {
		return nil, payment.ErrMethodExpired
	}
	return m, nil
}

// refusal returns why a card is declined when it is added; "" if it is not.
func (m *method) refusal() string {
	r := m.Behaviour.rules()
	if r.withCVC && !m.checked { // Stripe skips the check without a code
		return ""
	}
	return r.adding
}

// asksFirst reports whether the bank requires authentication when a card is added.
func (m *method) asksFirst() bool {
	asks := m.Behaviour.rules().asks
	return asks != nowhere && asks != whilePresent
}

// attempt is a charge that a bank decides about.
type attempt struct {
	present       bool // the payer can authenticate
	authenticated bool // the payer has just done that
	before        int  // attempts to pay the same invoice that have failed
}

// answer returns why a charge is declined, or that the payer must authenticate it first.
func (m *method) answer(now time.Time, a attempt) (decline string, asks bool) {
	r := m.Behaviour.rules()
	first, isPresent := !m.Authenticated, a.present
	asks = !a.authenticated && ((r.asks == always) || (r.asks == unlessSetUp && first) ||
		(r.asks == untilSetUp && (first || isPresent)) || (r.asks == whilePresent && isPresent))
	switch {
	case m.expired(now):
		return "expired_card", false
	case asks && a.present:
		return "", true
	case asks:
		return wantsPayer, false
	case r.recovers && !a.present && a.before == 0:
		return "insufficient_funds", false
	case m.isDebit(): // the bank answers later
		return "", false
	}
	return r.charging, false
}

// cardError returns the error for a declined card. Some reasons are codes of errors of their own
// (https://docs.stripe.com/testing#declined-payments).
func cardError(reason string) refusal {
	switch reason {
	case "expired_card", "incorrect_cvc", "incorrect_number", "processing_error":
		return refusal{402, "card_error", reason, "", ""}
	}
	return refusal{402, "card_error", "card_declined", reason, ""}
}

// refuse reports a change of a subscription that cannot be charged: it was declined, or asks the payer.
func (s *account) refuse(decline string, asks bool) error {
	s.reportDecline()
	if asks {
		return refusal{402, "card_error", "subscription_payment_intent_requires_action", "", ""}
	}
	return cardError(decline)
}

// attach adds a card to the customer.
func (s *account) attach(m *method) {
	c := s.customers[0]
	m.ID, m.Customer = s.id("pm"), c.ID
	s.methods, c.methods = append(s.methods, m), append(c.methods, m)
}

// TestCard returns the first test card in the table with these last four digits or with a payment method of this name,
// valid for years; the zero Card if it is not known.
func TestCard(name string) payment.Card {
	for _, card := range testCards() {
		if strings.HasSuffix(card.number, name) || slices.Contains(card.names, name) {
			return payment.Card{Number: secret.New(card.number), ExpMonth: 12, ExpYear: 2099}
		}
	}
	return payment.Card{}
}
