package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func signInLinks(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	add := func() *session.Link {
		t.Helper()
		_, l, err := session.NewLink(signingIn(team.Org, fixture.At),
			&account.User{ID: team.Member.User, Org: team.Org})
		must(t, err)
		must(t, a.Sessions.AddLink(ctx, l))
		return l
	}
	t.Run("a link is returned unchanged, once", func(t *testing.T) {
		want := add()
		got, err := a.Second().Sessions.TakeLink(ctx, team.Org, want.Hash, fixture.At)
		must(t, err)
		same(t, "the link", got, want)
		_, err = a.Sessions.TakeLink(ctx, team.Org, want.Hash, fixture.At)
		wantErr(t, err, session.ErrLinkInvalid)
	})
	t.Run("of many that take a link at once one gets it", func(t *testing.T) {
		l, had := add(), 0
		second := a.Second()
		for _, err := range atOnce(8, func(i int) error {
			s := a.Stores
			if i%2 == 1 {
				s = second
			}
			_, err := s.Sessions.TakeLink(ctx, team.Org, l.Hash, fixture.At)
			return err
		}) {
			if err == nil {
				had++
				continue
			}
			wantErr(t, err, session.ErrLinkInvalid)
		}
		assert.Equal(t, "had it", had, 1)
	})
	t.Run("a link that has expired, or of another org, is not found", func(t *testing.T) {
		l := add()
		_, err := a.Sessions.TakeLink(ctx, a.Orgs[1], l.Hash, fixture.At)
		wantErr(t, err, session.ErrLinkInvalid)
		_, err = a.Sessions.TakeLink(ctx, team.Org, l.Hash, fixture.At.Add(session.LinkLife))
		wantErr(t, err, session.ErrLinkInvalid)
	})
	t.Run(
		"MailLink stores a link, and when and for which addresses links were mailed to the mailbox",
		func(t *testing.T) {
			u, _, err := a.Users.Get(ctx, team.Org, team.Peer.User)
			must(t, err)
			mail := func(from string, at time.Time, none bool) (mailed session.LinkMails, l *session.Link) {
				t.Helper()
				by := signingIn(team.Org, at)
				by.Request.Address = from
				must(t, a.Sessions.MailLink(ctx, by, u.Email,
					func(found *account.User, sent session.LinkMails) (*session.Link, error) {
						if mailed = sent; found.ID != u.ID {
							t.Errorf("it is for %s", found.ID)
						}
						if none {
							return nil, nil
						}
						_, made, err := session.NewMailedLink(by, found, session.LinkMails{})
						l = made
						return l, err
					}))
				return mailed, l
			}
			const one, other = "192.0.2.1", "2001:db8::7"
			soon, later := fixture.At.Add(time.Second), fixture.At.Add(time.Hour)
			mailed, l := mail(one, fixture.At, true)
			same(t, "at first", mailed, session.LinkMails{})
			if l != nil {
				t.Errorf("mailed %v", l)
			}
			_, first := mail(one, fixture.At, false)
			_, printed, err := session.NewLink(signingIn(team.Org, fixture.At), u)
			must(t, err)
			must(t, a.Sessions.AddLink(ctx, printed))
			mailed, second := mail(other, soon, false)
			same(t, "the mails", mailed, session.LinkMails{Usable: true,
				Sent: []session.LinkMail{{At: fixture.At, From: one}}})
			// Both work, and with the first that is used ends the other, but no link that was printed.
			taken, err := a.Sessions.TakeLink(ctx, team.Org, first.Hash, soon)
			must(t, err)
			same(t, "the link", taken, first)
			_, err = a.Sessions.TakeLink(ctx, team.Org, second.Hash, soon)
			wantErr(t, err, session.ErrLinkInvalid)
			_, err = a.Sessions.TakeLink(ctx, team.Org, printed.Hash, soon)
			must(t, err)
			both := []session.LinkMail{{At: fixture.At, From: one}, {At: soon, From: "2001:db8::/64"}}
			mailed, _ = mail(one, soon, true)
			same(t, "the mails when one link was used", mailed, session.LinkMails{Sent: both})
			mailed, _ = mail(one, later, false)
			same(t, "the mails an hour later", mailed, session.LinkMails{Sent: both})
			mailed, _ = mail(one, later.Add(session.LinkLife), true)
			same(t, "the mails when the links have expired", mailed, session.LinkMails{
				Sent: append(both, session.LinkMail{At: later, From: one})})
			mailed, _ = mail(one, soon.Add(24*time.Hour), true)
			same(
				t,
				"the mails a day later",
				mailed,
				session.LinkMails{Sent: []session.LinkMail{{At: later, From: one}}},
			)
			for org, email := range map[identity.OrgID]string{team.Org: "nobody@example.com", a.Orgs[1]: u.Email} {
				wantErr(t, a.Sessions.MailLink(ctx, signingIn(org, later), email, nil), account.ErrUserNotFound)
			}
		},
	)
}
