package scim

import (
	"log/slog"
	"net/http"

	"github.com/elimity-com/scim"
	"github.com/elimity-com/scim/optional"
	filter "github.com/scim2/filter-parser/v2"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// users implements scim.ResourceHandler and scim.ResourceSearcher.
type users struct {
	directory *accounts.Directory
	log       *slog.Logger
}

// Create implements scim.ResourceHandler.
func (s *users) Create(r *http.Request, attributes scim.ResourceAttributes) (scim.Resource, error) {
	c := callOf(r)
	u, err := s.directory.AddUser(r.Context(), c.by, c.org, personOf(attributes, true))
	return s.answer(r, u, err)
}

// Get implements scim.ResourceHandler.
func (s *users) Get(r *http.Request, id string) (scim.Resource, error) {
	u, err := s.directory.User(r.Context(), callOf(r).by, identity.UserID(id))
	return s.answer(r, u, err)
}

// GetAll implements scim.ResourceHandler.
func (s *users) GetAll(r *http.Request, params scim.ListRequestParams) (scim.Page, error) {
	return s.list(r, filterOf(params), params.StartIndex-1, params.Count)
}

// Search implements scim.ResourceSearcher.
func (s *users) Search(r *http.Request, params scim.SearchParams) (scim.Page, error) {
	return s.GetAll(r, listParams(params))
}

// list returns the users that a filter, which may be nil, selects.
func (s *users) list(r *http.Request, e filter.Expression, skip, limit int) (scim.Page, error) {
	selected, err := userFields.query(e)
	if err != nil {
		return scim.Page{}, err
	}
	c := callOf(r)
	found, total, err := s.directory.Users(r.Context(), c.by,
		account.DirectoryQuery{Filter: selected, Skip: skip, Limit: limit})
	if err != nil {
		return scim.Page{}, refusal(r, s.log, err)
	}
	page := scim.Page{TotalResults: total, Resources: []scim.Resource{}}
	for i := range found {
		page.Resources = append(page.Resources, c.user(&found[i]))
	}
	return page, nil
}

// Replace implements scim.ResourceHandler. A user stays active or inactive if the request does not say which.
func (s *users) Replace(r *http.Request, id string, attributes scim.ResourceAttributes) (scim.Resource, error) {
	return s.change(r, id, func(u *account.DirectoryUser) (account.DirectoryPerson, error) {
		return personOf(attributes, u.Active), nil
	})
}

// Patch implements scim.ResourceHandler.
func (s *users) Patch(r *http.Request, id string, operations []scim.PatchOperation) (scim.Resource, error) {
	return s.change(r, id, func(u *account.DirectoryUser) (account.DirectoryPerson, error) {
		attributes := attributesOf(&u.DirectoryPerson)
		if err := apply(userKind, attributes, operations); err != nil {
			return u.DirectoryPerson, err
		}
		return personOf(attributes, u.Active), nil
	})
}

func (s *users) change(
	r *http.Request, id string, change func(*account.DirectoryUser) (account.DirectoryPerson, error),
) (scim.Resource, error) {
	c := callOf(r)
	u, err := s.directory.ChangeUser(r.Context(), c.by, c.org, identity.UserID(id),
		func(u *account.DirectoryUser) (account.DirectoryPerson, error) {
			if err := checkVersion(r, c.user(u).Meta.Version); err != nil {
				return u.DirectoryPerson, err
			}
			return change(u)
		})
	return s.answer(r, u, err)
}

// Delete implements scim.ResourceHandler.
func (s *users) Delete(r *http.Request, id string) error {
	c := callOf(r)
	if err := s.directory.RemoveUser(r.Context(), c.by, c.org, identity.UserID(id),
		func(u *account.DirectoryUser) error { return checkVersion(r, c.user(u).Meta.Version) }); err != nil {
		return refusal(r, s.log, err)
	}
	return nil
}

func (s *users) answer(r *http.Request, u *account.DirectoryUser, err error) (scim.Resource, error) {
	if err != nil {
		return scim.Resource{}, refusal(r, s.log, err)
	}
	return callOf(r).user(u), nil
}

// user returns a user as the library sends it.
func (c *call) user(u *account.DirectoryUser) scim.Resource {
	attributes := attributesOf(&u.DirectoryPerson)
	delete(attributes, "externalId") // the library adds it
	if len(u.Groups) > 0 {
		in := make([]any, len(u.Groups))
		for i, g := range u.Groups {
			in[i] = map[string]any{"value": string(g.ID), "display": g.Name, "$ref": c.base + "/Groups/" + string(g.ID),
				"type": "direct"}
		}
		attributes["groups"] = in
	}
	return scim.Resource{ID: string(u.ID), ExternalID: external(u.ExternalID), Attributes: attributes,
		Meta: scim.Meta{Created: &u.CreatedAt, LastModified: &u.UpdatedAt,
			Version: version(u.ID, u.ExternalID, attributes, u.UpdatedAt)}}
}

func external(id string) optional.String {
	if id == "" {
		return optional.String{}
	}
	return optional.NewString(id)
}

// attributesOf returns a person's stored attributes in the library's form.
func attributesOf(p *account.DirectoryPerson) scim.ResourceAttributes {
	attributes := scim.ResourceAttributes{"userName": p.UserName, "active": p.Active}
	put(attributes, "externalId", p.ExternalID)
	put(attributes, "displayName", p.Display)
	name := map[string]any{}
	put(name, "formatted", p.Formatted)
	put(name, "givenName", p.GivenName)
	put(name, "familyName", p.FamilyName)
	if len(name) > 0 {
		attributes["name"] = name
	}
	if p.Email != "" {
		email := map[string]any{"value": p.Email, "primary": true}
		put(email, "type", p.EmailType)
		attributes["emails"] = []any{email}
	}
	return attributes
}

func put(attributes map[string]any, name, value string) {
	if value != "" {
		attributes[name] = value
	}
}

// personOf returns the person that attributes, which the library has validated, describe. They say by true or false
// whether the person is active; otherwise it is as isActive says.
func personOf(attributes map[string]any, isActive bool) account.DirectoryPerson {
	if active, isSet := attributes["active"].(bool); isSet {
		isActive = active
	}
	name, _ := attributes["name"].(map[string]any)
	email := primaryEmail(attributes)
	return account.DirectoryPerson{
		UserName: text(attributes, "userName"), ExternalID: text(attributes, "externalId"),
		Formatted: text(name, "formatted"), GivenName: text(name, "givenName"), FamilyName: text(name, "familyName"),
		Display: text(attributes, "displayName"), Email: text(email, "value"), EmailType: text(email, "type"),
		Active: isActive,
	}
}

func text(attributes map[string]any, name string) string {
	value, _ := attributes[name].(string)
	return value
}

// primaryEmail returns the primary e-mail address, or else the first one; nil if no item has an address.
func primaryEmail(attributes map[string]any) (email map[string]any) {
	all, _ := attributes["emails"].([]any)
	for _, one := range all {
		e, _ := one.(map[string]any)
		isPrimary, _ := e["primary"].(bool)
		if text(e, "value") != "" && (isPrimary || email == nil) {
			email = e
			if isPrimary {
				break
			}
		}
	}
	return email
}
