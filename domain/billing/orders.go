package billing

// Order returns the request to the gateway for a Subscribe.
func (o *Operation) Order(p Plan) Order {
	return Order{
		Plan: p, Quantity: o.Quantity, Method: o.Method, TrialDays: o.TrialDays, AutomaticTax: o.AutomaticTax,
		Promotion: o.Promotion,
	}
}

// Amendment returns the request to the gateway for a Change.
func (o *Operation) Amendment(p Plan) Amendment {
	return Amendment{Plan: p, Quantity: o.Quantity, AtRenewal: o.AtRenewal, Resell: o.Resell,
		CancelAtPeriodEnd: o.CancelAtPeriodEnd, Keep: o.Keep, ProrateAt: o.ProrateAt, Promotion: o.Promotion,
		Pause: o.Pause, PaidUntil: o.PaidUntil, Cancellation: o.Cancellation}
}
