package chaos

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/test/internal/program"
)

// audited are things whose creation and end are recorded as events.
var audited = []struct{ table, began, ended, has string }{
	{"prompt_templates", "prompt_template.created", "", ""},
	{"chat_templates", "chat_template.created", "", ""},
	{"connections", "connection.created", "connection.revoked", "revoked_at > 0"},
	{"api_keys", "api_key.created", "api_key.revoked", "revoked_at > 0"},
	{"invitations", "invitation.created", "invitation.withdrawn", "NOT open"},
}

// halves are queries for the ids of half-done writes, by description.
func halves() map[string]string {
	const events = `(SELECT COUNT(*) FROM recorded_events e WHERE e.workspace_id = t.workspace_id
		AND e.subject = t.id AND e.type = '%s')`
	out := map[string]string{
		"a version without its event": `SELECT v.id FROM prompt_versions v
			JOIN prompt_templates t ON t.id = v.template_id WHERE NOT EXISTS (
			SELECT 1 FROM recorded_events e WHERE e.workspace_id = t.workspace_id AND e.subject = t.id
			AND e.type = 'prompt_version.created' AND e.data LIKE '%' || v.id || '%')`,
		"a template that has not as many versions as events of such": `SELECT t.id FROM prompt_templates t
			WHERE (SELECT COUNT(*) FROM prompt_versions v WHERE v.template_id = t.id) <> ` +
			fmt.Sprintf(events, "prompt_version.created"),
		"a template that counts other versions than it has": `SELECT t.id FROM prompt_templates t LEFT
			JOIN prompt_versions v ON v.template_id = t.id GROUP BY t.id
			HAVING t.version_count <> COUNT(v.id) OR t.latest_number <> COALESCE(MAX(v.number), 0)
			OR t.frozen_count <> SUM(CASE WHEN v.frozen THEN 1 ELSE 0 END)`,
		"a template whose ledger and events differ": `SELECT t.id FROM prompt_templates t WHERE (SELECT COUNT(*)
			FROM prompt_activations a WHERE a.template_id = t.id) <> ` +
			fmt.Sprintf(events, "prompt_template.activated"),
		"an active version that is not the ledger's last": `SELECT t.id FROM prompt_templates t
			WHERE t.active_version_id <> COALESCE(
			(SELECT a.to_version_id FROM prompt_activations a WHERE a.template_id = t.id ORDER BY a.number DESC
			LIMIT 1), '')`,
		"an active version that is not frozen": `SELECT v.id FROM prompt_templates t
			JOIN prompt_versions v ON v.id = t.active_version_id WHERE NOT v.frozen OR v.first_activated_at = 0`,
		"a change of a template without an event": `SELECT t.id FROM prompt_templates t WHERE t.revision <> 1 + ` +
			fmt.Sprintf(events, "prompt_template.updated") + ` + ` +
			fmt.Sprintf(events, "prompt_template.activated"),
		"an embed token whose origins are not those of its preflights": `SELECT t.id FROM chat_embed_tokens t
			WHERE (SELECT COUNT(*) FROM chat_embed_origins o WHERE o.token_id = t.id) <> 2`,
		"an embed token without its event": `SELECT t.id FROM chat_embed_tokens t WHERE NOT EXISTS (
			SELECT 1 FROM recorded_events e WHERE e.workspace_id = t.workspace_id AND e.type = 'embed_token.created'
			AND (e.subject = t.id OR e.data LIKE '%' || t.id || '%'))`,
		"a live connection without its credential, or another with one": `SELECT t.id FROM connections t
			WHERE (t.revoked_at = 0) <>
			EXISTS (SELECT 1 FROM connection_credentials c WHERE c.connection_id = t.id)`,
		"a live connection that is never checked": `SELECT t.id FROM connections t WHERE t.revoked_at = 0
			AND NOT EXISTS (
			SELECT 1 FROM jobs j WHERE j.subject = t.id AND j.kind = 'connection.check')`,
		"a presence beyond the org's last change": `SELECT p.id FROM presences p
			JOIN presence_seqs s ON s.org_id = p.org_id WHERE p.seq > s.seq`,
		"two templates made under one key": `SELECT MIN(id) FROM prompt_templates
			GROUP BY workspace_id, name HAVING COUNT(*) > 1`,
		"an answer that is kept of nothing": `SELECT k.attempt FROM idempotency_keys k WHERE k.until = 0
			AND k.status = 0`,
	}
	for _, a := range audited {
		out["one of "+a.table+" without its "+a.began] = `SELECT t.id FROM ` + a.table + ` t WHERE ` +
			fmt.Sprintf(events, a.began) + ` <> 1`
		out[a.began+" of nothing"] = `SELECT e.subject FROM recorded_events e WHERE e.type = '` + a.began +
			`' AND NOT EXISTS (SELECT 1 FROM ` + a.table + ` t WHERE t.id = e.subject)`
		if a.ended != "" {
			out["one of "+a.table+" whose end and "+a.ended+" differ"] = `SELECT t.id FROM ` + a.table + ` t WHERE (` +
				a.has + `) <> (` + fmt.Sprintf(events, a.ended) + ` = 1)`
		}
	}
	return out
}

