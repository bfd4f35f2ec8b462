package payments

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/payment"
)

func previewSubscriptionChange(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.SubscriptionPreviewRequest](r)
	if err != nil {
		return server.Reply{}, err
	}
	p, err := r.Payments.PreviewChange(r.Context(), r.By, payment.Changes{
		Plan:              (*payment.PlanID)(in.PlanID),
		Quantity:          in.Quantity,
		AddOns:            toAddOnOrders(in.AddOns),
		CancelAtPeriodEnd: in.CancelAtPeriodEnd,
		EndTrial:          in.Trial != nil && !*in.Trial,
		Code:              in.PromotionCode,
	})
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.SubscriptionPreview{
		PlanID:    openapi.OrNull(string(p.Plan)),
		Quantity:  p.Quantity,
		AtRenewal: p.AtRenewal,
		DueToday:  toMoney(p.Today),
		DueNext:   toMoney(p.Next),
		DueNextAt: convert.OrNullTime(p.NextAt),
		Credit:    toMoney(p.Credit),
		Signature: p.Signature,
		ExpiresAt: openapi.Time(p.ExpiresAt()),
		Gateway:   openapi.PaymentGateway(p.Gateway),
	}), nil
}
