package demo

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
)

//go:embed shop.sql
var shopSchema string

// shopFile is the file name of the sample warehouse.
const shopFile = "demo.db"

// seedShop connects the site, if there is one, and creates the sample warehouse and a connection to it. It does neither
// if the workspace already had connections. The org may not offer SQLite.
func seedShop(ctx context.Context, app *node.Core, by identity.Actor, site *Site) error {
	service := app.Services.Connections
	existing, err := service.List(ctx, by)
	if err != nil || len(existing.Connections) > 0 {
		return err
	}
	if site != nil {
		if err := site.connect(ctx, service, by); err != nil {
			return err
		}
		by.At = by.At.Add(time.Millisecond)
	}
	if err := makeShop(ctx, node.WarehousesFolder(app.Config)); err != nil {
		return err
	}
	trial, err := service.Probe(ctx, by, connection.Draft{Kind: connection.SQLite, Name: "Demo shop",
		Entry: connection.Entry{Credential: []byte(`{"file":"` + shopFile + `"}`)}}, nil)
	if errors.Is(err, connection.ErrKindNotOffered) {
		return nil
	}
	if err == nil {
		_, err = service.Create(ctx, by, trial)
	}
	return err
}

// makeShop creates the file, unless it exists. It gets its final name when it is complete.
func makeShop(ctx context.Context, folder string) (err error) {
	path := filepath.Join(folder, shopFile)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	draft := path + ".new"
	if err := os.Remove(draft); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := sql.Open("sqlite", draft)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, shopSchema)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return os.Rename(draft, path)
}
