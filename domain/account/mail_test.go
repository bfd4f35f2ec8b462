package account_test

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestMail(t *testing.T) {
	limits := account.MailLimits{WorkspacePerDay: 3, UserPerHour: 2, AddressPerDay: 1}
	ago := func(all ...time.Duration) (positions []time.Time) {
		for _, d := range all {
			positions = append(positions, later.Add(-d))
		}
		return positions
	}
	const day = 24 * time.Hour
	for name, tt := range map[string]struct {
		sent   account.Sent
		limits account.MailLimits
		want   bool
	}{
		"the first one is mailed":                               {account.Sent{}, limits, true},
		"none is mailed without limits":                         {account.Sent{}, account.MailLimits{}, false},
		"the workspace has one left":                            {account.Sent{Workspace: ago(5*time.Hour, 4*time.Hour)}, limits, true},
		"the workspace has none left":                           {account.Sent{Workspace: ago(day-1, 4*time.Hour, 3*time.Hour)}, limits, false},
		"a day later it has":                                    {account.Sent{Workspace: ago(day, 4*time.Hour, 3*time.Hour)}, limits, true},
		"the user has one left":                                 {account.Sent{User: ago(time.Minute)}, limits, true},
		"the user has none left":                                {account.Sent{User: ago(time.Hour-1, time.Second)}, limits, false},
		"an hour later they have":                               {account.Sent{User: ago(time.Hour, time.Second)}, limits, true},
		"the mailbox had its mail of the day":                   {account.Sent{Address: ago(day - 1)}, limits, false},
		"the mailbox had it the day before":                     {account.Sent{Address: ago(day)}, limits, true},
		"the workspace mailed the address a moment ago":         {account.Sent{MailedAt: later.Add(-time.Second)}, limits, false},
		"the workspace mailed it within ten minutes":            {account.Sent{MailedAt: later.Add(-10*time.Minute + 1)}, limits, false},
		"the workspace mailed it ten minutes ago":               {account.Sent{MailedAt: later.Add(-10 * time.Minute)}, limits, true},
		"another request, which came later, was mailed already": {account.Sent{MailedAt: later.Add(time.Second)}, limits, false},
	} {
		// an earlier one may have been withdrawn
		for _, pending := range []*account.Invitation{nil, invitation(identity.Viewer)} {
			t.Run(name, func(t *testing.T) {
				w, last := acme(), tt.sent.MailedAt
				w.Sent = tt.sent
				i, token, err := w.Invite(person("admin"), "New@Example.com", identity.Viewer, "", pending)
				require.NoError(t, err)
				w.Mail(person("admin"), i, tt.limits)
				if tt.want {
					last = later
				}
				if i.Mailed() != tt.want || i.MailedAt != last || i.Hash != token.Hash() {
					t.Errorf("mailed %v, last at %v", i.Mailed(), i.MailedAt)
				}
				for scope, counts := range map[string][]time.Time{"workspace": w.Sent.Workspace, "user": w.Sent.User,
					"address": w.Sent.Address} {
					if slices.Contains(counts, later) != tt.want {
						t.Errorf("counted for the %s: %v", scope, counts)
					}
				}
			})
		}
	}
}

func TestOnlyPublicDomainsAreMailed(t *testing.T) {
	for email, want := range map[string]bool{
		"ann@example.com": true, "ann@example.co.uk": true, "用户@例子.测试": true, "ann@mail.corp.internal": true,
		"root@localhost": false, "root@LocalHost": false, "root@db.localhost": false, "ann@intranet": false,
		"a@[127.0.0.1]": false, "a@[IPv6:::1]": false, "a@[IPv6:fe80::1.example]": false, "a@127.0.0.1": false,
		"a@0x7f.0x1":   false,
		"a@localhost.": false, "a@.com": false,
	} {
		w := acme()
		i, token, err := w.Invite(person("admin"), email, identity.Viewer, "", nil)
		require.NoError(t, err)
		w.Mail(person("admin"), i, account.MailLimits{WorkspacePerDay: 1, UserPerHour: 1, AddressPerDay: 1})
		if i.Mailed() != want || i.Hash != token.Hash() || (len(w.Sent.Workspace) == 1) != want {
			t.Errorf("%q: mailed %v", email, i.Mailed())
		}
	}
}

func TestMailbox(t *testing.T) {
	for email, want := range map[string]string{
		"ann@example.com": "ann@example.com", "ANN@Example.COM": "ann@example.com",
		"a.nn@example.com":  "a.nn@example.com",
		"ann+x@example.com": "ann@example.com", "ann+x+y@example.com": "ann@example.com",
		"+x@example.com":    "+x@example.com",
		"a.n.n+x@gmail.com": "ann@gmail.com", "Ann@GoogleMail.com": "ann@gmail.com", "a+b": "a+b", "": "",
	} {
		if got := account.Mailbox(email); got != want {
			t.Errorf("Mailbox(%q) = %q, want %q", email, got, want)
		}
	}
}
