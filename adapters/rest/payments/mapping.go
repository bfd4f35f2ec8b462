package payments

import (
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/payment"
)

func toMoney(m payment.Money) openapi.Money {
	return openapi.Money{Amount: m.Amount, Currency: m.Currency, Exponent: m.Exponent()}
}

func toPlan(p *payment.Plan, current payment.PlanID) openapi.Plan {
	price := nullable.NewNullNullable[openapi.MeteredPrice]()
	if m := p.Metered; m != nil {
		unit := toMoney(payment.Money{Amount: m.Amount, Currency: p.Price.Currency})
		price.Set(openapi.MeteredPrice{Feature: m.Feature, UnitPrice: unit})
	}
	return openapi.Plan{
		MeteredPrice: price,
		ID:           string(p.ID),
		Key:          string(p.ID),
		Name:         p.Name,
		Description:  p.Description,
		Price:        toMoney(p.Price),
		CurrencyOptions: convert.Slice(p.CurrencyOptions, func(m *payment.Money) openapi.Money {
			return toMoney(*m)
		}),
		Interval:      openapi.PlanInterval(p.Interval),
		IntervalCount: p.IntervalCount,
		TrialDays:     p.TrialDays,
		DaysUntilDue:  p.DaysUntilDue,
		Features:      convert.NonNil(p.Features),
		Limits:        convert.NonNilMap(p.Limits),
		LimitsPerSeat: convert.NonNilMap(p.SeatLimits),
		Seats:         openapi.OrNull(openapi.PlanSeats(p.Seats)),
		Available:     p.OnSale(),
		IsCurrent:     current != "" && p.ID == current,
	}
}

func toPaymentMethod(now time.Time, m *payment.Method, def payment.MethodID) openapi.PaymentMethod {
	return openapi.PaymentMethod{
		ID:        string(m.ID),
		Type:      m.Type,
		Brand:     openapi.OrNull(m.Brand),
		Last4:     openapi.OrNull(m.Last4),
		ExpMonth:  openapi.OrNull(m.ExpMonth),
		ExpYear:   openapi.OrNull(m.ExpYear),
		Country:   openapi.OrNull(m.Country),
		IsDefault: m.ID == def,
		IsExpired: m.Expired(now),
		CreatedAt: openapi.Time(m.CreatedAt),
	}
}

// absolute returns a gateway page's address. The sandbox's pages are on this server.
func absolute(r *server.Call, address string) string {
	if strings.HasPrefix(address, "/") {
		return server.Observed(r.Request).Org.BaseURL + address
	}
	return address
}

func toInvoice(r *server.Call, i *payment.Invoice) openapi.Invoice {
	money := func(amount int64) openapi.Money { return toMoney(i.Money(amount)) }
	return openapi.Invoice{
		ID:         string(i.ID),
		Number:     openapi.OrNull(i.Number),
		Status:     openapi.InvoiceStatus(i.Status),
		Subtotal:   money(i.Subtotal),
		Discount:   money(i.Discount),
		Discounts:  convert.Slice(i.Discounts, toDiscount),
		Tax:        money(i.Tax),
		Total:      money(i.Total),
		AmountDue:  money(i.AmountDue),
		AmountPaid: money(i.AmountPaid),

		AmountRemaining: money(i.AmountRemaining),
		AmountRefunded:  money(i.AmountRefunded),
		Disputed:        i.Disputed(),
		Lines: convert.Slice(i.Lines, func(l *payment.InvoiceLine) openapi.InvoiceLine {
			return openapi.InvoiceLine{
				Description: l.Description, Quantity: l.Quantity, Amount: money(l.Amount),
				PeriodStart: convert.OrNullTime(l.Start), PeriodEnd: convert.OrNullTime(l.End),
			}
		}),
		HasMoreLines:   i.HasMoreLines,
		PeriodStart:    openapi.Time(i.PeriodStart),
		PeriodEnd:      openapi.Time(i.PeriodEnd),
		DueAt:          convert.OrNullTime(i.DueAt),
		PaidAt:         convert.OrNullTime(i.PaidAt),
		HostedURL:      openapi.OrNull(absolute(r, i.HostedURL)),
		PdfURL:         openapi.OrNull(absolute(r, i.PDFURL)),
		BillingDetails: toBilledTo(i.BilledTo),
		CreatedAt:      openapi.Time(i.CreatedAt),

		SubscriptionID:     openapi.OrNull(string(i.Subscription)),
		CreditPackID:       openapi.OrNull(string(i.PackID())),
		AttemptCount:       i.Attempts,
		NextPaymentAttempt: convert.OrNullTime(i.NextAttemptAt),
	}
}

