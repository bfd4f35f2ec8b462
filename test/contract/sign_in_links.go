package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/fixture"
)

func signInLinks(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	add := func() *account.SignInLink {
		t.Helper()
		_, l, err := account.NewSignInLink(signingIn(team.Org, fixture.At),
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
		wantErr(t, err, account.ErrLinkInvalid)
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
			wantErr(t, err, account.ErrLinkInvalid)
		}
		if had != 1 {
			t.Errorf("%d had it", had)
		}
	})
	t.Run("a link that has expired, or of another org, is not found", func(t *testing.T) {
		l := add()
		_, err := a.Sessions.TakeLink(ctx, a.Orgs[1], l.Hash, fixture.At)
		wantErr(t, err, account.ErrLinkInvalid)
		_, err = a.Sessions.TakeLink(ctx, team.Org, l.Hash, fixture.At.Add(account.LinkLife))
		wantErr(t, err, account.ErrLinkInvalid)
	})
	t.Run("MailLink stores a link, and when links were mailed to the mailbox", func(t *testing.T) {
		u, _, err := a.Users.Get(ctx, team.Org, team.Peer.User)
		must(t, err)
		mail := func(email string, at time.Time, none bool) (mailed []time.Time, l *account.SignInLink) {
			t.Helper()
			by := signingIn(team.Org, at)
			must(t, a.Sessions.MailLink(ctx, by, email,
				func(found *account.User, sent []time.Time) (*account.SignInLink, error) {
					if mailed = sent; found.ID != u.ID {
						t.Errorf("it is for %s", found.ID)
					}
					if none {
						return nil, nil
					}
					_, made, err := account.NewSignInLink(by, found)
					l = made
					return l, err
				}))
			return mailed, l
		}
		later := fixture.At.Add(time.Hour)
		if mailed, l := mail(u.Email, fixture.At, true); len(mailed) > 0 || l != nil {
			t.Errorf("mailed %v", mailed)
		}
		_, l := mail(u.Email, fixture.At, false)
		_, err = a.Sessions.TakeLink(ctx, team.Org, l.Hash, fixture.At)
		must(t, err)
		mailed, _ := mail(u.Email, later, false)
		same(t, "the mails", mailed, []time.Time{fixture.At})
		mailed, _ = mail(u.Email, fixture.At.Add(24*time.Hour), true)
		same(t, "the mails a day later", mailed, []time.Time{later})
		for org, email := range map[identity.OrgID]string{team.Org: "nobody@example.com", a.Orgs[1]: u.Email} {
			wantErr(t, a.Sessions.MailLink(ctx, signingIn(org, later), email, nil), account.ErrUserNotFound)
		}
	})
}
