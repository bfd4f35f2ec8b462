package scim

import (
	"log/slog"
	"net/http"

	"github.com/elimity-com/scim"
	"github.com/elimity-com/scim/optional"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// users implements scim.ResourceHandler.
type users struct {
	directory *accounts.Directory
	log       *slog.Logger
}

// Create implements scim.ResourceHandler.
func (s *users) Create(r *http.Request, attributes scim.ResourceAttributes) (scim.Resource, error) {
	c := call(r)
	u, err := s.directory.AddUser(r.Context(), c.by, c.org, personOf(attributes))
	if err == nil {
		c.made = "/Users/" + string(u.ID)
	}
	return s.answer(r, u, err)
}

// Get implements scim.ResourceHandler.
func (s *users) Get(r *http.Request, id string) (scim.Resource, error) {
	u, err := s.directory.User(r.Context(), call(r).by, identity.UserID(id))
	return s.answer(r, u, err)
}

// GetAll implements scim.ResourceHandler.
func (s *users) GetAll(r *http.Request, params scim.ListRequestParams) (scim.Page, error) {
	q, err := query(params, "username")
	if err != nil {
		return scim.Page{}, err
	}
	found, total, err := s.directory.Users(r.Context(), call(r).by, q)
	if err != nil {
		return scim.Page{}, refusal(r, s.log, err)
	}
	page := scim.Page{TotalResults: total, Resources: []scim.Resource{}}
	for i := range found {
		page.Resources = append(page.Resources, userResource(&found[i]))
	}
	return page, nil
}

// Replace implements scim.ResourceHandler.
func (s *users) Replace(r *http.Request, id string, attributes scim.ResourceAttributes) (scim.Resource, error) {
	return s.change(r, id, func(account.DirectoryPerson) (account.DirectoryPerson, error) {
		return personOf(attributes), nil
	})
}

// Patch implements scim.ResourceHandler.
func (s *users) Patch(r *http.Request, id string, operations []scim.PatchOperation) (scim.Resource, error) {
	return s.change(r, id, func(p account.DirectoryPerson) (account.DirectoryPerson, error) {
		attributes := attributesOf(&p)
		if err := apply(attributes, operations); err != nil {
			return p, err
		}
		return personOf(attributes), nil
	})
}

func (s *users) change(
	r *http.Request, id string, change func(account.DirectoryPerson) (account.DirectoryPerson, error),
) (scim.Resource, error) {
	c := call(r)
	u, err := s.directory.ChangeUser(r.Context(), c.by, c.org, identity.UserID(id), change)
	return s.answer(r, u, err)
}

// Delete implements scim.ResourceHandler.
func (s *users) Delete(r *http.Request, id string) error {
	c := call(r)
	if err := s.directory.RemoveUser(r.Context(), c.by, c.org, identity.UserID(id)); err != nil {
		return refusal(r, s.log, err)
	}
	return nil
}

func (s *users) answer(r *http.Request, u *account.DirectoryUser, err error) (scim.Resource, error) {
	if err != nil {
		return scim.Resource{}, refusal(r, s.log, err)
	}
	return userResource(u), nil
}

func userResource(u *account.DirectoryUser) scim.Resource {
	attributes := attributesOf(&u.DirectoryPerson)
	delete(attributes, "externalId") // the library adds it
	if len(u.Groups) > 0 {
		in := make([]any, len(u.Groups))
		for i, g := range u.Groups {
			in[i] = map[string]any{"value": string(g.ID), "display": g.Name, "$ref": Path + "/Groups/" + string(g.ID),
				"type": "direct"}
		}
		attributes["groups"] = in
	}
	return scim.Resource{ID: string(u.ID), ExternalID: external(u.ExternalID), Attributes: attributes,
		Meta: scim.Meta{Created: &u.CreatedAt, LastModified: &u.UpdatedAt}}
}

func external(id string) optional.String {
	if id == "" {
		return optional.String{}
	}
	return optional.NewString(id)
}

// attributesOf returns a person's stored attributes in the library's form. Other attributes that a directory sends are
// not stored.
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
		attributes["emails"] = []any{map[string]any{"value": p.Email, "type": "work", "primary": true}}
	}
	return attributes
}

func put(attributes map[string]any, name, value string) {
	if value != "" {
		attributes[name] = value
	}
}

// personOf returns the person that attributes, which the library has validated, describe.
func personOf(attributes map[string]any) account.DirectoryPerson {
	active, isSet := attributes["active"].(bool)
	name, _ := attributes["name"].(map[string]any)
	return account.DirectoryPerson{
		UserName: text(attributes, "userName"), ExternalID: text(attributes, "externalId"),
		Formatted: text(name, "formatted"), GivenName: text(name, "givenName"), FamilyName: text(name, "familyName"),
		Display: text(attributes, "displayName"), Email: primaryEmail(attributes), Active: active || !isSet,
	}
}

func text(attributes map[string]any, name string) string {
	value, _ := attributes[name].(string)
	return value
}

// primaryEmail returns the primary e-mail address, or else the first one.
func primaryEmail(attributes map[string]any) (email string) {
	all, _ := attributes["emails"].([]any)
	for _, one := range all {
		e, _ := one.(map[string]any)
		if primary, _ := e["primary"].(bool); primary || email == "" {
			email = text(e, "value")
			if primary {
				break
			}
		}
	}
	return email
}
