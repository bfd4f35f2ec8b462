package chaos

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// kept tells for each kind of acknowledged write where it is kept: a query for all that is there, in the
// words in which writers note it.
var kept = map[string]string{
	"template":         `SELECT id FROM prompt_templates`,
	"version":          `SELECT id || ' ' || text FROM prompt_versions`,
	"activation":       `SELECT template_id || ' ' || to_version_id FROM prompt_activations`,
	"chat":             `SELECT id || ' ' || status FROM chat_templates`,
	"embed token":      `SELECT id FROM chat_embed_tokens`,
	"embed token gone": `SELECT e.subject FROM events e WHERE e.type = 'embed_token.deleted' AND NOT EXISTS (SELECT 1 FROM chat_embed_tokens t WHERE t.id = e.subject)`,
	"presence":         `SELECT id FROM presences`,
	"connection":       `SELECT id FROM connections`,
	"connection ended": `SELECT id FROM connections WHERE revoked_at > 0`,
	"key":              `SELECT id FROM api_keys`,
	"key ended":        `SELECT id FROM api_keys WHERE revoked_at > 0`,
	"invitation":       `SELECT id FROM invitations`,
	"invitation ended": `SELECT id FROM invitations WHERE NOT open`,
}

// grows is kept for what has a value that only grows, by the same writer: id and value.
var grows = map[string]string{
	"description": `SELECT id || ' ' || description FROM prompt_templates WHERE description <> ''`,
	"revision":    `SELECT id || ' ' || revision FROM prompt_templates`,
	"presence":    `SELECT ' ' || lasting_text FROM presences WHERE lasting_text <> ''`,
}

// ledger is what was acknowledged.
type ledger struct {
	mu      sync.Mutex
	there   map[string]map[string]bool // by kind
	reached map[string]map[string]int  // by kind and id
	sent    map[string]map[string]int
	acked   int
}

func newLedger() *ledger {
	return &ledger{there: map[string]map[string]bool{}, reached: map[string]map[string]int{}, sent: map[string]map[string]int{}}
}

// note takes down that something was acknowledged.
func (g *ledger) note(kind, what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	put(g.there, kind, what, true)
	g.acked++
}

// maybe takes down that something may be there no more: it is about to be changed.
func (g *ledger) maybe(kind, what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.there[kind], what)
}

// sends takes down that a value is under way, reaches that it was acknowledged.
func (g *ledger) sends(kind, id string, value int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	put(g.sent, kind, id, value)
}

func (g *ledger) reaches(kind, id string, value int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	put(g.reached, kind, id, value)
	g.acked++
}

func put[V any](m map[string]map[string]V, kind, id string, v V) {
	if m[kind] == nil {
		m[kind] = map[string]V{}
	}
	m[kind][id] = v
}

// check looks for everything that was acknowledged, and answers how many of these writes are lost.
func (g *ledger) check(t *testing.T, db *sql.DB) (lost int) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for kind := range g.there {
		if kept[kind] == "" {
			t.Fatalf("nothing says where a %s is kept", kind)
		}
		found := map[string]bool{}
		for _, line := range column(t, db, kept[kind]) {
			found[line] = true
		}
		for _, what := range slices.Sorted(maps.Keys(g.there[kind])) {
			if !found[what] {
				t.Errorf("a %s was acknowledged and is lost: %s", kind, what)
				lost++
			}
		}
	}
	for kind, reached := range g.reached {
		found := map[string]int{}
		for _, line := range column(t, db, grows[kind]) {
			id, text, _ := strings.Cut(line, " ")
			value, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			found[id] = value
		}
		for id, value := range reached {
			if most, told := g.sent[kind][id]; found[id] < value || told && found[id] > most {
				t.Errorf("the %s of %s was acknowledged as %d, and is %d", kind, id, value, found[id])
				lost++
			}
		}
	}
	return lost
}

