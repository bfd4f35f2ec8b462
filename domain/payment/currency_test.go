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

func TestAmountsWithThreeDecimalsAreRoundedToTens(t *testing.T) {
	for _, tt := range []struct {
		in   payment.Money
		want int64
	}{
		{payment.Money{Amount: 3871, Currency: "kwd"}, 3870}, {payment.Money{Amount: 3875, Currency: "kwd"}, 3880},
		{payment.Money{Amount: 5120, Currency: "kwd"}, 5120}, {payment.Money{Amount: -3871, Currency: "tnd"}, -3870},
		{payment.Money{Amount: 3871, Currency: "usd"}, 3871}, {payment.Money{Amount: 3871, Currency: "jpy"}, 3871},
	} {
		if got := tt.in.Rounded(); got.Amount != tt.want || got.Currency != tt.in.Currency {
			t.Errorf("%+v is rounded to %+v, want %d", tt.in, got, tt.want)
		}
	}
}
