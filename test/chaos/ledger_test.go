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

	"github.com/atrium-hq/atrium/test/support/require"
)

// kept has for each kind of acknowledged write a query that returns everything stored, in the form in which writers
// note it.
var kept = map[string]string{
	"template":    `SELECT id FROM prompt_templates`,
	"version":     `SELECT id || ' ' || text FROM prompt_versions`,
	"activation":  `SELECT template_id || ' ' || to_version_id FROM prompt_activations`,
	"chat":        `SELECT id || ' ' || status FROM chat_templates`,
	"embed token": `SELECT id FROM chat_embed_tokens`,
	"embed token gone": `SELECT e.subject FROM recorded_events e WHERE e.type = 'embed_token.deleted'
		AND NOT EXISTS (SELECT 1 FROM chat_embed_tokens t WHERE t.id = e.subject)`,
	"presence":         `SELECT id FROM presences`,
	"connection":       `SELECT id FROM connections`,
	"connection ended": `SELECT id FROM connections WHERE revoked_at > 0`,
	"key":              `SELECT id FROM api_keys`,
	"key ended":        `SELECT id FROM api_keys WHERE revoked_at > 0`,
	"invitation":       `SELECT id FROM invitations`,
	"invitation ended": `SELECT id FROM invitations WHERE NOT open`,
}

// grows is like kept for things with a value that only grows: id and value.
var grows = map[string]string{
	"description": `SELECT id || ' ' || description FROM prompt_templates WHERE description <> ''`,
	"revision":    `SELECT id || ' ' || revision FROM prompt_templates`,
	"presence":    `SELECT ' ' || lasting_text FROM presences WHERE lasting_text <> ''`,
}

// ledger records the acknowledged writes.
type ledger struct {
	mu      sync.Mutex
	there   map[string]map[string]bool // by kind
	reached map[string]map[string]int  // by kind and id
	sent    map[string]map[string]int
	acked   int
}

func newLedger() *ledger {
	return &ledger{there: map[string]map[string]bool{}, reached: map[string]map[string]int{},
		sent: map[string]map[string]int{}}
}

// note records an acknowledged write.
func (g *ledger) note(kind, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	put(g.there, kind, name, true)
	g.acked++
}

// maybe records that something may no longer exist, because it is about to be changed.
func (g *ledger) maybe(kind, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.there[kind], name)
}

// sends records that a value was sent, reaches that it was acknowledged.
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

// check expects that every acknowledged write exists, and returns the number of lost ones.
func (g *ledger) check(t *testing.T, db *sql.DB) (lost int) {
	t.Helper()
	all := g.lost(t, db)
	for _, one := range all {
		t.Errorf("it was acknowledged and is lost: %s", one)
	}
	return len(all)
}

// lost returns the acknowledged writes that do not exist.
func (g *ledger) lost(t *testing.T, db *sql.DB) (out []string) {
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
		for _, name := range slices.Sorted(maps.Keys(g.there[kind])) {
			if !found[name] {
				out = append(out, kind+" "+name)
			}
		}
	}
	for kind, reachedCounts := range g.reached {
		found := map[string]int{}
		for _, line := range column(t, db, grows[kind]) {
			id, text, _ := strings.Cut(line, " ")
			value, err := strconv.Atoi(text)
			require.NoError(t, err)
			found[id] = value
		}
		for id, value := range reachedCounts {
			if limit, isReported := g.sent[kind][id]; found[id] < value || (isReported && found[id] > limit) {
				out = append(out, fmt.Sprintf("%s %s of %d, which is %d", kind, id, value, found[id]))
			}
		}
	}
	return out
}

// column returns the only column of a query.
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
	require.NoError(t, rows.Err())
	return out
}
