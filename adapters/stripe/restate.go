package stripe

import (
	"reflect"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// furtherTerms returns a phase's terms besides its items, for one that begins and ends at the times of target: the
// phase itself, or a part of it. The terms that a phase does not have of its own are the schedule's default settings,
// which no call changes.
func furtherTerms(
	phase *stripe.SubscriptionSchedulePhase, target payment.Phase, current bool,
) *stripe.SubscriptionScheduleUpdatePhaseParams {
	p := &stripe.SubscriptionScheduleUpdatePhaseParams{Metadata: map[string]string{}}
	restateFields(p, phase)
	p.Items, p.StartDate = nil, stripe.Int64(target.Start.Unix())
	if p.EndDate = nil; target.End.IsZero() {
		p.Duration = &stripe.SubscriptionScheduleUpdatePhaseDurationParams{
			Interval:      stripe.String(string(target.Lasts.Interval)),
			IntervalCount: stripe.Int64(int64(target.Lasts.IntervalCount)),
		}
	} else {
		p.EndDate = stripe.Int64(target.End.Unix())
	}
	second := *p.StartDate != phase.StartDate
	if current || second { // what happens once, when a phase begins, has happened
		p.AddInvoiceItems = nil
	}
	if second {
		p.BillingCycleAnchor = nil
	}
	// A trial must end before its phase does; one of the whole phase is named in another way
	// (https://docs.stripe.com/api/subscription_schedules/update#update_subscription_schedule-phases-trial_end).
	switch end := p.EndDate; {
	case phase.TrialEnd <= *p.StartDate:
		p.TrialEnd = nil
	case end != nil && phase.TrialEnd >= *end:
		p.TrialEnd, p.Trial = nil, stripe.Bool(true)
	}
	return p
}

// restateFields copies what an object of Stripe has into the parameters of the same names, so that a term which the
// library learns of is kept, too. Both are pointers to structs.
func restateFields(params, object any) {
	target, source := reflect.ValueOf(params).Elem(), reflect.ValueOf(object).Elem()
	for n := range target.NumField() {
		value := source.FieldByName(target.Type().Field(n).Name)
		if value.IsValid() && (!value.IsZero() || value.Kind() == reflect.Bool) {
			target.Field(n).Set(restated(value, target.Field(n).Type()))
		}
	}
}

// restated returns an object's value as a parameter of the type param: objects that have an ID by it, lists one by one.
func restated(value reflect.Value, param reflect.Type) reflect.Value {
	switch param.Kind() {
	case reflect.Slice:
		list := reflect.MakeSlice(param, 0, value.Len())
		for n := range value.Len() {
			list = reflect.Append(list, restated(value.Index(n), param.Elem()))
		}
		return list
	case reflect.Map:
		out := reflect.MakeMapWithSize(param, value.Len())
		for _, key := range value.MapKeys() {
			out.SetMapIndex(key, value.MapIndex(key))
		}
		return out
	}
	out := reflect.New(param.Elem())
	if param.Elem().Kind() == reflect.Struct {
		restateFields(out.Interface(), value.Interface())
		keepOneName(out.Elem())
		return out
	}
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if value.Kind() == reflect.Struct {
		value = value.FieldByName("ID")
	}
	out.Elem().Set(value.Convert(param.Elem()))
	return out
}

// keepOneName leaves a discount one name, because Stripe takes only one: the name of the discount that runs, else what
// begins it.
func keepOneName(discount reflect.Value) {
	isNamed := false
	for _, name := range []string{"Discount", "PromotionCode", "Coupon"} {
		f := discount.FieldByName(name)
		if f.IsValid() && isNamed {
			f.SetZero()
		}
		isNamed = isNamed || (f.IsValid() && !f.IsNil())
	}
}
