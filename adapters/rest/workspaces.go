package rest

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

func workspaceOperations() []operation {
	const workspace = "/api/workspaces/{workspace_id}"
	return []operation{
		getOf("/api/workspaces", query(listWorkspaces)),
		postOf("/api/workspaces", command(createWorkspace)),
		getOf(workspace, query(getWorkspace)),
		patchOf(workspace, command(updateWorkspace)),
		deleteOf(workspace, command(deleteWorkspace)),
		postOf(workspace+"/transfer", command(transferWorkspace)),
		getOf(workspace+"/members", query(listMembers)),
		getOf(workspace+"/members/{user_id}", query(getMember)),
		patchOf(workspace+"/members/{user_id}", command(updateMember)),
		deleteOf(workspace+"/members/{user_id}", command(removeMember)),
		getOf(workspace+"/invitations", query(listInvitations)),
		postOf(workspace+"/invitations", command(createInvitation)),
		getOf(workspace+"/invitations/{invitation_id}", query(getInvitation)),
		deleteOf(workspace+"/invitations/{invitation_id}", command(deleteInvitation)),
		postOf("/api/invitations/accept", command(acceptInvitation)),
	}
}

func listWorkspaces(r *request) (reply, error) {
	return listing(r, mapFor(r, toMembership), func(q page.Query) (account.MembershipPage, error) {
		return r.Accounts.Memberships(r.Context(), r.by, q)
	})
}

func createWorkspace(r *request) (reply, error) {
	in, err := decode[openapi.WorkspaceCreate](r)
	if err != nil {
		return reply{}, err
	}
	w, err := r.Accounts.CreateWorkspace(r.Context(), r.by, observation(r.Request).org, in.Slug, in.Name)
	if err != nil {
		return reply{}, err
	}
	// The key that made it does not open it; the person does, who owns it.
	out := toMembership(r, &account.Membership{Workspace: *w, Role: identity.Owner})
	return created("/api/workspaces/"+string(w.ID), out).withRevision(w.Revision), nil
}

func getWorkspace(r *request) (reply, error) {
	w, err := r.Accounts.Workspace(r.Context(), r.by, workspaceID(r))
	return workspaceReply(r, w, err)
}

func updateWorkspace(r *request) (reply, error) {
	in, err := decode[openapi.WorkspacePatch](r)
	if err != nil {
		return reply{}, err
	}
	org, changes := observation(r.Request).org, account.WorkspaceChanges{Slug: in.Slug, Name: in.Name}
	w, err := r.Accounts.ChangeWorkspace(r.Context(), r.by, org, workspaceID(r), r.match, changes)
	return workspaceReply(r, w, err)
}

func deleteWorkspace(r *request) (reply, error) {
	return noContent, r.Accounts.DeleteWorkspace(r.Context(), r.by, workspaceID(r), r.match)
}

func transferWorkspace(r *request) (reply, error) {
	in, err := decode[openapi.WorkspaceTransfer](r)
	if err != nil {
		return reply{}, err
	}
	to, keep := identity.UserID(in.UserID), account.KeepServiceKeys(in.KeepServiceKeys)
	m, lost, err := r.Accounts.TransferWorkspace(r.Context(), r.by, workspaceID(r), r.match, to, keep)
	return changedMember(&m, lost, err)
}

func workspaceReply(r *request, w *account.Workspace, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return ok(toMembership(r, &account.Membership{Workspace: *w, Role: w.RoleOf(r.by)})).withRevision(w.Revision), nil
}

func listMembers(r *request) (reply, error) {
	return listing(r, toMember, func(q page.Query) (account.MemberPage, error) {
		return r.Accounts.Members(r.Context(), r.by, workspaceID(r), q)
	})
}

func getMember(r *request) (reply, error) {
	m, err := r.Accounts.Member(r.Context(), r.by, workspaceID(r), memberID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toMember(&m)).withRevision(m.Revision), nil
}

func updateMember(r *request) (reply, error) {
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

func removeMember(r *request) (reply, error) {
	keep := account.KeepServiceKeys(r.query.Get("keep_service_keys") == "true")
	return lostReply(r.Accounts.RemoveMember(r.Context(), r.by, workspaceID(r), memberID(r), r.match, keep))
}

func listInvitations(r *request) (reply, error) {
	invitation := func(i *account.Invitation) openapi.Invitation { return toInvitation(i, r.by.At) }
	return listing(r, invitation, func(q page.Query) (account.InvitationPage, error) {
		return r.Accounts.Invitations(r.Context(), r.by, workspaceID(r), q)
	})
}

func createInvitation(r *request) (reply, error) {
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

func getInvitation(r *request) (reply, error) {
	i, err := r.Accounts.Invitation(r.Context(), r.by, workspaceID(r), invitationID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toInvitation(i, r.by.At)).withRevision(i.Revision), nil
}

func deleteInvitation(r *request) (reply, error) {
	return noContent, r.Accounts.Withdraw(r.Context(), r.by, workspaceID(r), invitationID(r), r.match)
}

func acceptInvitation(r *request) (reply, error) {
	in, err := decode[openapi.InvitationAccept](r)
	if err != nil {
		return reply{}, err
	}
	if err := mayAccept(r); err != nil {
		return reply{}, err
	}
	w, err := r.Accounts.AcceptInvitation(r.Context(), r.by, in.Token)
	return workspaceReply(r, w, err)
}
