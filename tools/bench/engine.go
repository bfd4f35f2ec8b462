package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/test/support/services"
)

// engine makes databases.
type engine struct {
	driver string // sqlite or postgres
	server string // URL of the PostgreSQL that they are in
}

// openEngines returns both, or the one of a driver, and what ends the server that it had to start.
func openEngines(ctx context.Context, driver string) ([]engine, func(), error) {
	switch driver {
	case "sqlite":
		return []engine{{driver: driver}}, func() {}, nil
	case "", "postgres":
	default:
		return nil, nil, fmt.Errorf("-engine %s: there are sqlite and postgres", driver)
	}
	postgres, stop := os.Getenv(services.PostgresURL), func() {}
	if postgres == "" {
		server, err := services.StartPostgres()
		if err != nil {
			return nil, nil, fmt.Errorf("PostgreSQL: %w", err)
		}
		postgres, stop = server.URL, server.Stop
	}
	engines := []engine{{driver: "sqlite"}, {driver: "postgres", server: postgres}}
	if driver != "" {
		engines = engines[1:]
	}
	return engines, stop, ctx.Err()
}

// database is one of an Atrium, or of the floor beside it.
type database struct {
	engine
	url string // as Atrium is configured with it
}

// use runs f on an empty database, and drops it.
func (e engine) use(ctx context.Context, dir string, f func(database) error) error {
	d, drop, err := e.create(ctx, dir)
	if err != nil {
		return err
	}
	return errors.Join(f(d), drop())
}

// create returns an empty database, and what drops it. SQLite's is a file in dir, which stays.
func (e engine) create(ctx context.Context, dir string) (d database, drop func() error, err error) {
	if e.driver == "sqlite" {
		return database{engine: e, url: "sqlite:" + filepath.Join(dir, "atrium.db")}, func() error { return nil }, nil
	}
	u, err := url.Parse(e.server)
	if err != nil { // which would quote the password
		return database{}, nil, errors.New("the URL of PostgreSQL is none")
	}
	name := "load_" + strings.ToLower(rand.Text())
	if err := e.execute(ctx, `CREATE DATABASE `+name+` TEMPLATE template0`); err != nil {
		return database{}, nil, err
	}
	u.Path = "/" + name
	return database{engine: e, url: u.String()}, func() error {
		return e.execute(context.WithoutCancel(ctx), `DROP DATABASE `+name+` WITH (FORCE)`)
	}, nil
}

func (e engine) execute(ctx context.Context, statement string) error {
	db, err := sqlx.ConnectContext(ctx, e.driver, e.server)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// open connects to d without Atrium. pragmas are SQLite's, as &_pragma=name(value).
func (d database) open(pragmas string) (*sqlx.DB, error) {
	source := d.url
	if path, ok := strings.CutPrefix(d.url, "sqlite:"); ok {
		source = "file:" + path + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)" + pragmas
	}
	return sqlx.Open(d.driver, source)
}

// onEach runs f on an empty database of each engine, with a directory for an Atrium on it.
func (m *machine) onEach(ctx context.Context, what string, f func(d database, data string) error) error {
	for _, e := range m.engines {
		data := filepath.Join(m.dir, what+"-"+e.driver)
		if err := e.use(ctx, data, func(d database) error { return f(d, data) }); err != nil {
			return fmt.Errorf("%s: %w", e.driver, err)
		}
	}
	return nil
}
