package connection

import (
	"encoding/json"
	"strings"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/revision"
)

// Rename gives c another name of 1 to 120 characters. It changes nothing if c has that name already.
func (c *Connection) Rename(by identity.Actor, match revision.Match, name string) error {
	if err := c.allow(by, Manage, match); err != nil {
		return err
	}
	if err := checkName(name); err != nil {
		return err
	}
	if name = naming.Normal(name); strings.TrimSpace(name) == "" {
		return fault.InField("/name", "too_short", "Must have at least 1 character that is not a space.")
	}
	if name == c.Name {
		return nil
	}
	c.Record(by, "connection.renamed", string(c.ID), map[string]any{"name": event.Change{From: c.Name, To: name}})
	c.Name = name
	c.touch(by)
	return nil
}

// Confirm makes by the owner of c, if it no longer has one. Requires the admin role, and a person.
func (c *Connection) Confirm(by identity.Actor, match revision.Match) error {
	if err := c.allow(by, See, match); err != nil {
		return err
	}
	if err := identity.MayOwn(by); err != nil {
		return err
	}
	if !c.Ownerless {
		return nil
	}
	c.Record(by, "connection.confirmed", string(c.ID), map[string]any{"kind": c.Kind, "name": c.Name})
	c.Owner, c.Ownerless = by.User, false
	c.touch(by)
	return nil
}

// Erase removes a revoked connection's remaining data about its server: the host, the database, the user and the name.
// ErrNotRevoked if c is live. Erasing again changes nothing.
func (c *Connection) Erase(by identity.Actor) error {
	if err := c.Allow(by, Manage); err != nil {
		return err
	}
	if c.Status != Revoked {
		return ErrNotRevoked
	}
	const name, none = "Erased", "{}"
	if c.Name == name && string(c.Config) == none {
		return nil
	}
	c.Record(by, "connection.erased", string(c.ID), map[string]any{"kind": c.Kind})
	c.Name, c.Config, c.Server, c.Checks = name, json.RawMessage(none), Server{}, nil
	c.touch(by)
	return nil
}
