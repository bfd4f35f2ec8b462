package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/atrium-hq/atrium/domain/presence"
)

// operations measures what people and programs repeat, at least one read and one write an area, with 16
// connections: how often a second, what of the floor's reads that is, how long, and what a request takes of
// the server. Creating and verifying connections is a call to a warehouse: BenchmarkProbe measures that.
func operations(ctx context.Context, m *machine) error {
	m.section("Operations", "", "", "answers", "/ floor", "p50, p99", "allocations", "CPU")
	var mixed [][]string // rows
	if err := m.onEach(ctx, "operations", func(d database, data string) error {
		return m.operationsOn(ctx, d, data, func(cells ...string) { mixed = append(mixed, cells) })
	}); err != nil {
		return err
	}
	m.section("Mixed load", "", "responses", "reads: p50, p99", "writes: p50, p99", "CPU of a request")
	for _, cells := range mixed {
		m.row(cells...)
	}
	return nil
}

// operationsOn adds a row of each operation, and reports that of all of them together to mixed.
func (m *machine) operationsOn(ctx context.Context, d database, data string, mixed func(cells ...string)) error {
	owner, err := m.createUser(ctx, d, data, "owner")
	if err != nil {
		return err
	}
	sites := make([]person, embedSites)
	for i := range sites {
		// whose owner is in no other workspace: a change of a person is an event in each
		site := fmt.Sprintf("site-%d", i)
		if sites[i], err = m.createUser(ctx, d, data, "owner", "--email", site+"@example.com", "--workspace",
			site); err != nil {
			return err
		}
	}
	if err := connect(ctx, d, owner, maxConnections-1); err != nil {
		return fmt.Errorf("connections: %w", err)
	}
	// A heartbeat is limited to two a second of one person, and thirty at once.
	people, err := crowd(ctx, d, owner, 4000, 0)
	if err != nil {
		return fmt.Errorf("people: %w", err)
	}
	if err := present(ctx, d, people, presence.MaxTTL); err != nil {
		return fmt.Errorf("presences: %w", err)
	}
	config := filepath.Join(m.dir, "operations.yaml")
	if err := os.WriteFile(config, []byte(operationsConfig), 0o600); err != nil {
		return err
	}
	atrium, err := m.serveAtrium(ctx, d, data, "--config", config)
	if err != nil {
		return err
	}
	defer atrium.stop()
	w := workspace{program: atrium, owner: owner, sites: sites, people: people}
	if err := w.furnish(ctx, d, data); err != nil {
		return err
	}
	floor, err := m.serveFloor(ctx, d)
	if err != nil {
		return err
	}
	defer floor.stop()
	contestants := append([]*contestant{
		{name: "the floor", target: newTarget(floor, w.prompts[0].active(), owner.Token)}}, w.operations()...)
	if err := m.inRounds(ctx, 16, contestants); err != nil {
		return err
	}
	for i, c := range contestants {
		allocations, cpu := c.each()
		if i == 0 {
			allocations, cpu = "", ""
		}
		m.row(c.name, d.named(), c.rate(), c.ratio(), c.percentiles(), allocations, cpu)
	}
	cells, err := m.atOnce(ctx, atrium, contestants[1:])
	if err != nil {
		return err
	}
	mixed(append([]string{d.named()}, cells...)...)
	return nil
}

