package source

import (
	"strings"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/revision"
)

// Rename gives s another name of 1 to 120 characters. It changes nothing if s has that name already.
func (s *Source) Rename(by identity.Actor, match revision.Match, name string) error {
	if err := s.allow(by, Manage, match); err != nil {
		return err
	}
	var errs fault.Fields
	checkName(&errs, name)
	normal := naming.Normal(name)
	if strings.TrimSpace(normal) == "" {
		errs.Add("/name", "too_short", "Must have at least 1 character that is not a space.")
	}
	if err := errs.Err(); err != nil || normal == s.Name {
		return err
	}
	s.Record(by, "source.renamed", string(s.ID), map[string]any{"name": event.Change{From: s.Name, To: normal}})
	s.Name = normal
	s.touch(by)
	return nil
}
