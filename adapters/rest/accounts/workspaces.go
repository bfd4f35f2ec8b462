package accounts

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

// workspaceOperations also has the operations of members and of invitations.
func workspaceOperations() []server.Operation {
	const workspace = "/api/workspaces/{workspace_id}"
	return []server.Operation{
		server.Get("/api/workspaces", server.Query(listWorkspaces)),
		server.Post("/api/workspaces", server.Command(createWorkspace)),
		server.Get(workspace, server.Query(getWorkspace)),
		server.Patch(workspace, server.Command(updateWorkspace)),
		server.Delete(workspace, server.Command(deleteWorkspace)),
		server.Post(workspace+"/transfer", server.Command(transferWorkspace)),
		server.Get(workspace+"/members", server.Query(listMembers)),
		server.Get(workspace+"/members/{user_id}", server.Query(getMember)),
		server.Get(workspace+"/members/{user_id}/access", server.Query(getMemberAccess)),
		server.Patch(workspace+"/members/{user_id}", server.Command(updateMember)),
		server.Delete(workspace+"/members/{user_id}", server.Command(removeMember)),
		server.Get(workspace+"/invitations", server.Query(listInvitations)),
		server.Post(workspace+"/invitations", server.Command(createInvitation)),
		server.Get(workspace+"/invitations/{invitation_id}", server.Query(getInvitation)),
		server.Delete(workspace+"/invitations/{invitation_id}", server.Command(deleteInvitation)),
		server.Post("/api/invitations/accept", server.Command(acceptInvitation)),
	}
}

func listWorkspaces(r *server.Call) (server.Reply, error) {
	return server.List(r, server.MapFor(r, toMembership), func(q page.Query) (account.MembershipPage, error) {
		return r.Accounts.Memberships(r.Context(), r.By, q)
	})
}

func createWorkspace(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.WorkspaceCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	w, err := r.Accounts.CreateWorkspace(r.Context(), r.By, server.Observed(r.Request).Org, in.Slug, in.Name)
	if err != nil {
		return server.Reply{}, err
	}
	// The key that made it does not open it; the person does, who owns it.
	out := toMembership(r, &account.Membership{Workspace: *w, Role: identity.Owner})
	return server.Created("/api/workspaces/"+string(w.ID), out).WithRevision(w.Revision), nil
}

func getWorkspace(r *server.Call) (server.Reply, error) {
	w, err := r.Accounts.Workspace(r.Context(), r.By, server.WorkspaceID(r))
	return workspaceReply(r, w, err)
}

func updateWorkspace(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.WorkspacePatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	org, changes := server.Observed(r.Request).Org, account.WorkspaceChanges{Slug: in.Slug, Name: in.Name}
	w, err := r.Accounts.ChangeWorkspace(r.Context(), r.By, org, server.WorkspaceID(r), r.Match, changes)
	return workspaceReply(r, w, err)
}

func deleteWorkspace(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Accounts.DeleteWorkspace(r.Context(), r.By, server.WorkspaceID(r), r.Match)
}

func transferWorkspace(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.WorkspaceTransfer](r)
	if err != nil {
		return server.Reply{}, err
	}
	user, keep := identity.UserID(in.UserID), account.KeepServiceKeys(in.KeepServiceKeys)
	m, lost, err := r.Accounts.TransferWorkspace(r.Context(), r.By, server.WorkspaceID(r), r.Match, user, keep)
	return changedMember(&m, lost, err)
}

func workspaceReply(r *server.Call, w *account.Workspace, err error) (server.Reply, error) {
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(
		toMembership(r, &account.Membership{Workspace: *w, Role: w.RoleOf(r.By)}),
	).WithRevision(w.Revision), nil
}

func listMembers(r *server.Call) (server.Reply, error) {
	return server.List(r, toMember, func(q page.Query) (account.MemberPage, error) {
		return r.Accounts.Members(r.Context(), r.By, server.WorkspaceID(r), q)
	})
}