// whole expects that there are no half-done writes.
func whole(t *testing.T, db *sql.DB) {
	t.Helper()
	for name, query := range halves() {
		if found := column(t, db, query); len(found) > 0 {
			t.Errorf("%s: %d, such as %s", name, len(found), found[0])
		}
	}
}

// TestTheChecksNotice damages the data of a load in every way that the other tests check for.
func TestTheChecksNotice(t *testing.T) {
	d := on(t, sqlite)
	n := d.Start(t, suite.Binary(t))
	l := newLoad(t, d.Owner(t, suite.Binary(t), "ann@example.com"), func() *program.Node { return n })
	l.during(func() { l.answers(150) })
	n.Stop(t)
	db := d.Open(t)
	db.SetMaxOpenConns(1) // every damage is rolled back on this connection
	if lost := l.ledger.lost(t, db); len(lost) > 0 {
		t.Fatalf("lost without any damage: %v", lost)
	}
	whole(t, db)
	run := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", statement, err))
		}
	}
	damages := []string{
		`DELETE FROM prompt_versions WHERE id = (SELECT MAX(id) FROM prompt_versions WHERE frozen)`,
		`UPDATE prompt_templates SET active_version_id = '' WHERE active_version_id <> ''`,
		`UPDATE prompt_versions SET frozen = 0`,
		`DELETE FROM chat_embed_origins WHERE pattern LIKE '%a.example.com'`,
		`UPDATE connections SET revoked_at = 0`,
		`UPDATE connections SET revoked_at = 0; DELETE FROM jobs`,
		`UPDATE presences SET seq = seq + 1000`,
		`UPDATE prompt_templates SET name = 'one'`,
		`UPDATE idempotency_keys SET status = 0`,
	}
	for _, event := range column(t, db, `SELECT DISTINCT type FROM events`) {
		damages = append(damages, `DELETE FROM events WHERE type = '`+event+`'`)
	}
	for _, a := range audited {
		damages = append(damages, `DELETE FROM `+a.table)
	}
	noticedTexts := map[string]bool{}
	for _, damage := range damages {
		run(`BEGIN`)
		run(damage)
		for name, query := range halves() {
			noticedTexts[name] = noticedTexts[name] || len(column(t, db, query)) > 0
		}
		run(`ROLLBACK`)
	}
	for name := range halves() {
		if !noticedTexts[name] {
			t.Errorf("no damage is noticed as %s", name)
		}
	}
	for kind, all := range l.ledger.there {
		l.ledger.note(kind, "what never was")
		if lost := l.ledger.lost(t, db); len(lost) != 1 {
			t.Errorf("of %d of the kind %s one is missing: %v", len(all), kind, lost)
		}
		l.ledger.maybe(kind, "what never was")
	}
	for kind, all := range l.ledger.reached {
		for id, value := range all {
			all[id] = value + 1
			if lost := l.ledger.lost(t, db); len(lost) != 1 {
				t.Errorf("one %s is missing: %v", kind, lost)
			}
			all[id] = value
			break
		}
	}
	for kind := range kept {
		if l.ledger.there[kind] == nil {
			t.Errorf("no load writes a %s", kind)
		}
	}
}
