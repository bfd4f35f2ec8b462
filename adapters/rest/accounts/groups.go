package accounts

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

func groupOperations() []server.Operation {
	const group = "/api/groups/{group_id}"
	return []server.Operation{
		server.Get("/api/groups", server.Query(listGroups)),
		server.Post("/api/groups", server.Command(createGroup)),
		server.Get(group, server.Query(getGroup)),
		server.Patch(group, server.Command(updateGroup)),
		server.Delete(group, server.Command(deleteGroup)),
		server.Get(group+"/members", server.Query(listGroupMembers)),
		server.Put(group+"/members/{user_id}", server.Command(addGroupMember)),
		server.Delete(group+"/members/{user_id}", server.Command(removeGroupMember)),
	}
}

func groupID(r *server.Call) identity.UserID {
	return server.PathID[identity.UserID](r, "group_id", identity.GroupPrefix)
}

func listGroups(r *server.Call) (server.Reply, error) {
	return server.List(r, toGroup, func(q page.Query) (account.GroupPage, error) {
		return r.Groups.List(r.Context(), r.By, q)
	})
}

func createGroup(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.GroupCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	g, err := r.Groups.Create(r.Context(), r.By, account.GroupDraft{
		Name: in.Name,
		Role: identity.ParseRole(string(in.Role)), External: in.ExternalID,
	})
	if err != nil {
		return server.Reply{}, err
	}
	return server.Created("/api/groups/"+string(g.ID), toGroup(g)).WithRevision(g.Revision), nil
}

func getGroup(r *server.Call) (server.Reply, error) {
	g, err := r.Groups.Get(r.Context(), r.By, groupID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toGroup(g)).WithRevision(g.Revision), nil
}

// updateGroup changes only the members that the patch has: null removes the role or the external id.
func updateGroup(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.GroupPatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	changes := account.GroupChanges{Name: in.Name}
	if name := convert.OrZero(in.Role); name != nil {
		changes.Role = new(identity.ParseRole(string(*name))) // a name that is no role removes it
	}
	if external := convert.OrZero(in.ExternalID); external != nil {
		changes.External = external
	}
	g, err := r.Groups.Change(r.Context(), r.By, groupID(r), r.Match, changes)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toGroup(g)).WithRevision(g.Revision), nil
}

func deleteGroup(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Groups.Delete(r.Context(), r.By, groupID(r), r.Match)
}

func listGroupMembers(r *server.Call) (server.Reply, error) {
	return server.List(r, toMember, func(q page.Query) (account.MemberPage, error) {
		return r.Groups.People(r.Context(), r.By, groupID(r), q)
	})
}

func addGroupMember(r *server.Call) (server.Reply, error) {
	_, err := r.Groups.Edit(r.Context(), r.By, groupID(r), nil, []identity.UserID{server.MemberID(r)}, nil)
	return server.NoContent, err
}

func removeGroupMember(r *server.Call) (server.Reply, error) {
	_, err := r.Groups.Edit(r.Context(), r.By, groupID(r), r.Match, nil, []identity.UserID{server.MemberID(r)})
	return server.NoContent, err
}
