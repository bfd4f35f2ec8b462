package demo

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
)

// seedSources attaches the sample shop's customers, mapped, and a sample workbook, unmapped, unless the workspace
// already had sources. Types that the org does not offer are left out.
func seedSources(ctx context.Context, app *node.Core, by identity.Actor) error {
	service := app.Services.Sources
	existing, err := service.List(ctx, by, page.Query{Limit: 1})
	if err != nil || len(existing.Items) > 0 {
		return err
	}
	drafts := []source.Draft{
		{Type: "contacts", Name: "Sign-ups",
			Location: source.Location{Sheet: source.SheetLocation{URL: source.FileScheme + signups}}}}
	listing, err := app.Services.Connections.List(ctx, by)
	if err != nil {
		return err
	}
	for _, c := range listing.Connections {
		if c.Kind == connection.SQLite && c.Status == connection.Active {
			drafts = append(drafts, source.Draft{
				Type: "contacts", Name: "Customers of the demo shop",
				Location: source.Location{Connection: c.ID,
					Table: connection.TableRef{Schema: "main", Name: "customers"}},
				Mapping: []source.Pair{{Field: "email", Column: "email"}, {Field: "full_name", Column: "name"},
					{Field: "country", Column: "country"}, {Field: "created_at", Column: "since"}},
			})
			break
		}
	}
	for _, d := range drafts {
		if err := seedSource(ctx, service, by, d); err != nil {
			return err
		}
	}
	return nil
}

// seedSource attaches a source, unless it is refused.
func seedSource(ctx context.Context, service *sources.Service, by identity.Actor, d source.Draft) error {
	reading, err := service.Read(ctx, by, d)
	if err == nil {
		_, err = service.Attach(ctx, by, d, reading)
	}
	// the org offers no files, or the system cannot confine children
	if _, isRefusal := errors.AsType[*fault.Error](err); isRefusal {
		return nil
	}
	return err
}
