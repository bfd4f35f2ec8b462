package identity

import "slices"

// SignUp is who gets an account by signing in. It does not affect people who have an account. The zero value is
// SignUpInvited.
type SignUp string

// The values of SignUp.
const (
	SignUpOpen    SignUp = "open"    // everyone with a token that the org accepts
	SignUpInvited SignUp = "invited" // people with an open invitation to their address
	SignUpClaims  SignUp = "claims"  // also people with a grant from a claim rule
)

// WorkspacesBy determines who may create workspaces. The zero value is WorkspacesByAnyone.
type WorkspacesBy string

// The values of WorkspacesBy.
const (
	WorkspacesByAnyone    WorkspacesBy = "anyone"
	WorkspacesByOperators WorkspacesBy = "operators"
)

// Issuer returns the org's issuer with that URL, or its directory for SCIMIssuer.
func (o *Org) Issuer(url string) (Issuer, bool) {
	if url == SCIMIssuer && o.SCIM != nil {
		return Issuer{URL: SCIMIssuer, TrustEmail: true, EmailDomains: o.SCIM.EmailDomains}, true
	}
	i := slices.IndexFunc(o.Issuers, func(i Issuer) bool { return i.URL == url })
	if i < 0 {
		return Issuer{}, false
	}
	return o.Issuers[i], true
}
