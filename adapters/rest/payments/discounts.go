package payments

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/domain/payment"
)

func toDiscount(d *payment.Discount) openapi.Discount {
	out := openapi.Discount{
		Name:             openapi.OrNull(d.Name),
		PercentOff:       openapi.OrNull(float64(d.Percent) / 100),
		AmountOff:        nullable.NewNullNullable[openapi.Money](),
		Duration:         openapi.DiscountDuration(d.Duration),
		DurationInMonths: openapi.OrNull(d.Months),
		StartsAt:         openapi.Time(d.Start),
		EndsAt:           convert.OrNullTime(d.End),
	}
	if d.Percent == 0 {
		out.AmountOff = nullable.NewNullableWithValue(toMoney(d.Amount))
	}
	return out
}
