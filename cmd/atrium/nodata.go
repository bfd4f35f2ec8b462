package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/configs"
)

// withCore runs f on opened data, which must exist.
func (p *process) withCore(f func(*node.Core) error) error {
	c, err := p.runningConfig()
	if err == nil {
		err = p.requireData(c)
	}
	if err != nil {
		return err
	}
	return p.open(c, f)
}

// open runs f on opened data, which it creates if needed.
func (p *process) open(c configs.Config, f func(*node.Core) error) error {
	app, closeAll, err := buildCore(p.ctx, c, node.NewLog(p.stderr, c.Log))
	if err != nil {
		return err
	}
	defer closeAll()
	return f(app)
}

// requireData returns an error unless the deployment has data. Only serve, migrate, restore and keys create create it:
// another command in a wrong folder would act on an empty deployment, and leave it behind.
func (p *process) requireData(c configs.Config) error {
	hasSchema, err := sqlstore.HasSchema(p.ctx, c.Database, node.OpenPool)
	if errors.Is(err, fs.ErrNotExist) {
		return p.noData(c)
	}
	if err != nil {
		return err
	}
	if !hasSchema {
		return p.noData(c)
	}
	if _, err := seal.Open(c.Keyring); !errors.Is(err, seal.ErrNoKeyFile) {
		return err
	}
	return refuseSealed(p, c)
}

// noData returns the error for a command that needs data where there is none. It names the place.
func (p *process) noData(c configs.Config) error {
	place := "the database of database.url"
	if file := c.Database.File(); file != "" {
		place = "the folder " + absolute(filepath.Dir(file))
	}
	return fmt.Errorf("there is no data in %s: name another place with --data or --config, or create data with %s",
		place, p.hint("serve"))
}

// absolute returns a path that does not depend on the working directory.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}
