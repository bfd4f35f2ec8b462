package contract

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// SecurityNotices is the suite for ports.SecurityNotices, and for the stores that add to it.
func SecurityNotices(t *testing.T, open Opener) {
	a := open(t)
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	system := identity.System(team.Org, "", "test", fixture.At)
	notices := func(s ports.SecurityNotices, user identity.UserID) (all account.SecurityNotices) {
		t.Helper()
		must(t, s.Change(ctx, system, user, func(n *account.SecurityNotices) error {
			all = *n
			return nil
		}))
		return all
	}
	queued := func(user identity.UserID) []job.Entry {
		t.Helper()
		found, err := a.Jobs.History(ctx, "", string(user), page.Query{Limit: 10})
		must(t, err)
		return found.Items
	}
	t.Run("Change saves what it was given, for one user of one org", func(t *testing.T) {
		want := account.SecurityNotices{
			Pending: []account.SecurityNotice{
				{User: "ann", Kind: account.KeyNotice, Subject: "key_1", Name: "CI \"1\"", At: fixture.At},
				{User: "ann", Kind: account.PasskeyNotice, Subject: "psk_1", At: fixture.At.Add(time.Second)},
			},
			HasMore: true, Sent: []time.Time{fixture.At, fixture.At.Add(time.Minute)},
		}
		same(t, "at first", notices(a.SecurityNotices, "ann"), account.SecurityNotices{})
		must(t, a.SecurityNotices.Change(ctx, system, "ann", func(n *account.SecurityNotices) error {
			*n = want
			return nil
		}))
		wantErr(t, a.SecurityNotices.Change(ctx, system, "ann", func(n *account.SecurityNotices) error {
			n.Pending = nil
			return errBoom
		}), errBoom)
		same(t, "what was saved", notices(a.SecurityNotices, "ann"), want)
		same(t, "of another user", notices(a.SecurityNotices, "bob"), account.SecurityNotices{})
		elsewhere := identity.System(a.Orgs[1], "", "test", fixture.At)
		must(t, a.SecurityNotices.Change(ctx, elsewhere, "ann", func(n *account.SecurityNotices) error {
			same(t, "in another org", *n, account.SecurityNotices{})
			return nil
		}))
	})
	t.Run("concurrent changes for one user wait for each other", func(t *testing.T) {
		must(t, errors.Join(atOnce(20, func(int) error {
			return a.SecurityNotices.Change(ctx, system, "carl", func(n *account.SecurityNotices) error {
				n.Sent = append(n.Sent, fixture.At)
				return nil
			})
		})...))
		same(t, "mails", len(notices(a.SecurityNotices, "carl").Sent), 20)
	})
	t.Run("a passkey, a key and a browser add a notice each, and queue one mail", func(t *testing.T) {
		by := inSession(team.Peer)
		user := by.User
		passkey, err := addPasskey(t, a.Stores, by, "noticed")
		must(t, err)
		key := addKey(t, a.Stores, team.Peer, account.KeyDraft{Name: "noticed"})
		opener := signingIn(team.Org, fixture.At)
		var one *session.Session
		must(t, a.Sessions.Update(ctx, opener, user,
			func(p *account.Person, live []*session.Session) (_ *session.Session, err error) {
				if one, _, err = session.Open(opener, p, session.ByLink, nil, "", live); err == nil {
					p.User.CreatedAt = fixture.At.Add(-time.Hour)
					one.NoteDevice(opener, p, nil, live)
				}
				return one, err
			}))
		same(t, "pending", notices(a.SecurityNotices, user).Pending, []account.SecurityNotice{
			{User: user, Kind: account.PasskeyNotice, Subject: string(passkey.ID), At: by.At},
			{User: user, Kind: account.KeyNotice, Subject: string(key.ID), Name: "noticed", At: fixture.At},
			{User: user, Kind: account.DeviceNotice, Subject: string(one.ID), At: fixture.At},
		})
		jobs := queued(user)
		if len(jobs) != 1 || jobs[0].Kind != account.SecurityNoticeJob || jobs[0].State != job.Queued {
			t.Errorf("the jobs are %+v", jobs)
		}
	})
	t.Run("a change that is rolled back leaves no notice", func(t *testing.T) {
		user := team.Viewer.User
		wantErr(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			_, err := addPasskey(t, tx, inSession(team.Viewer), "rolled back")
			must(t, err)
			return errBoom
		}), errBoom)
		same(t, "pending", notices(a.SecurityNotices, user), account.SecurityNotices{})
		same(t, "jobs", len(queued(user)), 0)
	})
	t.Run("a new operator gets a notice, even from the command line", func(t *testing.T) {
		user := team.Admin.User
		must(t, a.People.ChangeAccess(ctx, system, user, func(found *account.Access) error {
			return found.SetOperator(system, true)
		}))
		pending := notices(a.SecurityNotices, user).Pending
		if len(pending) != 1 || pending[0].Kind != account.OperatorNotice || pending[0].Subject != string(user) {
			t.Errorf("pending %+v", pending)
		}
	})
}
