package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/prompt"
)

const (
	base     = 100 // templates in the smallest workspace, and events
	mayRead  = 30  // of them, in each, the member: a third each own, shared and visible
	askings  = 300
	warmings = askings / 10 // of them
)

// sizes are how many times base there are in the workspaces that are compared.
var sizes = []int{1, 10, 100, 1000}

// growth compares what is asked of large workspaces with the same of small ones: one request at a time, of
// each by turns. Each is alone in its database: beside another, both would pay for a plan that reads the
// whole table.
func growth(ctx context.Context, m *machine) error {
	columns := []string{"", fmt.Sprintf("of %d", base)}
	for _, size := range sizes[1:] {
		columns = append(columns, fmt.Sprintf("× %d", size))
	}
	m.section("Large workspaces", append(columns, "× 1000 / × 10 (aim ≤ 1.5)")...)
	config := filepath.Join(m.dir, "growth.yaml")
	if err := os.WriteFile(config, []byte(growthConfig), 0o600); err != nil {
		return err
	}
	for _, e := range m.engines {
		if err := m.grown(ctx, e, config, nil, sizes); err != nil {
			return fmt.Errorf("%s: %w", e.driver, err)
		}
	}
	return nil
}

// growthConfig is the default but for the quotas, which are below the sizes of the largest workspaces.
const growthConfig = `
orgs: [{slug: default, quotas: {prompt_templates: 1000000, prompt_versions: 10000000}}]
`

// questions are what is asked of a workspace, in an order that all of them share.
type questions []contestant

// grown starts an Atrium for each of sizes, and asks them once all are there.
func (m *machine) grown(ctx context.Context, e engine, config string, asked []questions, sizes []int) error {
	if len(sizes) == 0 {
		return m.compare(ctx, e, asked)
	}
	data := filepath.Join(m.dir, fmt.Sprintf("growth-%s-%d", e.driver, sizes[0]))
	return e.use(ctx, data, func(d database) error {
		owner, err := m.createUser(ctx, d, data, "owner")
		if err != nil {
			return err
		}
		member, err := m.createUser(ctx, d, data, "member")
		if err != nil {
			return err
		}
		if err := fill(ctx, d, base*sizes[0], owner, member); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
		p, err := m.serveAtrium(ctx, d, data, "--config", config)
		if err != nil {
			return err
		}
		defer p.stop()
		one, err := publish(ctx, p, owner.Token, "sales/summarise-call")
		if err != nil {
			return err
		}
		return m.grown(ctx, e, config, append(asked, questions{
			{name: "prompts, first page, owner", target: newTarget(p, promptsPath, owner.Token)},
			{name: "prompts, first page, member", target: newTarget(p, promptsPath, member.Token)},
			{name: "prompts, a folder, owner", target: newTarget(p, promptsPath+"?folder=folder-3", owner.Token)},
			{name: "events, first page", target: newTarget(p, "/api/events", owner.Token)},
			{name: "events of one type", target: newTarget(p, "/api/events?type=prompt_template.created", owner.Token)},
			{name: "active version", target: newTarget(p, one.active(), owner.Token)},
			{name: "rename a prompt", target: p.repeats(
				p.request("PATCH", one.path(), owner.Token, `{"description":"One"}`),
				p.request("PATCH", one.path(), owner.Token, `{"description":"Other"}`))},
		}), sizes[1:])
	})
}

// compare asks each workspace each question, and prints how much longer the larger ones take.
func (m *machine) compare(ctx context.Context, e engine, asked []questions) error {
	for i, question := range asked[0] {
		targets := make([]target, len(asked))
		for j := range asked {
			targets[j] = asked[j][i].target
		}
		medians, err := inTurns(ctx, targets)
		if err != nil {
			return fmt.Errorf("%s: %w", question.name, err)
		}
		cells := []string{e.named() + ", " + question.name, ms(medians[0])}
		for _, larger := range medians[1:] {
			cells = append(cells, fmt.Sprintf("%.2f", float64(larger)/float64(medians[0])))
		}
		m.row(append(cells, ratio(float64(medians[len(medians)-1])/float64(medians[1])))...)
	}
	return nil
}

// inTurns asks all of them, one request at a time, and returns the median latencies.
func inTurns(ctx context.Context, targets []target) ([]time.Duration, error) {
	var asks []func() (time.Duration, error)
	for _, t := range targets {
		c, err := t.dial(ctx)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		asks = append(asks, c.ask)
	}
	return byTurns(ctx, asks...)
}

// byTurns calls each of them, one after the other, and returns the medians of what they took.
func byTurns(ctx context.Context, calls ...func() (time.Duration, error)) (medians []time.Duration, err error) {
	took := make([][]time.Duration, len(calls))
	for n := range askings {
		for i, call := range calls {
			one, err := call()
			if err != nil {
				return nil, err
			}
			if n >= warmings {
				took[i] = append(took[i], one)
			}
		}
	}
	for _, t := range took {
		slices.Sort(t)
		medians = append(medians, percentile(t, 50))
	}
	return medians, ctx.Err()
}

// templateRow is a template as fill stores it.
type templateRow struct {
	ID         string `db:"id"`
	Event      string `db:"event"`
	Org        string `db:"org"`
	Workspace  string `db:"workspace"`
	Owner      string `db:"owner"`
	Name       string `db:"name"`
	Visibility string `db:"visibility"`
	At         int64  `db:"at"`
}

// fill gives the workspace n templates, with an event each, which belong to owner but for those that member may read,
// spread evenly. It writes rows: through the API it would take minutes.
func fill(ctx context.Context, d database, n int, owner, member person) error {
	db, err := d.open("&_pragma=synchronous(off)")
	if err != nil {
		return err
	}
	defer db.Close()
	org, err := orgOf(ctx, db, owner)
	if err != nil {
		return err
	}
	rows := make([]templateRow, n)
	var shared []templateRow
	for i := range rows {
		rows[i] = templateRow{
			ID: id.New(prompt.Prefix), Event: id.New("evt"), Org: org, Workspace: owner.Workspace, Owner: owner.User,
			Name:       fmt.Sprintf("folder-%d/prompt-%d", i%4, i),
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
			shared = append(shared, templateRow{ID: rows[i].ID, Workspace: owner.Workspace, Owner: member.User,
				At: rows[i].At})
		}
	}
	if err := insert(ctx, db, rows, fillTemplates, fillEvents); err != nil {
		return err
	}
	return insert(ctx, db, shared, fillShares)
}

const (
	fillTemplates = `INSERT INTO prompt_templates (id, workspace_id, owner_id, name, name_key, type, description, tags,
		metadata, visibility, protected, search,
		active_version_id, active_number, activated_at, activated_by, last_number, revision, created_at, created_by,
		updated_at, deleted_at)
	VALUES (:id, :workspace, :owner, :name, :name, 'text', 'Turns a transcript into a summary.', '["sales"]', '{}',
	:visibility, FALSE, :name,
		'', 0, 0, '', 0, 1, :at, :owner, :at, 0)`
	fillShares = `INSERT INTO prompt_shares (template_id, workspace_id, user_id, access, expires_at, granted_by,
		revision, created_at, updated_at)
	VALUES (:id, :workspace, :owner, 1, 0, :owner, 1, :at, :at)`
	fillEvents = `INSERT INTO events (id, org_id, workspace_id, type, actor_id, key_id, subject, data, created_at,
		request_id, address)
	VALUES (:event, :org, :workspace, 'prompt_template.created', :owner, '', :id, '{}', :at, 'req_1', '192.0.2.1')`
)
