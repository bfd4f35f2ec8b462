package payments

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/payment"
)

// getEntitlements has a constant revision: no operation changes entitlements, so the hash in the ETag identifies them.
func getEntitlements(r *server.Call) (server.Reply, error) {
	e, err := r.Payments.Entitlements(r.Context(), r.By)
	if err != nil {
		return server.Reply{}, err
	}
	out := openapi.Entitlements{
		PlanID:      nullable.NewNullNullable[string](),
		Status:      openapi.OrNull(openapi.EntitlementsStatus(e.Status)),
		Entitled:    e.Entitled,
		Features:    []string{},
		Limits:      map[string]openapi.EntitlementLimit{},
		PeriodStart: openapi.Time(e.Period.Start),
		PeriodEnd:   openapi.Time(e.Period.End),
	}
	if e.Plan != nil {
		out.PlanID, out.Features = nullable.NewNullableWithValue(string(e.Plan.ID)), convert.NonNil(e.Plan.Features)
	}
	for i := range e.Limits {
		out.Limits[e.Limits[i].Name] = toEntitlementLimit(&e.Limits[i])
	}
	return server.OK(out).WithRevision(1), nil
}

func toEntitlementLimit(a *payment.Allowance) openapi.EntitlementLimit {
	limit, remaining := limitOf(a)
	out := openapi.EntitlementLimit{
		Limit:     limit,
		Used:      a.Used,
		Remaining: remaining,
		Source:    openapi.EntitlementLimitSource(a.Origin),
		CountedBy: openapi.EntitlementLimitCountedByAtrium,

		CreditPacks: convert.Slice(a.Packs, toPackBalance),
	}
	if a.Counted {
		out.CountedBy = openapi.EntitlementLimitCountedByApplication
		out.PeriodStart, out.PeriodEnd = openapi.Time(a.Period.Start), openapi.Time(a.Period.End)
	}
	return out
}

// limitOf returns a limit and the remaining amount; null if there is no limit.
func limitOf(a *payment.Allowance) (limit, remaining nullable.Nullable[int64]) {
	if a.Origin == payment.NoLimit {
		return nullable.NewNullNullable[int64](), nullable.NewNullNullable[int64]()
	}
	return nullable.NewNullableWithValue(a.Limit), nullable.NewNullableWithValue(max(a.Limit-a.Used, 0))
}
