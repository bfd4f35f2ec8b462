package payment_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestAmountsHaveTheDecimalsOfTheGateway(t *testing.T) {
	for currency, want := range map[string]int{
		"usd": 2, "eur": 2, "jpy": 0, "krw": 0, "xof": 0, "kwd": 3, "tnd": 3,
		// Browsers and ISO 4217 write these without decimals.
		"huf": 2, "isk": 2, "ugx": 2, "idr": 2, "cop": 2, "twd": 2, "all": 2,
	} {
		if got := (payment.Money{Currency: currency}).Exponent(); got != want || !payment.KnowsCurrency(currency) {
			t.Errorf("%s: %d, known: %v", currency, got, payment.KnowsCurrency(currency))
		}
	}
	for _, code := range []string{"", "xyz", "USD", "us"} {
		assert.That(t, !payment.KnowsCurrency(code), "%q is known", code)
	}
}
