package payments

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
)

func getPaymentOverview(r *server.Call) (server.Reply, error) {
	o, err := r.Payments.Overview(r.Context(), r.By)
	if err != nil {
		return server.Reply{}, err
	}
	money := func(m *payment.Money) openapi.Money { return toMoney(*m) }
	out := openapi.PaymentOverview{
		AsOf: openapi.Time(o.At), Mrr: convert.Slice(o.Monthly, money), Subscriptions: map[string]int{},
		PastDue: openapi.OverviewPastDue{
			Subscriptions: o.Count[payment.PastDue] + o.Count[payment.Unpaid], Amount: convert.Slice(o.Overdue, money),
		},
		TrialsEnding: o.TrialsEnding,
		Churn: openapi.OverviewChurn{
			Since: openapi.Time(o.Since), Subscriptions: o.Started, Ended: o.Lost,
			Rate: nullable.NewNullNullable[float64](),
		},
		Gateway: openapi.PaymentGateway(r.Payments.GatewayOf(r.By.Org)),
	}
	for status, n := range o.Count {
		out.Subscriptions[string(status)] = n
	}
	if o.Started > 0 {
		out.Churn.Rate.Set(float64(o.Lost) / float64(o.Started))
	}
	return server.OK(out), nil
}

func listSubscriptions(r *server.Call) (server.Reply, error) {
	status := payment.Status(r.Query.Get("status"))
	return server.List(r, toWorkspaceSubscription, func(q page.Query) (page.Of[payments.Listed], error) {
		return r.Payments.Subscriptions(r.Context(), r.By, status, q)
	})
}

func toWorkspaceSubscription(s *payments.Listed) openapi.WorkspaceSubscription {
	return openapi.WorkspaceSubscription{
		ID:               string(s.ID),
		WorkspaceID:      string(s.Workspace),
		WorkspaceName:    s.WorkspaceName,
		PlanID:           openapi.OrNull(string(s.Plan)),
		Quantity:         s.Quantity,
		Status:           openapi.WorkspaceSubscriptionStatus(s.Status),
		Entitled:         s.Entitled,
		MonthlyRevenue:   orNullMoney(s.Monthly),
		AmountDue:        orNullMoney(payment.Money{Amount: s.Due, Currency: s.Monthly.Currency}),
		CurrentPeriodEnd: openapi.Time(s.PeriodEnd),
		TrialEnd:         convert.OrNullTime(s.TrialEnd),
		EndsAt:           convert.OrNullTime(s.EndsAt),
		PastDueSince:     convert.OrNullTime(s.PastDueSince),
		CreatedAt:        openapi.Time(s.CreatedAt),
		EndedAt:          convert.OrNullTime(s.EndedAt),
	}
}

// orNullMoney returns m; null without a currency.
func orNullMoney(m payment.Money) nullable.Nullable[openapi.Money] {
	if m.Currency == "" {
		return nullable.NewNullNullable[openapi.Money]()
	}
	return nullable.NewNullableWithValue(toMoney(m))
}

func createPaymentAdjustment(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.PaymentAdjustmentCreate](r)
	if err != nil {
		return nil, err
	}
	a, err := r.Payments.Adjust(r.Context(), r.By, gatewayKey(r), identity.WorkspaceID(in.WorkspaceID),
		payment.Adjustment{
			Kind:   payment.AdjustmentKind(in.Kind),
			Reason: in.Reason,
			Plan:   payment.PlanID(in.PlanID),
			Months: in.Months,
			Days:   in.Days,
			Credit: payment.Money{Amount: in.Amount, Currency: in.Currency},
		})
	if err != nil {
		return nil, err
	}
	out := openapi.PaymentAdjustment{
		WorkspaceID: string(a.Workspace), Kind: openapi.AdjustmentKind(a.Kind), Reason: a.Reason,
		Subscription: nullable.NewNullNullable[openapi.Subscription](),
		Credit:       nullable.NewNullNullable[openapi.Money](), Gateway: openapi.PaymentGateway(a.Gateway),
	}
	if a.Subscription != nil {
		out.Subscription.Set(toSubscription(a.Subscription))
	}
	if a.Credit.Amount > 0 {
		out.Credit.Set(toMoney(a.Credit))
	}
	return server.Respond(server.OK(out)), nil
}
