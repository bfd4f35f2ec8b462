package rest

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

func groupOperations() []operation {
	const group = "/api/groups/{group_id}"
	return []operation{
		getOf("/api/groups", query(listGroups)),
		postOf("/api/groups", command(createGroup)),
		getOf(group, query(getGroup)),
		patchOf(group, command(updateGroup)),
		deleteOf(group, command(deleteGroup)),
		getOf(group+"/members", query(listGroupMembers)),
		putOf(group+"/members/{user_id}", command(addGroupMember)),
		deleteOf(group+"/members/{user_id}", command(removeGroupMember)),
	}
}

func groupID(r *request) identity.UserID {
	return pathID[identity.UserID](r, "group_id", identity.GroupPrefix)
}

func listGroups(r *request) (reply, error) {
	return listing(r, toGroup, func(q page.Query) (account.GroupPage, error) {
		return r.Groups.List(r.Context(), r.by, q)
	})
}

func createGroup(r *request) (reply, error) {
	in, err := decode[openapi.GroupCreate](r)
	if err != nil {
		return reply{}, err
	}
	g, err := r.Groups.Create(r.Context(), r.by, account.GroupDraft{
		Name: in.Name,
		Role: identity.ParseRole(string(in.Role)), External: in.ExternalID,
	})
	if err != nil {
		return reply{}, err
	}
	return created("/api/groups/"+string(g.ID), toGroup(g)).withRevision(g.Revision), nil
}

func getGroup(r *request) (reply, error) {
	g, err := r.Groups.Get(r.Context(), r.by, groupID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toGroup(g)).withRevision(g.Revision), nil
}

func updateGroup(r *request) (reply, error) {
	in, err := decode[openapi.GroupPatch](r)
	if err != nil {
		return reply{}, err
	}
	changes := account.GroupChanges{Name: in.Name}
	if name := convert.OrZero(in.Role); name != nil {
		changes.Role = new(identity.ParseRole(string(*name))) // a name that is no role removes it
	}
	if external := convert.OrZero(in.ExternalID); external != nil {
		changes.External = external
	}
	g, err := r.Groups.Change(r.Context(), r.by, groupID(r), r.match, changes)
	if err != nil {
		return reply{}, err
	}
	return ok(toGroup(g)).withRevision(g.Revision), nil
}

func deleteGroup(r *request) (reply, error) {
	return noContent, r.Groups.Delete(r.Context(), r.by, groupID(r), r.match)
}

func listGroupMembers(r *request) (reply, error) {
	return listing(r, toMember, func(q page.Query) (account.MemberPage, error) {
		return r.Groups.People(r.Context(), r.by, groupID(r), q)
	})
}

func addGroupMember(r *request) (reply, error) {
	_, err := r.Groups.Edit(r.Context(), r.by, groupID(r), nil, []identity.UserID{memberID(r)}, nil)
	return noContent, err
}

func removeGroupMember(r *request) (reply, error) {
	_, err := r.Groups.Edit(r.Context(), r.by, groupID(r), r.match, nil, []identity.UserID{memberID(r)})
	return noContent, err
}

func toGroup(g *account.Group) openapi.Group {
	return openapi.Group{
		ID:         string(g.ID),
		Name:       g.Name,
		Role:       openapi.OrNull(openapi.WorkspaceRole(g.Role.String())),
		ExternalID: openapi.OrNull(g.External),
		Size:       g.Size,
		CreatedBy:  openapi.OrNull(string(g.CreatedBy)),
		Revision:   g.Revision,
		CreatedAt:  openapi.Time(g.CreatedAt),
		UpdatedAt:  openapi.Time(g.UpdatedAt),
	}
}

// toGroupIDs returns the ids of groups. A malformed one identifies none.
func toGroupIDs(texts []string) []identity.UserID {
	ids := make([]identity.UserID, len(texts))
	for i, text := range texts {
		if id.Valid(identity.GroupPrefix, text) {
			ids[i] = identity.UserID(text)
		}
	}
	return ids
}

func fromGroupIDs(ids []identity.UserID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return texts
}
