package session_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestAProofStandsUntil(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	org := &identity.Org{ID: "org", Issuers: []identity.Issuer{{URL: "https://issuer.example"}}}
	byKey := session.Proof{Key: account.NewToken().Hash()}
	bySignIn := session.Proof{Issuer: "https://issuer.example", Subject: "ann", Until: now.Add(time.Hour)}
	personPrincipal := func(change func(*session.Principal)) *session.Principal {
		p := &session.Principal{Principal: account.Principal{
			Membership: account.Membership{Role: identity.Viewer}, Key: account.Key{ExpiresAt: now.Add(time.Hour)},
		}}
		change(p)
		return p
	}
	nothing := func(*session.Principal) {}
	for name, tt := range map[string]struct {
		proof  session.Proof
		org    *identity.Org
		who    *session.Principal
		at     time.Time
		stands bool
	}{
		"of a key: nothing happens": {byKey, org, personPrincipal(nothing), now, true},
		"of a key without a user":   {byKey, org, nil, now, false},
		"of a key: it was revoked": {byKey, org, personPrincipal(func(p *session.Principal) { p.Key.RevokedAt = now }),
			now, false},
		"of a key: it expires": {byKey, org, personPrincipal(nothing), now.Add(time.Hour), false},
		"of a key: its bearer has left the team": {byKey, org,
			personPrincipal(func(p *session.Principal) { p.Membership.Role = identity.NoRole }), now, false},
		"of a sign-in: nothing happens":         {bySignIn, org, &session.Principal{}, now, true},
		"of a sign-in: the subject is unlinked": {bySignIn, org, nil, now, false},
		"of a sign-in: the token ends":          {bySignIn, org, &session.Principal{}, now.Add(time.Hour), false},
		"of a sign-in: the issuer is none of theirs": {bySignIn, &identity.Org{ID: "org"},
			&session.Principal{}, now, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "it stands", tt.proof.Valid(tt.org, tt.who, tt.at), tt.stands)
		})
	}
}
