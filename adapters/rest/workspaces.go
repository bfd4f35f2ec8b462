package rest

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

func (a *API) workspaceOperations() []operation {
	const workspace = "/api/workspaces/{workspace_id}"
	return []operation{
		{http.MethodGet, "/api/workspaces", query(a.listWorkspaces)},
		{http.MethodPost, "/api/workspaces", command(a.createWorkspace)},
		{http.MethodGet, workspace, query(a.getWorkspace)},
		{http.MethodPatch, workspace, command(a.updateWorkspace)},
		{http.MethodDelete, workspace, command(a.deleteWorkspace)},
		{http.MethodPost, workspace + "/transfer", command(a.transferWorkspace)},
		{http.MethodGet, workspace + "/members", query(a.listMembers)},
		{http.MethodGet, workspace + "/members/{user_id}", query(a.getMember)},
		{http.MethodPatch, workspace + "/members/{user_id}", command(a.updateMember)},
		{http.MethodDelete, workspace + "/members/{user_id}", command(a.removeMember)},
		{http.MethodGet, workspace + "/invitations", query(a.listInvitations)},
		{http.MethodPost, workspace + "/invitations", command(a.createInvitation)},
		{http.MethodGet, workspace + "/invitations/{invitation_id}", query(a.getInvitation)},
		{http.MethodDelete, workspace + "/invitations/{invitation_id}", command(a.deleteInvitation)},
		{http.MethodPost, "/api/invitations/accept", command(a.acceptInvitation)},
	}
}

// workspaceID returns the workspace that the path names, by id or slug as the Workspace-Id header does. It is empty if
// the path names none, or by a slug that no workspace of the caller has.
func workspaceID(r *request) identity.WorkspaceID {
	if id := pathID[identity.WorkspaceID](r, "workspace_id", identity.WorkspacePrefix); id != "" {
		return id
	}
	slug := pathVar(r.Request, "workspace_id")
	if slug == "" || r.owner == nil {
		return ""
	}
	for i := range r.person().Memberships {
		if w := &r.person().Memberships[i].Workspace; w.Slug == slug {
			return w.ID
		}
	}
	return ""
}

func memberID(r *request) identity.UserID {
	return pathID[identity.UserID](r, "user_id", identity.UserPrefix)
}

func (a *API) listWorkspaces(r *request) (reply, error) {
	return listing(r, r.membership, func(q page.Query) (account.MembershipPage, error) {
		return r.Accounts.Memberships(r.Context(), r.by, q)
	})
}

func (a *API) createWorkspace(r *request) (reply, error) {
	in, err := decode[openapi.WorkspaceCreate](r)
	if err != nil {
		return reply{}, err
	}
	w, err := r.Accounts.CreateWorkspace(r.Context(), r.by, observation(r.Request).org, in.Slug, in.Name)
	if err != nil {
		return reply{}, err
	}
	// The key that made it does not open it; the person does, who owns it.
	out := r.membership(&account.Membership{Workspace: *w, Role: identity.Owner})
	return created("/api/workspaces/"+string(w.ID), out).withRevision(w.Revision), nil
}

func (a *API) getWorkspace(r *request) (reply, error) {
	w, err := r.Accounts.Workspace(r.Context(), r.by, workspaceID(r))
	return r.workspaceReply(w, err)
}

func (a *API) updateWorkspace(r *request) (reply, error) {
	in, err := decode[openapi.WorkspacePatch](r)
	if err != nil {
		return reply{}, err
	}
	org, changes := observation(r.Request).org, account.WorkspaceChanges{Slug: in.Slug, Name: in.Name}
	w, err := r.Accounts.ChangeWorkspace(r.Context(), r.by, org, workspaceID(r), r.match, changes)
	return r.workspaceReply(w, err)
}

func (a *API) deleteWorkspace(r *request) (reply, error) {
	return noContent, r.Accounts.DeleteWorkspace(r.Context(), r.by, workspaceID(r), r.match)
}

func (a *API) transferWorkspace(r *request) (reply, error) {
	in, err := decode[openapi.WorkspaceTransfer](r)
	if err != nil {
		return reply{}, err
	}
	to, keep := identity.UserID(in.UserID), account.KeepServiceKeys(in.KeepServiceKeys)
	m, lost, err := r.Accounts.TransferWorkspace(r.Context(), r.by, workspaceID(r), r.match, to, keep)
	return changedMember(&m, lost, err)
}