func toSubscription(v *payments.View) openapi.Subscription {
	out := openapi.Subscription{
		ID:                     string(v.ID),
		PlanID:                 openapi.OrNull(string(v.Plan)),
		Quantity:               v.Quantity,
		Status:                 openapi.SubscriptionStatus(v.Status),
		Entitled:               v.Entitled,
		CurrentPeriodStart:     openapi.Time(v.PeriodStart),
		CurrentPeriodEnd:       openapi.Time(v.PeriodEnd),
		TrialEnd:               convert.OrNullTime(v.TrialEnd),
		CancelAtPeriodEnd:      v.CancelAtPeriodEnd,
		EndsAt:                 convert.OrNullTime(v.EndsAt),
		CancellationFeedback:   openapi.OrNull(string(v.Cancellation.Feedback)),
		CancellationComment:    openapi.OrNull(v.Cancellation.Comment),
		Paused:                 v.Paused,
		PaidUntil:              convert.OrNullTime(v.PaidUntil),
		PendingChange:          nullable.NewNullNullable[openapi.SubscriptionPendingChange](),
		LaterChanges:           []openapi.SubscriptionPendingChange{},
		DefaultPaymentMethodID: openapi.OrNull(string(v.Default)),
		Action:                 toAction(v.Action),
		Discount:               nullable.NewNullNullable[openapi.Discount](),
		Credit:                 nullable.NewNullNullable[openapi.Money](),
		Stale:                  v.Stale,
		Gateway:                openapi.PaymentGateway(v.Gateway),
		Revision:               v.Revision,
		CreatedAt:              openapi.Time(v.CreatedAt),
		UpdatedAt:              openapi.Time(v.UpdatedAt),
	}
	out.Items = convert.Slice(v.Parts, toSubscriptionItem)
	out.Plan = nullable.NewNullNullable[openapi.Plan]()
	if v.Sold != nil {
		out.Plan = nullable.NewNullableWithValue(toPlan(v.Sold, v.Plan))
	}
	if v.Discount != nil {
		out.Discount = nullable.NewNullableWithValue(toDiscount(v.Discount))
	}
	if v.Credit.Amount > 0 {
		out.Credit = nullable.NewNullableWithValue(toMoney(v.Credit))
	}
	if p := v.Pending; p != nil {
		out.PendingChange = nullable.NewNullableWithValue(toPendingChange(p))
		for p = p.Next; p != nil; p = p.Next {
			out.LaterChanges = append(out.LaterChanges, toPendingChange(p))
		}
	}
	return out
}

func toSubscriptionItem(p *payment.Component) openapi.SubscriptionItem {
	out := openapi.SubscriptionItem{
		Kind:          openapi.SubscriptionItemKind(p.Kind),
		AddOnID:       nullable.NewNullNullable[string](),
		Name:          nullable.NewNullNullable[string](),
		UnitPrice:     toMoney(p.Rate.Price),
		Interval:      string(p.Rate.Interval),
		IntervalCount: p.Rate.IntervalCount,
		Quantity:      openapi.OrNull(p.Quantity),
	}
	if p.Product != nil {
		out.Name.Set(p.Product.Name)
	}
	if p.Product != nil && p.Kind == payment.AddOnComponent {
		out.AddOnID.Set(string(p.Product.ID))
	}
	return out
}

func toAddOn(p *payment.Plan) openapi.AddOn {
	return openapi.AddOn{
		ID:            string(p.ID),
		Name:          p.Name,
		Description:   p.Description,
		Price:         toMoney(p.Price),
		Interval:      string(p.Interval),
		IntervalCount: p.IntervalCount,
		Limits:        convert.NonNilMap(p.Limits),
		Available:     p.OnSale(),
	}
}

func toCreditPack(p *payment.Plan) openapi.CreditPack {
	return openapi.CreditPack{
		ID:               string(p.ID),
		Name:             p.Name,
		Description:      p.Description,
		Price:            toMoney(p.Price),
		Limits:           convert.NonNilMap(p.Limits),
		ExpiresAfterDays: openapi.OrNull(p.ExpiresAfter),
		Available:        p.OnSale(),
	}
}

func toPackBalance(p *payment.CreditPack) openapi.CreditPackBalance {
	return openapi.CreditPackBalance{
		CreditPackID: string(p.Pack),
		InvoiceID:    string(p.Invoice),
		Granted:      p.Granted,
		Remaining:    p.Remaining(),
		BoughtAt:     openapi.Time(p.BoughtAt),
		ExpiresAt:    convert.OrNullTime(p.ExpiresAt),
	}
}

func toAddOnOrders(in []openapi.AddOnQuantity) (orders []payment.AddOnOrder) {
	for _, o := range in {
		orders = append(orders, payment.AddOnOrder{ID: payment.PlanID(o.ID), Quantity: o.Quantity})
	}
	return orders
}

func toPendingChange(p *payment.PendingChange) openapi.SubscriptionPendingChange {
	return openapi.SubscriptionPendingChange{
		PlanID: openapi.OrNull(string(p.Plan)), Quantity: p.Quantity, At: openapi.Time(p.At),
	}
}

func toAction(a *payment.Action) nullable.Nullable[openapi.SubscriptionAction] {
	if a == nil {
		return nullable.NewNullNullable[openapi.SubscriptionAction]()
	}
	return nullable.NewNullableWithValue(openapi.SubscriptionAction{
		Type:         openapi.SubscriptionActionType(a.Type),
		ClientSecret: a.ClientSecret.Reveal(),
	})
}

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
