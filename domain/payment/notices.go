package payment

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// NoticeKind is a notice's kind, which is the type of its event, too.
type NoticeKind string

// The kinds.
const (
	PaymentFailed NoticeKind = "payment.failed" // a renewal, or the first payment after a trial, failed
	TrialEnding   NoticeKind = "trial.ending"
	CardExpiring  NoticeKind = "card.expiring" // the default payment method, while a subscription is live
)

// NoticeKinds returns all kinds.
func NoticeKinds() []NoticeKind { return []NoticeKind{PaymentFailed, TrialEnding, CardExpiring} }

// When notices are due, and how many are remembered.
const (
	trialEndsWithin   = 3 * 24 * time.Hour
	cardExpiresWithin = 30 * 24 * time.Hour
	maxNotices        = 50
)

// Notice informs a workspace of something that needs its attention. Each is given once.
type Notice struct {
	Kind NoticeKind     `json:"kind"`
	Key  string         `json:"key"` // what it is about; Kind and Key identify it in the workspace
	At   time.Time      `json:"at"`
	Data map[string]any `json:"data"` // of the event; no secrets
}

// Subject identifies n in its workspace, as the subject of a job that mails it to a user.
func (n *Notice) Subject(user identity.UserID) string {
	return string(n.Kind) + " " + n.Key + " " + string(user)
}

// ParseNoticeSubject is the inverse of Subject: it returns the customer's notice, or nil, and the user.
func (c *Customer) ParseNoticeSubject(subject string) (*Notice, identity.UserID) {
	parts := strings.Split(subject, " ")
	if len(parts) != 3 {
		return nil, ""
	}
	i := slices.IndexFunc(c.Notices, func(n Notice) bool { return string(n.Kind) == parts[0] && n.Key == parts[1] })
	if i < 0 {
		return nil, ""
	}
	return &c.Notices[i], identity.UserID(parts[2])
}

// DueNotices returns the notices that are due at now, the time at the gateway, and were not given.
func (c *Customer) DueNotices(now time.Time, grace time.Duration) []Notice {
	var due []Notice
	add := func(kind NoticeKind, key string, data map[string]any) {
		isGiven := func(n Notice) bool { return n.Kind == kind && n.Key == key }
		if !slices.ContainsFunc(c.Notices, isGiven) {
			due = append(due, Notice{Kind: kind, Key: key, At: now, Data: data})
		}
	}
	s := c.Subscription
	if s == nil {
		return nil
	}
	if s.Status == PastDue || s.Status == Unpaid {
		start := s.PastDueSince
		if start.IsZero() {
			start = s.PeriodStart
		}
		add(PaymentFailed, fmt.Sprintf("%s/%d", s.ID, start.Unix()), map[string]any{
			"subscription_id": s.ID, "plan_id": s.Plan, "status": s.Status, "since": start,
			"entitled_until": start.Add(grace),
		})
	}
	if s.Status == Trialing && !s.CancelAtPeriodEnd && !now.Before(s.TrialEnd.Add(-trialEndsWithin)) &&
		now.Before(s.TrialEnd) {
		add(TrialEnding, fmt.Sprintf("%s/%d", s.ID, s.TrialEnd.Unix()), map[string]any{
			"subscription_id": s.ID, "plan_id": s.Plan, "trial_end": s.TrialEnd,
			"has_payment_method": c.DefaultMethod() != nil,
		})
	}
	if m := c.DefaultMethod(); m != nil && m.ExpYear != 0 && s.Status.Live() && m.Expired(now.Add(cardExpiresWithin)) {
		add(CardExpiring, fmt.Sprintf("%s/%d-%02d", m.ID, m.ExpYear, m.ExpMonth), map[string]any{
			"payment_method_id": m.ID, "brand": m.Brand, "last4": m.Last4, "exp_month": m.ExpMonth,
			"exp_year": m.ExpYear,
		})
	}
	return due
}

// Notify gives the notices that are due at now: it records an event for each, and returns them. A notice
// that was given is not given again.
func (c *Customer) Notify(by identity.Actor, now time.Time, grace time.Duration) []Notice {
	due := c.DueNotices(now, grace)
	for _, n := range due {
		c.Record(by, string(n.Kind), string(c.ID), n.Data)
		c.Notices = append(c.Notices, n)
	}
	c.Notices = c.Notices[max(len(c.Notices)-maxNotices, 0):]
	return due
}
