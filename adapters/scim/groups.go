package scim

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/elimity-com/scim"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// groups implements scim.ResourceHandler.
type groups struct {
	directory *accounts.Directory
	log       *slog.Logger
}

// Create implements scim.ResourceHandler.
func (s *groups) Create(r *http.Request, attributes scim.ResourceAttributes) (scim.Resource, error) {
	c := call(r)
	name, externalID, people := groupOf(attributes)
	g, err := s.directory.AddGroup(r.Context(), c.by, c.org, name, externalID, people)
	if g != nil {
		c.made = "/Groups/" + string(g.ID)
	}
	return s.answer(r, g, err)
}

// Get implements scim.ResourceHandler.
func (s *groups) Get(r *http.Request, id string) (scim.Resource, error) {
	g, err := s.directory.Group(r.Context(), call(r).by, account.DirectoryGroupID(id))
	return s.answer(r, g, err)
}

// GetAll implements scim.ResourceHandler. Members are not in lists: a hundred groups may have a million of them.
func (s *groups) GetAll(r *http.Request, params scim.ListRequestParams) (scim.Page, error) {
	q, err := query(params, "displayname")
	if err != nil {
		return scim.Page{}, err
	}
	found, total, err := s.directory.Groups(r.Context(), call(r).by, q)
	if err != nil {
		return scim.Page{}, refusal(r, s.log, err)
	}
	page := scim.Page{TotalResults: total, Resources: []scim.Resource{}}
	for i := range found {
		page.Resources = append(page.Resources, groupResource(&found[i], false))
	}
	return page, nil
}

// Replace implements scim.ResourceHandler.
func (s *groups) Replace(r *http.Request, id string, attributes scim.ResourceAttributes) (scim.Resource, error) {
	return s.change(r, id, func(*account.DirectoryGroup) (map[string]any, error) { return attributes, nil })
}

// Patch implements scim.ResourceHandler.
func (s *groups) Patch(r *http.Request, id string, operations []scim.PatchOperation) (scim.Resource, error) {
	return s.change(r, id, func(g *account.DirectoryGroup) (map[string]any, error) {
		attributes := groupAttributes(g)
		return attributes, apply(attributes, operations)
	})
}

// change stores the attributes that change returns for a group, and responds with the group.
func (s *groups) change(
	r *http.Request, id string, change func(*account.DirectoryGroup) (map[string]any, error),
) (scim.Resource, error) {
	c := call(r)
	g, err := s.directory.ChangeGroup(r.Context(), c.by, c.org, account.DirectoryGroupID(id),
		func(g *account.DirectoryGroup) error {
			attributes, err := change(g)
			if err != nil {
				return err
			}
			name, externalID, people := groupOf(attributes)
			return g.Change(c.by, name, externalID, people)
		})
	return s.answer(r, g, err)
}

// Delete implements scim.ResourceHandler.
func (s *groups) Delete(r *http.Request, id string) error {
	c := call(r)
	if err := s.directory.RemoveGroup(r.Context(), c.by, c.org, account.DirectoryGroupID(id)); err != nil {
		return refusal(r, s.log, err)
	}
	return nil
}

// answer returns a group, with its members unless the request excludes them (RFC 7644, section 3.9).
func (s *groups) answer(r *http.Request, g *account.DirectoryGroup, err error) (scim.Resource, error) {
	if err != nil {
		return scim.Resource{}, refusal(r, s.log, err)
	}
	return groupResource(g, !strings.Contains(r.URL.Query().Get("excludedAttributes"), "members")), nil
}

func groupResource(g *account.DirectoryGroup, members bool) scim.Resource {
	attributes := groupAttributes(g)
	delete(attributes, "externalId") // the library adds it
	if !members {
		delete(attributes, "members")
	}
	return scim.Resource{ID: string(g.ID), ExternalID: external(g.ExternalID), Attributes: attributes,
		Meta: scim.Meta{Created: &g.CreatedAt, LastModified: &g.UpdatedAt}}
}

func groupAttributes(g *account.DirectoryGroup) scim.ResourceAttributes {
	attributes := scim.ResourceAttributes{"displayName": g.Name}
	put(attributes, "externalId", g.ExternalID)
	members := make([]any, len(g.People))
	for i, id := range g.People {
		members[i] = map[string]any{"value": string(id), "$ref": Path + "/Users/" + string(id), "type": "User"}
	}
	attributes["members"] = members
	return attributes
}

// groupOf returns the group that attributes, which the library has validated, describe.
func groupOf(attributes map[string]any) (name, externalID string, people []identity.UserID) {
	members, _ := attributes["members"].([]any)
	for _, one := range members {
		m, _ := one.(map[string]any)
		people = append(people, identity.UserID(text(m, "value")))
	}
	return text(attributes, "displayName"), text(attributes, "externalId"), people
}
