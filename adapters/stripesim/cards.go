package stripesim

import (
	"strings"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

// behaviour is how a test card behaves.
type behaviour string

const (
	works      behaviour = ""
	declined   behaviour = "generic_decline"    // when it is added
	noFunds    behaviour = "insufficient_funds" // when it is added
	failsLater behaviour = "fails_to_charge"    // can be added, but charges fail
	wantsBank  behaviour = "authentication"     // its bank requires authentication
)

// refusesAdding reports whether the card is declined when it is added.
func (b behaviour) refusesAdding() bool { return b == declined || b == noFunds }

// cards are the test cards that Stripe publishes (https://docs.stripe.com/testing) and the simulator knows.
var cards = map[string]struct {
	brand string
	does  behaviour
}{
	"4242424242424242": {"visa", works},
	"5555555555554444": {"mastercard", works},
	"378282246310005":  {"amex", works},
	"4000000000000002": {"visa", declined},
	"4000000000009995": {"visa", noFunds},
	"4000000000000341": {"visa", failsLater},
	"4000002500003155": {"visa", wantsBank},
}

// digits returns the number of a card without spaces and hyphens.
func digits(card payment.Card) string {
	return strings.NewReplacer(" ", "", "-", "").Replace(card.Number.Reveal())
}

// newMethod returns the payment method of a test card, which is not attached yet. The number goes no further than the
// table above. payment.ErrTestCardsOnly, payment.ErrMethodExpired.
func (s *account) newMethod(card payment.Card) (*method, error) {
	number := digits(card)
	found, isKnown := cards[number]
	if !isKnown {
		return nil, payment.ErrTestCardsOnly
	}
	m := &method{
		Brand: found.brand, Last4: number[len(number)-4:], Country: "US", ExpMonth: card.ExpMonth,
		ExpYear:   card.ExpYear,
		Behaviour: found.does, Created: s.now(), Fingerprint: s.MAC("sandbox card\x00" + number),
	}
	if m.expired(s.now()) {
		return nil, payment.ErrMethodExpired
	}
	return m, nil
}

// attach adds a card to the customer.
func (s *account) attach(m *method) {
	c := s.customers[0]
	m.ID, m.Customer = s.id("pm"), c.ID
	s.methods, c.methods = append(s.methods, m), append(c.methods, m)
}

// TestCard returns the test card with these last four digits, which is valid for years; the zero Card if it is not
// known.
func TestCard(last4 string) payment.Card {
	for number := range cards {
		if strings.HasSuffix(number, last4) {
			return payment.Card{Number: secret.New(number), ExpMonth: 12, ExpYear: 2099}
		}
	}
	return payment.Card{}
}
