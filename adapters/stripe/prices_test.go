package stripe_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// TestAPlanWithoutAPriceIsNotSoldForAnAmountThatStripeDoesNotShow has prices whose unit_amount is null: of a fraction
// of a cent, and of an amount that the payer chooses.
func TestAPlanWithoutAPriceIsNotSoldForAnAmountThatStripeDoesNotShow(t *testing.T) {
	const free = `{"id":"price_1","active":true,"unit_amount":0,"unit_amount_decimal":"0","currency":"usd",` +
		`"recurring":{"interval":"month","interval_count":1}}`
	const metered = `{"id":"price_2","active":true,"unit_amount":0,"unit_amount_decimal":"0","currency":"usd",` +
		`"recurring":{"interval":"month","interval_count":1,"usage_type":"metered","meter":"mtr_1"}}`
	fraction := strings.NewReplacer(`"unit_amount":0`, `"unit_amount":null`, `:"0"`, `:"0.5"`).Replace
	chosen := strings.NewReplacer(`"unit_amount":0`, `"unit_amount":null,"custom_unit_amount":{"preset":500}`,
		`:"0"`, `:null`).Replace
	for name, tt := range map[string]struct {
		own, metered string
		want         bool
	}{
		"free":                {free, metered, true},
		"half a cent":         {fraction(free), metered, false},
		"chosen by the payer": {chosen(free), metered, false},
		"half a cent of use":  {free, fraction(metered), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(call string, w http.ResponseWriter, _ *http.Request) {
				if strings.HasSuffix(call, "price_2") {
					reply(w, 200, tt.metered)
					return
				}
				reply(w, 200, tt.own)
			})
			p := plan
			p.Price.Amount, p.PriceRef = 0, "price_1"
			p.Metered = &payment.MeteredPrice{Feature: "messages", PriceRef: "price_2"}
			got, err := s.gateway().Prices(t.Context(), payment.Plans{p})
			assert.That(t, err == nil && got[0].Unavailable != tt.want, "%+v, %v", got, err)
		})
	}
}
