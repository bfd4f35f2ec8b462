package sessions

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
)

// previewInvitation shows an invitation to the bearer of its token.
func (a *handlers) previewInvitation(r *server.Call) (server.Reply, error) {
	now := r.API.Now()
	if err := a.limitSignIn(r, now); err != nil {
		return server.Reply{}, err
	}
	in, err := server.Decode[openapi.InvitationAccept](r)
	if err != nil {
		return server.Reply{}, err
	}
	org := server.Observed(r.Request).Org
	p, err := r.Accounts.PreviewInvitation(r.Context(), org.ID, in.Token)
	if err != nil {
		return server.Reply{}, err
	}
	r.UncountAttempt(now)
	return server.OK(openapi.InvitationPreview{
		WorkspaceName: p.Workspace,
		InviterName:   openapi.OrNull(p.Inviter),
		Email:         p.Email,
		Role:          openapi.WorkspaceRole(p.Role.String()),
		ExpiresAt:     openapi.Time(p.ExpiresAt),
		SignIn:        len(org.Issuers) > 0,
	}), nil
}

// joinByInvitation creates an invited person's account, and opens a session.
func (a *handlers) joinByInvitation(r *server.Call) (server.Reply, error) {
	now, org := r.API.Now(), server.Observed(r.Request).Org
	if _, _, err := r.API.SessionCookie(r.Request, org); err != nil {
		return server.Reply{}, err
	}
	if err := a.limitSignIn(r, now); err != nil {
		return server.Reply{}, err
	}
	in, err := server.Decode[openapi.InvitationJoin](r)
	if err != nil {
		return server.Reply{}, err
	}
	by := r.SignInActor(now)
	joined, err := r.Accounts.Join(r.Context(), by, org, in.Token, in.Name, r.UserAgent())
	if joined.Asks != "" && r.Sessions.MailsLinks() {
		a.mailLink(r, by, joined.Asks) // if too many are being mailed, the person can ask for one later
	}
	if err != nil {
		return server.Reply{}, err
	}
	r.UncountAttempt(now)
	return a.sessionReply(r, joined.Opened, by, "")
}
