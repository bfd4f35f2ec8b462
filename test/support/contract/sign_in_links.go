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
	t.Run("the user of a link can be read until it is taken", func(t *testing.T) {
		l := add()
		for range 2 {
			user, err := a.Second().Sessions.LinkUser(ctx, team.Org, l.Hash, fixture.At)
			must(t, err)
			same(t, "the user", user, team.Member.User)
		}
		_, err := a.Sessions.LinkUser(ctx, a.Orgs[1], l.Hash, fixture.At)
		wantErr(t, err, session.ErrLinkInvalid)
		_, err = a.Sessions.LinkUser(ctx, team.Org, l.Hash, fixture.At.Add(session.LinkLife))
		wantErr(t, err, session.ErrLinkInvalid)
		_, err = a.Sessions.TakeLink(ctx, team.Org, l.Hash, fixture.At)
		must(t, err)
		_, err = a.Sessions.LinkUser(ctx, team.Org, l.Hash, fixture.At)
		wantErr(t, err, session.ErrLinkInvalid)
	})
	t.Run("of many that take a link at once one gets it", func(t *testing.T) {
		l, previous := add(), 0
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
				previous++
				continue
			}
			wantErr(t, err, session.ErrLinkInvalid)
		}
		assert.Equal(t, "had it", previous, 1)
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
			mail := func(from string, instant time.Time, isEmpty bool) (mails session.LinkMails, l *session.Link) {
				t.Helper()
				by := signingIn(team.Org, instant)
				by.Request.Address = from
				must(t, a.Sessions.MailLink(ctx, by, u.Email,
					func(found *account.User, message session.LinkMails) (*session.Link, error) {
						if mails = message; found.ID != u.ID {
							t.Errorf("it is for %s", found.ID)
						}
						if isEmpty {
							return nil, nil
						}
						_, newLink, err := session.NewMailedLink(by, found, session.LinkMails{})
						l = newLink
						return l, err
					}))
				return mails, l
			}
			const one, other = "192.0.2.1", "2001:db8::7"
			nextMinute, future := fixture.At.Add(time.Second), fixture.At.Add(time.Hour)
			mailedMails, l := mail(one, fixture.At, true)
			same(t, "at first", mailedMails, session.LinkMails{})
			if l != nil {
				t.Errorf("mailed %v", l)
			}
			_, first := mail(one, fixture.At, false)
			_, printedLink, err := session.NewLink(signingIn(team.Org, fixture.At), u)
			must(t, err)
			must(t, a.Sessions.AddLink(ctx, printedLink))
			mailedMails, second := mail(other, nextMinute, false)
			same(t, "the mails", mailedMails, session.LinkMails{Usable: true,
				Sent: []session.LinkMail{{At: fixture.At, From: one}}})
			// Both work, and with the first that is used ends the other, but no link that was printed.
			batch, err := a.Sessions.TakeLink(ctx, team.Org, first.Hash, nextMinute)
			must(t, err)
			same(t, "the link", batch, first)
			_, err = a.Sessions.TakeLink(ctx, team.Org, second.Hash, nextMinute)
			wantErr(t, err, session.ErrLinkInvalid)
			_, err = a.Sessions.TakeLink(ctx, team.Org, printedLink.Hash, nextMinute)
			must(t, err)
			pairs := []session.LinkMail{{At: fixture.At, From: one}, {At: nextMinute, From: "2001:db8::/64"}}
			mailedMails, _ = mail(one, nextMinute, true)
			same(t, "the mails when one link was used", mailedMails, session.LinkMails{Sent: pairs})
			mailedMails, _ = mail(one, future, false)
			same(t, "the mails an hour later", mailedMails, session.LinkMails{Sent: pairs})
			mailedMails, _ = mail(one, future.Add(session.LinkLife), true)
			same(t, "the mails when the links have expired", mailedMails, session.LinkMails{
				Sent: append(pairs, session.LinkMail{At: future, From: one})})
			mailedMails, _ = mail(one, nextMinute.Add(24*time.Hour), true)
			same(
				t,
				"the mails a day later",
				mailedMails,
				session.LinkMails{Sent: []session.LinkMail{{At: future, From: one}}},
			)
			for org, email := range map[identity.OrgID]string{team.Org: "nobody@example.com", a.Orgs[1]: u.Email} {
				wantErr(t, a.Sessions.MailLink(ctx, signingIn(org, future), email, nil), account.ErrUserNotFound)
			}
		},
	)
}
