package accounts

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
)

// SecurityNotices stores what people are told by mail, in the table of invitation mails, in their own scope.
type SecurityNotices struct{ db *Store }

var _ ports.SecurityNotices = (*SecurityNotices)(nil)

// noticesRow is the stored form of account.SecurityNotices. A scope has a list with at most one.
type noticesRow struct {
	Pending []noticeRow `json:"pending"`
	HasMore bool        `json:"more"`
	Sent    []int64     `json:"sent"`
}

type noticeRow struct {
	Kind    account.SecurityNoticeKind `json:"kind"`
	Subject string                     `json:"subject"`
	Name    string                     `json:"name"`
	At      int64                      `json:"at"`
}

// noticeScope returns the scope of a person's notices.
func noticeScope(org identity.OrgID, user identity.UserID) string {
	return "notices " + string(org) + " " + string(user)
}

// Change implements ports.SecurityNotices.
func (s *SecurityNotices) Change(
	ctx context.Context, by identity.Actor, user identity.UserID, change func(*account.SecurityNotices) error,
) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		var rows []noticesRow
		scope := noticeScope(by.Org, user)
		if err := tx.lockMailed(ctx, scope, by.At, &rows); err != nil {
			return err
		}
		var notices account.SecurityNotices
		for i := range rows {
			notices = rows[i].notices(user)
		}
		if err := change(&notices); err != nil {
			return err
		}
		return tx.saveMailed(ctx, scope, []noticesRow{noticesRowOf(&notices)})
	})
}

func (r *noticesRow) notices(user identity.UserID) account.SecurityNotices {
	s := account.SecurityNotices{HasMore: r.HasMore}
	for _, n := range r.Pending {
		s.Pending = append(s.Pending, account.SecurityNotice{
			User: user, Kind: n.Kind, Subject: n.Subject, Name: n.Name, At: db.FromMicros(n.At),
		})
	}
	for _, micros := range r.Sent {
		s.Sent = append(s.Sent, db.FromMicros(micros))
	}
	return s
}

func noticesRowOf(s *account.SecurityNotices) noticesRow {
	r := noticesRow{HasMore: s.HasMore}
	for _, n := range s.Pending {
		r.Pending = append(r.Pending, noticeRow{n.Kind, n.Subject, n.Name, db.Micros(n.At)})
	}
	for _, mail := range s.Sent {
		r.Sent = append(r.Sent, db.Micros(mail))
	}
	return r
}

// Record records events as db.DB.Record does. It also adds the security notices that they lead to, so that no way to
// change an account, such as a claim rule, can forget them.
func (store *Store) Record(ctx context.Context, events []event.Event) error {
	if err := store.DB.Record(ctx, events); err != nil {
		return err
	}
	for i := range events {
		if n, ok := account.SecurityNoticeOf(&events[i]); ok {
			if err := store.addNotice(ctx, events[i].Org, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (store *Store) addNotice(ctx context.Context, org identity.OrgID, n account.SecurityNotice) error {
	by := identity.System(org, "", string(account.SecurityNoticeJob), n.At)
	var due time.Time
	if err := (&SecurityNotices{store}).Change(ctx, by, n.User, func(s *account.SecurityNotices) error {
		s.Add(n)
		due = s.Due(n.At)
		return nil
	}); err != nil {
		return err
	}
	return store.enqueue(ctx, store.DB, job.New(by, account.SecurityNoticeJob, string(n.User), due))
}
