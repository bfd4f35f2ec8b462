package payment

// NextTerms are the plan and the quantity of a subscription after its period.
type NextTerms struct {
	Plan     PlanID `json:"plan,omitempty"`
	Quantity int    `json:"quantity,omitempty"`
}

// ChangedPlan returns the plan that ch gives the subscription, or gives back to it; nil if it gives none.
func (c *Customer) ChangedPlan(ch Changes) *PlanID {
	s := c.Subscription
	isUndone := s != nil && ch.CancelAtPeriodEnd != nil && !*ch.CancelAtPeriodEnd
	if ch.Plan == nil && isUndone && s.Item.Dropped.Plan != "" {
		return &s.Item.Dropped.Plan
	}
	return ch.Plan
}

// restore completes an operation that ends the subscription with its period, or undoes that. An end drops what was to
// change at the renewal, and its undoing brings that back: only if it still waits for a renewal, so that an undone
// cancellation costs nothing today.
func (c *Customer) restore(op *Operation, plans Plans) {
	s := c.Subscription
	switch p := s.Pending; {
	case op.Resell: // replaces it
	case *op.CancelAtPeriodEnd && p != nil && !p.Elsewhere:
		op.Drops = NextTerms{Plan: p.Plan, Quantity: p.Quantity}
	case !*op.CancelAtPeriodEnd && s.Item.Dropped.Plan != "":
		restored := *op
		restored.Plan, restored.Quantity = s.Item.Dropped.Plan, s.Item.Dropped.Quantity
		restored.Resell, restored.KeepQuantity = true, false
		if c.price(&restored, plans) == nil && restored.AtRenewal {
			*op = restored
		}
	}
}
