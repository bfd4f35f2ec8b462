package payments

import (
	"errors"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/payment"
)

const usagePath = paymentPaths + "/usage"

func toUsageRequest(in *openapi.UsageReport) payment.UsageRequest {
	return payment.UsageRequest{
		Feature: in.Feature, Quantity: in.Quantity, Key: in.IdempotencyKey, Timestamp: time.Time(in.Timestamp),
	}
}

func toUsageReported(u *payments.Reported) openapi.UsageReported {
	limit, remaining := limitOf(&u.Allowance)
	return openapi.UsageReported{
		Feature:     u.Name,
		Used:        u.Used,
		Limit:       limit,
		Remaining:   remaining,
		CreditPacks: convert.Slice(u.Packs, toPackBalance),
		Repeated:    u.Repeated,
		PeriodStart: openapi.Time(u.Period.Start),
		PeriodEnd:   openapi.Time(u.Period.End),
	}
}

func reportUsage(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.UsageReport](r)
	if err != nil {
		return server.Reply{}, err
	}
	u, err := r.Payments.ReportUsage(r.Context(), r.By, toUsageRequest(&in))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toUsageReported(u)), nil
}

func consumeUsage(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.UsageConsumption](r)
	if err != nil {
		return server.Reply{}, err
	}
	u, err := r.Payments.ConsumeUsage(r.Context(), r.By, payment.UsageRequest{
		Feature: in.Feature, Quantity: in.Quantity, Key: in.IdempotencyKey,
	})
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toUsageReported(u)), nil
}

func reportManyUsages(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.UsageReports](r)
	if err != nil {
		return server.Reply{}, err
	}
	all, err := r.Payments.ReportUsages(r.Context(), r.By, convert.Slice(in.Reports, toUsageRequest))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.UsageResults{Results: convert.Slice(all, toUsageResult)}), nil
}

// toUsageResult shows the usage after a report, or the problem that the report would have had alone.
func toUsageResult(u *payments.Reported) openapi.UsageResult {
	out := openapi.UsageResult{
		Usage: nullable.NewNullNullable[openapi.UsageReported](), Error: nullable.NewNullNullable[openapi.UsageError](),
	}
	if failure, isRefused := errors.AsType[*fault.Error](u.Refusal); isRefused {
		refusal := openapi.UsageError{Code: failure.Code, Detail: failure.Detail}
		for _, f := range failure.Fields {
			refusal.Errors = append(refusal.Errors,
				openapi.FieldError{Pointer: f.Pointer, Code: f.Code, Detail: f.Detail})
		}
		out.Error.Set(refusal)
		return out
	}
	out.Usage.Set(toUsageReported(u))
	return out
}

func getUsage(r *server.Call) (server.Reply, error) {
	from, err := dayOf(r.Query.Get("from"))
	to, failure := dayOf(r.Query.Get("to"))
	if err != nil || failure != nil {
		return server.Reply{}, payment.ErrUsageDays
	}
	feature := r.Query.Get("feature")
	if feature == "" {
		return server.Reply{}, openapi.ErrInvalidParameter.Because("The query parameter feature is required.")
	}
	h, err := r.Payments.UsageDays(r.Context(), r.By, feature, from, to)
	if err != nil {
		return server.Reply{}, err
	}
	out := openapi.UsageHistory{
		Feature: feature, From: h.From.Format(time.DateOnly), To: h.To.Format(time.DateOnly),
		Data: convert.Slice(h.Days, func(d *payment.UsageDay) openapi.UsageDay {
			return openapi.UsageDay{Date: d.Day.Format(time.DateOnly), Used: d.Used}
		}),
	}
	for _, d := range h.Days {
		out.Used += d.Used
	}
	return server.OK(out), nil
}

// dayOf returns when a day such as 2026-03-01 begins; zero for "".
func dayOf(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.DateOnly, text)
}