// atOnce loads all contestants at the same time, each on one connection, and returns the cells of the table: how many
// requests p responds to, how long reads and writes take, and the CPU time of a request. Calls of other systems, and of
// the sandbox, are left out.
func (m *machine) atOnce(ctx context.Context, p *program, contestants []*contestant) ([]string, error) {
	before, err := p.usage(ctx)
	if err != nil {
		return nil, err
	}
	took := make([][]time.Duration, len(contestants))
	var all errgroup.Group
	for i, c := range contestants {
		if c.kind == call {
			continue
		}
		all.Go(func() (err error) {
			took[i], _, err = c.load(ctx, 1, rounds*m.round)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	after, err := p.usage(ctx)
	if err != nil {
		return nil, err
	}
	var times [call][]time.Duration // by kind
	for i, c := range contestants {
		if c.kind != call {
			times[c.kind] = append(times[c.kind], took[i]...)
		}
	}
	n := float64(len(times[read]) + len(times[write]))
	cells := []string{perSecond(n / (rounds * m.round).Seconds())}
	for _, durations := range times {
		slices.Sort(durations)
		cells = append(cells, ms(percentile(durations, 50))+", "+ms(percentile(durations, 99)))
	}
	return append(cells, fmt.Sprintf("%.0f µs", after.since(before).cpu/n*1e6)), nil
}

// operationsConfig is what is so by default, where no org is configured, and that connections may be to
// this machine.
const operationsConfig = `orgs:
  - slug: default
    egress: {allow: [127.0.0.0/8]}
    payments: {gateway: sandbox}
    registry: {tools: [{id: knowledge-search, name: Knowledge search, embed_safe: true}]}
`

// workspace is one with something of everything in it.
type workspace struct {
	*program
	owner   person
	sites   []person // owners of further workspaces
	people  []person
	prompts []published
	chats   []string // paths
	sources []string // paths
	embeds  target
}

const (
	manyPrompts = 40
	manyChats   = 25
	manySources = 20

	maxConnections = 50 // of a workspace
	waitingReads   = 8  // reads of a workspace that may wait for a child process (ADR 24)
)

// furnish creates the objects that the measured operations read.
func (w *workspace) furnish(ctx context.Context, d database, data string) (err error) {
	var made struct {
		ID string `json:"id"`
	}
	for i := range manyPrompts {
		p, err := publish(ctx, w.program, w.owner.Token, fmt.Sprintf("sales/prompt-%d", i))
		if err != nil {
			return err
		}
		w.prompts = append(w.prompts, p)
	}
	for i, of := range []string{"sales/prompt-0", "sales/part-0", "sales/part-1"} {
		body := fmt.Sprintf(`{"name":"sales/part-%d","version":{"text":"{{> %s}}","activate":true}}`, i, of)
		if err := w.post(ctx, promptsPath, w.owner.Token, body, &made); err != nil {
			return err
		}
	}
	for range manyChats {
		const body = `{"name":"Support","description":"Answers what customers ask.","greeting":"Hello!",
			"instructions":"Be brief.","tools":[{"id":"knowledge-search","config":{"max_results":5}}]}`
		if err := w.post(ctx, chatsPath, w.owner.Token, body, &made); err != nil {
			return err
		}
		w.chats = append(w.chats, chatsPath+"/"+made.ID)
	}
	if w.sources, err = w.attach(ctx, d, data); err != nil {
		return err
	}
	if err := w.post(ctx, "/api/payments/setup-intent", w.owner.Token, "{}", &made); err != nil {
		return err
	}
	w.embeds, err = exchange(ctx, w.program, w.sites)
	return err
}

const chatsPath = "/api/chat-templates"

// operations are what is measured, each as it is sent.
func (w *workspace) operations() []*contestant {
	by := w.owner.Token
	one := w.prompts[0]
	get := func(path string) target { return newTarget(w.program, path, by) }
	post := func(path, body string, headers ...string) target {
		return w.repeats(w.request("POST", path, by, body, headers...))
	}
	refs := make([]string, 20)
	for i := range refs {
		refs[i] = fmt.Sprintf(`{"prompt_template_id":%q}`, w.prompts[i].id)
	}
	all := []*contestant{
		{name: "`GET /api/me`", target: get(me)},
		{name: "`GET` events, 20", target: get("/api/events")},
		{name: "`PATCH /api/me`", target: w.repeats(w.request("PATCH", me, by, `{"name":"Ann"}`),
			w.request("PATCH", me, by, `{"name":"Anna"}`)), kind: write},
		{name: "prompts: `GET` active version", target: get(one.active())},
		{name: "prompts: `GET` list of 20", target: get(promptsPath)},
		{name: "prompts: `POST resolve` of 20",
			target: post(promptsPath+"/resolve", `{"refs":[`+strings.Join(refs, ",")+`]}`)},
		{name: "prompts: `GET resolve`, without memory", target: w.resolved("sales/prompt-0")},
		{name: "prompts: the same with includes 3 deep", target: w.resolved("sales/part-2")},
		{name: "prompts: `POST render`",
			target: post(one.path()+"/render",
				`{"variables":{"customer":"Ann","language":"English","transcript":"Hello."}}`)},
		{name: "prompts: `POST activate`", target: w.activations(), kind: write},
		{name: "prompts: `POST` version, idempotent", target: w.versions(true), kind: write},
		{name: "chats: `GET` list of 20", target: get(chatsPath)},
		{name: "chats: `GET` one", target: get(w.chats[0])},
		{name: "chats: `PATCH` one", target: w.greetings(), kind: write},
		{name: "chats: `POST` embed session", target: w.embeds, kind: write},
		{name: "connections: `GET` list of 50", target: get("/api/connections")},
		{name: "sources: `GET` list of 20", target: get(sourcesPath)},
		{name: "sources: `PUT mapping`, reads the table", target: w.mappings(), most: waitingReads, kind: call},
		{name: "payments: `GET methods`", target: get("/api/payments/methods")},
		{name: "payments: `POST setup-intent`, sandbox", target: post("/api/payments/setup-intent", "{}"), kind: call},
		{name: "presence: `POST` heartbeat", target: beats(w.program, w.people, heartbeat), kind: write},
		{name: "presence: `GET me`", target: newTarget(w.program, "/api/presence/me", w.people[0].Token)},
	}
	for _, c := range all {
		c.of = w.program
	}
	return all
}

// resolved reads a prompt by its name from the database.
func (w *workspace) resolved(name string) target {
	return w.repeats(w.request("GET", promptsPath+"/resolve?name="+name, w.owner.Token, "", "Cache-Control: no-cache"))
}

// activations activate the versions of every prompt by turns, so that each changes something.
func (w *workspace) activations() target {
	var requests [][]byte
	for i := range 2 {
		for _, p := range w.prompts {
			requests = append(requests, w.request("POST", p.path()+"/versions/"+p.versions[i]+"/activate",
				w.owner.Token, "{}"))
		}
	}
	return w.repeats(requests...)
}

// versions add one to each prompt by turns, each with an Idempotency-Key of its own if keyed.
func (w *workspace) versions(keyed bool) target {
	body := versionBody("[]")
	t := w.repeats()
	t.make = func(n int64) []byte {
		p := w.prompts[1+int(n)%(len(w.prompts)-1)]
		var headers []string
		if keyed {
			headers = append(headers, "Idempotency-Key: version-"+rand.Text())
		}
		return w.request("POST", p.path()+"/versions", w.owner.Token, body, headers...)
	}
	return t
}

// greetings change each chat by turns.
func (w *workspace) greetings() target {
	var requests [][]byte
	for _, greeting := range []string{"Hello!", "Good day!"} {
		for _, path := range w.chats {
			requests = append(requests, w.request("PATCH", path, w.owner.Token,
				fmt.Sprintf(`{"greeting":%q}`, greeting)))
		}
	}
	return w.repeats(requests...)
}
