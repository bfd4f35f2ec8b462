package account_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

func TestAProofStandsUntil(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	org := &identity.Org{ID: "org", Issuers: []identity.Issuer{{URL: "https://issuer.example"}}}
	byKey := account.Proof{Key: account.NewToken().Hash()}
	bySignIn := account.Proof{Issuer: "https://issuer.example", Subject: "ann", Until: now.Add(time.Hour)}
	who := func(change func(*account.Principal)) *account.Principal {
		p := &account.Principal{Membership: account.Membership{Role: identity.Viewer},
			Key: account.Key{ExpiresAt: now.Add(time.Hour)}}
		change(p)
		return p
	}
	nothing := func(*account.Principal) {}
	for name, tt := range map[string]struct {
		proof  account.Proof
		org    *identity.Org
		who    *account.Principal
		at     time.Time
		stands bool
	}{
		"of a key: nothing happens": {byKey, org, who(nothing), now, true},
		"of a key without a user":   {byKey, org, nil, now, false},
		"of a key: it was revoked": {byKey, org, who(func(p *account.Principal) { p.Key.RevokedAt = now }),
			now, false},
		"of a key: it expires": {byKey, org, who(nothing), now.Add(time.Hour), false},
		"of a key: its bearer has left the team": {byKey, org,
			who(func(p *account.Principal) { p.Membership.Role = identity.NoRole }), now, false},
		"of a sign-in: nothing happens":         {bySignIn, org, &account.Principal{}, now, true},
		"of a sign-in: the subject is unlinked": {bySignIn, org, nil, now, false},
		"of a sign-in: the token ends":          {bySignIn, org, &account.Principal{}, now.Add(time.Hour), false},
		"of a sign-in: the issuer is none of theirs": {bySignIn, &identity.Org{ID: "org"},
			&account.Principal{}, now, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.proof.Valid(tt.org, tt.who, tt.at); got != tt.stands {
				t.Errorf("it stands: %v", got)
			}
		})
	}
}
