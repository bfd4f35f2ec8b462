package payments

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestPagesShowAmountsWithTheDecimalsOfTheGateway(t *testing.T) {
	for want, amount := range map[string]payment.Money{
		"29.00 USD":     {Amount: 2900, Currency: "usd"},
		"0.05 USD":      {Amount: 5, Currency: "usd"},
		"500 JPY":       {Amount: 500, Currency: "jpy"},
		"150000.00 IDR": {Amount: 15_000_000, Currency: "idr"},
		"4900.00 HUF":   {Amount: 490_000, Currency: "huf"},
		"5.120 KWD":     {Amount: 5120, Currency: "kwd"},
	} {
		got := formatMoney(amount)
		assert.That(t, got == want, "%+v: %s, want %s", amount, got, want)
	}
}