func getMember(r *server.Call) (server.Reply, error) {
	m, err := r.Accounts.Member(r.Context(), r.By, server.WorkspaceID(r), server.MemberID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toMember(&m)).WithRevision(m.Revision), nil
}

func updateMember(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.MemberPatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	role, keep := identity.ParseRole(string(in.Role)), account.KeepServiceKeys(in.KeepServiceKeys)
	m, lost, err := r.Accounts.ChangeMember(
		r.Context(), r.By, server.WorkspaceID(r), server.MemberID(r), r.Match, role, keep,
	)
	return changedMember(&m, lost, err)
}

// changedMember returns the reply to a change after which someone may have a lower role.
func changedMember(m *account.Member, lost account.Loss, err error) (server.Reply, error) {
	if err != nil {
		return server.Reply{}, err
	}
	out := toMember(m)
	if !lost.IsZero() {
		out.Lost = toRoleLoss(lost)
	}
	return server.OK(out).WithRevision(m.Revision), nil
}

// lostReply returns the reply to a change that leaves nothing to show but what someone lost.
func lostReply(lost account.Loss, err error) (server.Reply, error) {
	if err != nil || lost.IsZero() {
		return server.NoContent, err
	}
	return server.OK(toRoleLoss(lost)), nil
}

func removeMember(r *server.Call) (server.Reply, error) {
	keep := account.KeepServiceKeys(r.Query.Get("keep_service_keys") == "true")
	return lostReply(
		r.Accounts.RemoveMember(r.Context(), r.By, server.WorkspaceID(r), server.MemberID(r), r.Match, keep),
	)
}

func listInvitations(r *server.Call) (server.Reply, error) {
	invitation := func(i *account.Invitation) openapi.Invitation { return toInvitation(i, r.By.At) }
	return server.List(r, invitation, func(q page.Query) (account.InvitationPage, error) {
		return r.Accounts.Invitations(r.Context(), r.By, server.WorkspaceID(r), q)
	})
}

// createInvitation responds with 201, or with 200 to an address that is invited already: its invitation is renewed.
func createInvitation(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.InvitationCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	org, role := server.Observed(r.Request).Org, identity.ParseRole(string(in.Role))
	invitation, err := r.Accounts.Invite(
		r.Context(), r.By, org, server.WorkspaceID(r), in.Email, role, toGroupIDs(in.GroupIds)...,
	)
	if err != nil {
		return server.Reply{}, err
	}
	body := server.Deferred(func() any { return toInvitationCreated(invitation, r.By.At) })
	id := string(invitation.Invitation.ID)
	path := "/api/workspaces/" + string(invitation.Workspace.ID) + "/invitations/" + id
	out := server.Created(path, body).WithRevision(invitation.Invitation.Revision)
	if invitation.Renewed {
		out.Status, out.Location = http.StatusOK, ""
	}
	out.Reveals = id
	return out, nil
}

func invitationID(r *server.Call) account.InvitationID {
	return server.PathID[account.InvitationID](r, "invitation_id", account.InvitationPrefix)
}

func getInvitation(r *server.Call) (server.Reply, error) {
	i, err := r.Accounts.Invitation(r.Context(), r.By, server.WorkspaceID(r), invitationID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toInvitation(i, r.By.At)).WithRevision(i.Revision), nil
}

func deleteInvitation(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Accounts.Withdraw(r.Context(), r.By, server.WorkspaceID(r), invitationID(r), r.Match)
}

func acceptInvitation(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.InvitationAccept](r)
	if err != nil {
		return server.Reply{}, err
	}
	if err := mayAccept(r); err != nil {
		return server.Reply{}, err
	}
	w, err := r.Accounts.AcceptInvitation(r.Context(), r.By, in.Token)
	return workspaceReply(r, w, err)
}

// mayAccept returns account.ErrSignInMissing for a key in an org without issuers, whose people accept by a session.
func mayAccept(r *server.Call) error {
	if len(server.Observed(r.Request).Org.Issuers) == 0 && r.By.Session == "" {
		return account.ErrSignInMissing
	}
	return nil
}
