package scim

import (
	"log/slog"
	"net/http"

	"github.com/elimity-com/scim"
	filter "github.com/scim2/filter-parser/v2"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// groups implements scim.ResourceHandler and scim.ResourceSearcher.
type groups struct {
	directory *accounts.Directory
	log       *slog.Logger
}

// Create implements scim.ResourceHandler.
func (s *groups) Create(r *http.Request, attributes scim.ResourceAttributes) (scim.Resource, error) {
	c := callOf(r)
	name, externalID, people := groupOf(attributes, nil)
	g, err := s.directory.AddGroup(r.Context(), c.by, c.org, name, externalID, people)
	return s.answer(r, g, err)
}

// Get implements scim.ResourceHandler.
func (s *groups) Get(r *http.Request, id string) (scim.Resource, error) {
	g, err := s.directory.Group(r.Context(), callOf(r).by, account.DirectoryGroupID(id))
	return s.answer(r, g, err)
}

// GetAll implements scim.ResourceHandler. Members are not in lists: a hundred groups may have a million of them.
func (s *groups) GetAll(r *http.Request, params scim.ListRequestParams) (scim.Page, error) {
	return s.list(r, filterOf(params), params.StartIndex-1, params.Count)
}

// Search implements scim.ResourceSearcher.
func (s *groups) Search(r *http.Request, params scim.SearchParams) (scim.Page, error) {
	return s.GetAll(r, listParams(params))
}

// list returns the groups that a filter, which may be nil, selects.
func (s *groups) list(r *http.Request, e filter.Expression, skip, limit int) (scim.Page, error) {
	selected, err := groupFields.query(e)
	if err != nil {
		return scim.Page{}, err
	}
	c := callOf(r)
	found, total, err := s.directory.Groups(r.Context(), c.by,
		account.DirectoryQuery{Filter: selected, Skip: skip, Limit: limit})
	if err != nil {
		return scim.Page{}, refusal(r, s.log, err)
	}
	page := scim.Page{TotalResults: total, Resources: []scim.Resource{}}
	for i := range found {
		listed := c.group(&found[i])
		delete(listed.Attributes, "members")
		listed.Meta.Version = "" // the whole group has another
		page.Resources = append(page.Resources, listed)
	}
	return page, nil
}

// Replace implements scim.ResourceHandler. A group keeps its members if the request has none: Authentik then changes
// them by PATCH, and in between no one may lose a role.
func (s *groups) Replace(r *http.Request, id string, attributes scim.ResourceAttributes) (scim.Resource, error) {
	return s.change(r, id, func(*account.DirectoryGroup) (map[string]any, error) { return attributes, nil })
}

// Patch implements scim.ResourceHandler.
func (s *groups) Patch(r *http.Request, id string, operations []scim.PatchOperation) (scim.Resource, error) {
	return s.change(r, id, func(g *account.DirectoryGroup) (map[string]any, error) {
		attributes := callOf(r).attributesOfGroup(g)
		err := apply(groupKind, attributes, operations)
		if attributes["members"] == nil { // they were removed
			attributes["members"] = []any{}
		}
		return attributes, err
	})
}

// change stores the attributes that change returns for a group, and responds with the group.
func (s *groups) change(
	r *http.Request, id string, change func(*account.DirectoryGroup) (map[string]any, error),
) (scim.Resource, error) {
	c := callOf(r)
	g, err := s.directory.ChangeGroup(r.Context(), c.by, c.org, account.DirectoryGroupID(id),
		func(g *account.DirectoryGroup) error {
			if err := checkVersion(r, c.group(g).Meta.Version); err != nil {
				return err
			}
			attributes, err := change(g)
			if err != nil {
				return err
			}
			name, externalID, people := groupOf(attributes, g.People)
			return g.Change(c.by, name, externalID, people)
		})
	return s.answer(r, g, err)
}

// Delete implements scim.ResourceHandler.
func (s *groups) Delete(r *http.Request, id string) error {
	c := callOf(r)
	if err := s.directory.RemoveGroup(r.Context(), c.by, c.org, account.DirectoryGroupID(id),
		func(g *account.DirectoryGroup) error { return checkVersion(r, c.group(g).Meta.Version) }); err != nil {
		return refusal(r, s.log, err)
	}
	return nil
}

func (s *groups) answer(r *http.Request, g *account.DirectoryGroup, err error) (scim.Resource, error) {
	if err != nil {
		return scim.Resource{}, refusal(r, s.log, err)
	}
	return callOf(r).group(g), nil
}

// group returns a group as the library sends it.
func (c *call) group(g *account.DirectoryGroup) scim.Resource {
	attributes := c.attributesOfGroup(g)
	delete(attributes, "externalId") // the library adds it
	return scim.Resource{ID: string(g.ID), ExternalID: external(g.ExternalID), Attributes: attributes,
		Meta: scim.Meta{Created: &g.CreatedAt, LastModified: &g.UpdatedAt,
			Version: version(g.ID, g.ExternalID, g.Name, g.People, g.UpdatedAt)}}
}

func (c *call) attributesOfGroup(g *account.DirectoryGroup) scim.ResourceAttributes {
	attributes := scim.ResourceAttributes{"displayName": g.Name}
	put(attributes, "externalId", g.ExternalID)
	members := make([]any, len(g.People))
	for i, id := range g.People {
		members[i] = map[string]any{"value": string(id), "$ref": c.base + "/Users/" + string(id), "type": "User"}
	}
	attributes["members"] = members
	return attributes
}

// groupOf returns the group that attributes, which the library has validated, describe. It has those people if
// attributes have no members.
func groupOf(
	attributes map[string]any, current []identity.UserID,
) (name, externalID string, people []identity.UserID) {
	members, isSet := attributes["members"].([]any)
	if !isSet {
		people = current
	}
	for _, one := range members {
		m, _ := one.(map[string]any)
		people = append(people, identity.UserID(text(m, "value")))
	}
	return text(attributes, "displayName"), text(attributes, "externalId"), people
}
