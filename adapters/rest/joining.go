package rest

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
)

// previewInvitation shows an invitation to the bearer of its token.
func (a *accountsArea) previewInvitation(r *request) (reply, error) {
	if err := a.limitSignIn(r, r.api.now()); err != nil {
		return reply{}, err
	}
	in, err := decode[openapi.InvitationAccept](r)
	if err != nil {
		return reply{}, err
	}
	org := observation(r.Request).org
	p, err := r.Accounts.PreviewInvitation(r.Context(), org.ID, in.Token)
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.InvitationPreview{
		WorkspaceName: p.Workspace,
		InviterName:   openapi.OrNull(p.Inviter),
		Email:         p.Email,
		Role:          openapi.WorkspaceRole(p.Role.String()),
		ExpiresAt:     openapi.Time(p.ExpiresAt),
		SignIn:        len(org.Issuers) > 0 || p.Account,
	}), nil
}

// joinByInvitation creates the account of an invited person, and opens a session.
func (a *accountsArea) joinByInvitation(r *request) (reply, error) {
	at, org := r.api.now(), observation(r.Request).org
	if _, _, err := r.api.sessionCookie(r.Request, org); err != nil {
		return reply{}, err
	}
	if err := a.limitSignIn(r, at); err != nil {
		return reply{}, err
	}
	in, err := decode[openapi.InvitationJoin](r)
	if err != nil {
		return reply{}, err
	}
	by := signingIn(r, at)
	opened, err := r.Accounts.Join(r.Context(), by, org, in.Token, in.Name, r.UserAgent())
	if err != nil {
		return reply{}, err
	}
	return sessionReply(r, opened, by, "")
}

// mayAccept returns account.ErrSignInMissing for a key in an org without issuers, whose people accept by a session.
func mayAccept(r *request) error {
	if len(observation(r.Request).org.Issuers) == 0 && r.by.Session == "" {
		return account.ErrSignInMissing
	}
	return nil
}