// column is a query's only one.
func column(t *testing.T, db *sql.DB, query string) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", query, err))
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", query, err))
		}
		out = append(out, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// audited are things that an event tells of when they begin, and when they end.
var audited = []struct{ table, began, ended, has string }{
	{"prompt_templates", "prompt_template.created", "", ""},
	{"chat_templates", "chat_template.created", "", ""},
	{"connections", "connection.created", "connection.revoked", "revoked_at > 0"},
	{"api_keys", "api_key.created", "api_key.revoked", "revoked_at > 0"},
	{"invitations", "invitation.created", "invitation.withdrawn", "NOT open"},
}

// halves are what a write that is half done leaves behind: a query for the ids of such, by what it is.
func halves() map[string]string {
	const events = `(SELECT COUNT(*) FROM events e WHERE e.workspace_id = t.workspace_id AND e.subject = t.id AND e.type = '%s')`
	out := map[string]string{
		"a version without its event": `SELECT v.id FROM prompt_versions v JOIN prompt_templates t ON t.id = v.template_id WHERE NOT EXISTS (
			SELECT 1 FROM events e WHERE e.workspace_id = t.workspace_id AND e.subject = t.id AND e.type = 'prompt_version.created' AND e.data LIKE '%' || v.id || '%')`,
		"a template that has not as many versions as events of such": `SELECT t.id FROM prompt_templates t WHERE (SELECT COUNT(*) FROM prompt_versions v WHERE v.template_id = t.id) <> ` +
			fmt.Sprintf(events, "prompt_version.created"),
		"a template that counts other versions than it has": `SELECT t.id FROM prompt_templates t LEFT JOIN prompt_versions v ON v.template_id = t.id GROUP BY t.id
			HAVING t.version_count <> COUNT(v.id) OR t.latest_number <> COALESCE(MAX(v.number), 0) OR t.frozen_count <> SUM(CASE WHEN v.frozen THEN 1 ELSE 0 END)`,
		"a template whose ledger and events differ": `SELECT t.id FROM prompt_templates t WHERE (SELECT COUNT(*) FROM prompt_activations a WHERE a.template_id = t.id) <> ` +
			fmt.Sprintf(events, "prompt_template.activated"),
		"an active version that is not the ledger's last": `SELECT t.id FROM prompt_templates t WHERE t.active_version_id <> COALESCE(
			(SELECT a.to_version_id FROM prompt_activations a WHERE a.template_id = t.id ORDER BY a.number DESC LIMIT 1), '')`,
		"an active version that is not frozen": `SELECT v.id FROM prompt_templates t JOIN prompt_versions v ON v.id = t.active_version_id WHERE NOT v.frozen OR v.first_activated_at = 0`,
		"a change of a template without an event": `SELECT t.id FROM prompt_templates t WHERE t.revision <> 1 + ` + fmt.Sprintf(events, "prompt_template.updated") + ` + ` +
			fmt.Sprintf(events, "prompt_template.activated"),
		"an embed token whose origins are not those of its preflights": `SELECT t.id FROM chat_embed_tokens t WHERE (SELECT COUNT(*) FROM chat_embed_origins o WHERE o.token_id = t.id) <> 2`,
		"an embed token without its event": `SELECT t.id FROM chat_embed_tokens t WHERE NOT EXISTS (
			SELECT 1 FROM events e WHERE e.workspace_id = t.workspace_id AND e.type = 'embed_token.created' AND (e.subject = t.id OR e.data LIKE '%' || t.id || '%'))`,
		"a live connection without its credential, or another with one": `SELECT t.id FROM connections t WHERE (t.revoked_at = 0) <>
			EXISTS (SELECT 1 FROM connection_credentials c WHERE c.connection_id = t.id)`,
		"a live connection that is never checked": `SELECT t.id FROM connections t WHERE t.revoked_at = 0 AND NOT EXISTS (
			SELECT 1 FROM jobs j WHERE j.subject = t.id AND j.kind = 'connection.check')`,
		"a presence beyond the org's last change": `SELECT p.id FROM presences p JOIN presence_seqs s ON s.org_id = p.org_id WHERE p.seq > s.seq`,
		"two templates made under one key":        `SELECT MIN(id) FROM prompt_templates GROUP BY workspace_id, name HAVING COUNT(*) > 1`,
		"an answer that is kept of nothing":       `SELECT k.attempt FROM idempotency_keys k WHERE k.until = 0 AND k.status = 0`,
	}
	for _, a := range audited {
		out["one of "+a.table+" without its "+a.began] = `SELECT t.id FROM ` + a.table + ` t WHERE ` + fmt.Sprintf(events, a.began) + ` <> 1`
		out[a.began+" of nothing"] = `SELECT e.subject FROM events e WHERE e.type = '` + a.began + `' AND NOT EXISTS (SELECT 1 FROM ` + a.table + ` t WHERE t.id = e.subject)`
		if a.ended != "" {
			out["one of "+a.table+" whose end and "+a.ended+" differ"] = `SELECT t.id FROM ` + a.table + ` t WHERE (` + a.has + `) <> (` + fmt.Sprintf(events, a.ended) + ` = 1)`
		}
	}
	return out
}

// whole expects that nothing is half there.
func whole(t *testing.T, db *sql.DB) {
	t.Helper()
	for what, query := range halves() {
		if found := column(t, db, query); len(found) > 0 {
			t.Errorf("%s: %d, such as %s", what, len(found), found[0])
		}
	}
}
