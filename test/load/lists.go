package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/prompt"
)

const (
	few, many = 1_000, 100_000 // templates in a workspace
	mayRead   = 30             // of them, in either, the member: a third each own, shared and visible
	listings  = 400
)

// lists compares the first page of a list in a large workspace with that in a small one. Each is
// alone in its database: beside the other, both would pay for a plan that reads the whole table.
func lists(ctx context.Context, m *machine, engines []engine, table *tabwriter.Writer) error {
	fmt.Fprintf(table, "GET list of 20\tof %d\tof %d\tratio of medians\n", few, many)
	for _, e := range engines {
		if err := m.listsOn(ctx, e, table); err != nil {
			return fmt.Errorf("lists on %s: %w", e.driver, err)
		}
	}
	return nil
}

func (m *machine) listsOn(ctx context.Context, e engine, table *tabwriter.Writer) error {
	return m.filled(ctx, e, few, func(small readers) error {
		return m.filled(ctx, e, many, func(large readers) error {
			for _, of := range []struct {
				who          string
				small, large target
			}{{"owner", small.owner, large.owner}, {"member", small.member, large.member}} {
				medians, err := inTurns(ctx, [2]target{of.small, of.large})
				if err != nil {
					return err
				}
				fmt.Fprintf(table, "%s, %s\t%s\t%s\t%.2f\n", e.driver, of.who, ms(medians[0]), ms(medians[1]), float64(medians[1])/float64(medians[0]))
			}
			return nil
		})
	})
}

// readers are the same list, of two who see different things in it.
type readers struct{ owner, member target }

// filled runs f beside an Atrium whose only workspace has n templates.
func (m *machine) filled(ctx context.Context, e engine, n int, f func(readers) error) error {
	data := filepath.Join(m.dir, fmt.Sprintf("lists-%s-%d", e.driver, n))
	return e.use(ctx, data, func(d database) error {
		owner, err := m.createUser(ctx, d, data, "owner")
		if err != nil {
			return err
		}
		member, err := m.createUser(ctx, d, data, "member")
		if err != nil {
			return err
		}
		if err := fill(ctx, d, n, owner, member); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
		p, err := m.serveAtrium(ctx, d, data)
		if err != nil {
			return err
		}
		defer p.stop()
		const path = "/api/prompt-templates"
		return f(readers{owner: newTarget(p, path, owner.Token), member: newTarget(p, path, member.Token)})
	})
}

// inTurns asks both, one request at a time, and returns the median latencies.
func inTurns(ctx context.Context, targets [2]target) (medians [2]time.Duration, err error) {
	var connections [2]*connection
	for i, t := range targets {
		if connections[i], err = t.dial(ctx); err != nil {
			return medians, err
		}
		defer connections[i].Close()
	}
	var took [2][]time.Duration
	for n := range listings {
		for i, c := range connections {
			one, err := c.ask()
			if err != nil {
				return medians, err
			}
			if n >= listings/10 { // the first ones warm up
				took[i] = append(took[i], one)
			}
		}
	}
	for i := range took {
		slices.Sort(took[i])
		medians[i] = percentile(took[i], 50)
	}
	return medians, ctx.Err()
}

// row is a template as fill stores it.
type row struct {
	ID         string `db:"id"`
	Workspace  string `db:"workspace"`
	Owner      string `db:"owner"`
	Name       string `db:"name"`
	Visibility string `db:"visibility"`
	At         int64  `db:"at"`
}

// fill gives the workspace n templates, which belong to owner but for those that member may read,
// spread evenly. It writes rows: through the API it would take minutes.
func fill(ctx context.Context, d database, n int, owner, member person) error {
	db, err := d.open("&_pragma=synchronous(off)")
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	rows := make([]row, n)
	var shared []row
	for i := range rows {
		rows[i] = row{
			ID: id.New(prompt.Prefix), Workspace: owner.Workspace, Owner: owner.User, Name: fmt.Sprintf("folder-%d/prompt-%d", i%100, i),
			Visibility: string(access.Private), At: time.Now().UnixMicro(),
		}
		if i%(n/mayRead) != 0 || i/(n/mayRead) >= mayRead {
			continue
		}
		switch i / (n / mayRead) % 3 {
		case 0:
			rows[i].Owner = member.User
		case 1:
			rows[i].Visibility = string(access.Workspace)
		case 2:
			shared = append(shared, row{ID: rows[i].ID, Workspace: owner.Workspace, Owner: member.User, At: rows[i].At})
		}
	}
	for batch := range slices.Chunk(rows, 500) {
		if _, err := tx.NamedExecContext(ctx, fillTemplates, batch); err != nil {
			return err
		}
	}
	if _, err := tx.NamedExecContext(ctx, fillShares, shared); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return settle(ctx, db)
}

const (
	fillTemplates = `INSERT INTO prompt_templates (id, workspace_id, owner_id, name, name_key, type, description, tags, metadata, visibility, protected, search,
		active_version_id, active_number, activated_at, activated_by, last_number, revision, created_at, created_by, updated_at, deleted_at)
	VALUES (:id, :workspace, :owner, :name, :name, 'text', 'Turns a transcript into a summary.', '["sales"]', '{}', :visibility, FALSE, :name,
		'', 0, 0, '', 0, 1, :at, :owner, :at, 0)`
	fillShares = `INSERT INTO prompt_shares (template_id, workspace_id, user_id, access, expires_at, granted_by, revision, created_at, updated_at)
	VALUES (:id, :workspace, :owner, 1, 0, :owner, 1, :at, :at)`
)

// settle does what PostgreSQL itself does within a minute of such a change.
func settle(ctx context.Context, db *sqlx.DB) error {
	if db.DriverName() != "postgres" {
		return nil
	}
	_, err := db.ExecContext(ctx, `VACUUM ANALYZE`)
	return err
}
