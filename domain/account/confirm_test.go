package account_test

import (
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestConfirmAddress(t *testing.T) {
	for name, tt := range map[string]struct {
		by       identity.Actor
		change   func(*account.User)
		signedIn bool
		want     error
		verifier string
		ended    []identity.KeyID
	}{
		"another browser ends everything that opened the account": {browser(later), func(*account.User) {}, false, nil,
			account.VerifiedByMailbox, []identity.KeyID{"personal", "program", "child"}},
		"the same browser keeps it": {browser(later), func(*account.User) {}, true, nil, account.VerifiedByMailbox, nil},
		"an address that an issuer verified stays": {browser(later),
			func(u *account.User) { u.EmailVerifiedBy = "https://issuer.example" }, false, nil,
			"https://issuer.example", nil},
		"an account without an address gets none": {browser(later),
			func(u *account.User) { u.Email, u.EmailVerified = "", false }, false, nil,
			account.VerifiedByInvitation, nil},
		"not for a disabled account": {browser(later), func(u *account.User) { u.DisabledAt = now }, false,
			account.ErrUserNotFound, account.VerifiedByInvitation, nil},
		"not by a person": {person("admin"), func(*account.User) {}, false, account.ErrUserNotFound,
			account.VerifiedByInvitation, nil},
	} {
		t.Run(name, func(t *testing.T) {
			u := joined(t)
			u.ID = "member"
			tt.change(u)
			keys := offboardedKeys()
			endpoint := &account.Endpoint{Kind: account.Webhook, ID: "whk", Owner: "member"}
			a := &account.Access{User: u, MemberOf: []identity.WorkspaceID{"acme"},
				Powers: map[identity.WorkspaceID]account.Powers{"acme": {Keys: keys,
					Endpoints: []*account.Endpoint{endpoint}}}}
			require.ErrorIs(t, a.ConfirmAddress(tt.by, account.VerifiedByMailbox, tt.signedIn), tt.want)
			if u.EmailVerifiedBy != tt.verifier || !slices.Equal(endedKeys(keys), tt.ended) ||
				endpoint.LostAt.IsZero() != (tt.ended == nil) {
				t.Errorf("verified by %q, ended %v, endpoint %+v", u.EmailVerifiedBy, endedKeys(keys), endpoint)
			}
		})
	}
}

func TestAnUnconfirmedInviterIsRefused(t *testing.T) {
	w := acme()
	w.Sent.Unconfirmed = true
	_, _, err := w.Invite(person("admin"), "bob@example.com", identity.Viewer, "", nil)
	require.ErrorIs(t, err, account.ErrAddressUnconfirmed)
	_, _, err = w.InviteGuest(person("admin"), "bob@example.com", "", nil)
	require.ErrorIs(t, err, account.ErrAddressUnconfirmed)
	_, _, err = w.Invite(person("member"), "bob@example.com", identity.Viewer, "", nil)
	require.ErrorIs(t, err, identity.ErrForbidden)
}