func (r *request) workspaceReply(w *account.Workspace, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return ok(r.membership(&account.Membership{Workspace: *w, Role: w.RoleOf(r.by)})).withRevision(w.Revision), nil
}

func (a *API) listMembers(r *request) (reply, error) {
	return listing(r, toMember, func(q page.Query) (account.MemberPage, error) {
		return r.Accounts.Members(r.Context(), r.by, workspaceID(r), q)
	})
}

func (a *API) getMember(r *request) (reply, error) {
	m, err := r.Accounts.Member(r.Context(), r.by, workspaceID(r), memberID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toMember(&m)).withRevision(m.Revision), nil
}

func (a *API) updateMember(r *request) (reply, error) {
	in, err := decode[openapi.MemberPatch](r)
	if err != nil {
		return reply{}, err
	}
	role, keep := identity.ParseRole(string(in.Role)), account.KeepServiceKeys(in.KeepServiceKeys)
	m, lost, err := r.Accounts.ChangeMember(r.Context(), r.by, workspaceID(r), memberID(r), r.match, role, keep)
	return changedMember(&m, lost, err)
}

// changedMember returns the reply of a change after which someone may have a lower role.
func changedMember(m *account.Member, lost account.Loss, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	out := toMember(m)
	if !lost.IsZero() {
		out.Lost = toRoleLoss(lost)
	}
	return ok(out).withRevision(m.Revision), nil
}

// lostReply returns the reply of a change that leaves nothing to show but what someone lost.
func lostReply(lost account.Loss, err error) (reply, error) {
	if err != nil || lost.IsZero() {
		return noContent, err
	}
	return ok(toRoleLoss(lost)), nil
}

func (a *API) removeMember(r *request) (reply, error) {
	keep := account.KeepServiceKeys(r.query.Get("keep_service_keys") == "true")
	return lostReply(r.Accounts.RemoveMember(r.Context(), r.by, workspaceID(r), memberID(r), r.match, keep))
}

func (a *API) listInvitations(r *request) (reply, error) {
	invitation := func(i *account.Invitation) openapi.Invitation { return toInvitation(i, r.by.At) }
	return listing(r, invitation, func(q page.Query) (account.InvitationPage, error) {
		return r.Accounts.Invitations(r.Context(), r.by, workspaceID(r), q)
	})
}

func (a *API) createInvitation(r *request) (reply, error) {
	in, err := decode[openapi.InvitationCreate](r)
	if err != nil {
		return reply{}, err
	}
	org, role := observation(r.Request).org, identity.ParseRole(string(in.Role))
	made, err := r.Accounts.Invite(r.Context(), r.by, org, workspaceID(r), in.Email, role, toGroupIDs(in.GroupIds)...)
	if err != nil {
		return reply{}, err
	}
	body := deferred(func() any { return toInvitationCreated(made, r.by.At) })
	id := string(made.Invitation.ID)
	path := "/api/workspaces/" + string(made.Workspace.ID) + "/invitations/" + id
	out := created(path, body).withRevision(made.Invitation.Revision)
	if made.Renewed {
		out.status, out.location = http.StatusOK, ""
	}
	out.reveals = id
	return out, nil
}

func invitationID(r *request) account.InvitationID {
	return pathID[account.InvitationID](r, "invitation_id", account.InvitationPrefix)
}

func (a *API) getInvitation(r *request) (reply, error) {
	i, err := r.Accounts.Invitation(r.Context(), r.by, workspaceID(r), invitationID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toInvitation(i, r.by.At)).withRevision(i.Revision), nil
}

func (a *API) deleteInvitation(r *request) (reply, error) {
	return noContent, r.Accounts.Withdraw(r.Context(), r.by, workspaceID(r), invitationID(r), r.match)
}

func (a *API) acceptInvitation(r *request) (reply, error) {
	in, err := decode[openapi.InvitationAccept](r)
	if err != nil {
		return reply{}, err
	}
	if err := r.mayAccept(); err != nil {
		return reply{}, err
	}
	w, err := r.Accounts.AcceptInvitation(r.Context(), r.by, in.Token)
	return r.workspaceReply(w, err)
}
