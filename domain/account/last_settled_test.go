package account_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

func TestClaimsThatWereJustSettledAreNotSettledAgain(t *testing.T) {
	org := open(identity.ClaimRule{Claim: "groups", Value: "x", Workspace: "not-there", Role: identity.Member})
	claims := account.Claims{Issuer: issuer, Subject: "s", Name: "Ann", ExpiresAt: now,
		Raw: map[string]any{"groups": "x"}}
	p := account.Person{User: account.User{Name: "Ann"}}
	if p.Settled(claims, org) {
		t.Fatal("a role that is not there counts as given: the test shows nothing")
	}
	p.LastSettled = &claims
	if !p.Settled(claims, org) {
		t.Error("the same claims are settled again")
	}
	laterClaims := claims
	laterClaims.ExpiresAt = now.Add(time.Second)
	if p.Settled(laterClaims, org) {
		t.Error("the claims of another token are not looked at")
	}
}
