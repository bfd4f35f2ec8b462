package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// print writes v as JSON, or as text.
func (p *process) print(asJSON bool, v any, format string, args ...any) error {
	if asJSON {
		return p.json(v)
	}
	_, err := fmt.Fprintf(p.stdout, format, args...)
	return err
}

// inOrg returns the actor of the command line in the org that orgNamed finds.
func inOrg(app *node.Core, slug string) (identity.Actor, error) {
	org, err := orgNamed(app, slug)
	if err != nil {
		return identity.Actor{}, err
	}
	return byCommand(org), nil
}

// byCommand returns the actor of the command line in an org.
func byCommand(org *identity.Org) identity.Actor {
	return identity.System(org.ID, "", "cli", time.Now())
}

// orgNamed returns the configured org with a slug. An empty slug names the only org.
func orgNamed(app *node.Core, slug string) (*identity.Org, error) {
	d := app.Orgs.Directory()
	if slug == "" {
		if all := d.All(); len(all) == 1 {
			slug = all[0].Slug
		} else {
			return nil, usageError{errors.New("several orgs are configured: name one with --org")}
		}
	}
	org, ok := d.BySlug(slug)
	if !ok {
		return nil, usageError{fmt.Errorf("no org %q is configured", slug)}
	}
	return org, nil
}

// withFields adds the invalid inputs to a refused command's error.
func withFields(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		for _, field := range f.Fields {
			err = fmt.Errorf("%w %s: %s", err, field.Pointer[1:], field.Detail)
		}
	}
	return err
}
