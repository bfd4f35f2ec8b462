package chaos

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/require"
)

// soaked are the areas of the soak: how many clients use each, and how long one waits after its turn. What is made is
// removed again, since the number of things is limited. Reads fill up to the rate.
var soaked = []struct {
	name    string
	workers int
	pause   time.Duration
	write   writer
}{
	{"reads", 24, 0, readEverything},
	{"prompts", 2, 50 * time.Millisecond, soakPrompts},
	{"chats", 2, 50 * time.Millisecond, soakChats},
	{"presence", 2, time.Second, soakPresence},
	{"connections and data sources", 1, 2 * time.Second, soakSources},
	{"keys", 1, 100 * time.Millisecond, writeKeys},
	{"invitations", 1, 100 * time.Millisecond, writeInvitations},
	{"sessions", 1, time.Second, soakSessions},
	{"payments", 1, 200 * time.Millisecond, soakPayments},
}

// lists are what every client reads.
var lists = []string{
	"/api/me", prompts + "?limit=20", chats + "?limit=20", connections, keys, "/api/events?limit=20", presence,
	"/api/workspaces", "/api/datasources", "/api/chat-templates/registry", "/api/payments/plans",
	"/api/payments/entitlements", "/api/health/ready",
}

func readEverything(l *load, _ bool) bool {
	for _, path := range lists {
		if _, ok := l.do("GET", path, nil); !ok {
			return false
		}
	}
	return true
}

// soakPrompts makes a prompt under an Idempotency-Key, uses it, and deletes it.
func soakPrompts(l *load, _ bool) bool {
	name := l.name()
	key := "Idempotency-Key: " + strings.ReplaceAll(name, " ", "-")
	response, ok := l.do("POST", prompts, object{"name": name}, key)
	if !ok {
		return false
	}
	one := prompts + "/" + response.id(l.t)
	for _, step := range []struct {
		method, path string
		body         object
		headers      []string
	}{
		{"POST", prompts, object{"name": name}, []string{key}},
		{"POST", one + "/versions", object{"text": "Hello {{name}}."}, nil},
		{"POST", one + "/versions/v1/activate", object{}, nil},
		{"POST", one + "/render", object{"variables": object{"name": "Ada"}}, nil},
		{"POST", prompts + "/resolve", object{"refs": []object{{"name": name}}}, nil},
		{"PATCH", one, object{"description": "used"}, nil},
		{"GET", one + "/versions", nil, nil},
		{"DELETE", one, nil, nil},
	} {
		var body any
		if step.body != nil {
			body = step.body
		}
		if _, ok := l.do(step.method, step.path, body, step.headers...); !ok {
			return false
		}
	}
	return true
}

// soakChats makes a chat with an embed token, opens sessions of it as a site's visitors do, and deletes both.
func soakChats(l *load, _ bool) bool {
	response, ok := l.do("POST", chats, object{"name": l.name()})
	if !ok {
		return false
	}
	one := chats + "/" + response.id(l.t)
	if _, ok = l.do("PATCH", one, object{"status": "published"}); !ok {
		return false
	}
	response, ok = l.do("POST", one+"/embed-tokens",
		object{"name": "site", "allowed_origins": []string{"https://a.example"}})
	if !ok {
		return false
	}
	var token struct{ ID, Token string }
	response.decode(l.t, &token)
	for range 3 {
		if _, ok = l.do("POST", "/api/embed/sessions", object{"token": token.Token}, "Origin: https://a.example"); !ok {
			return false
		}
	}
	if _, ok = l.do("DELETE", one+"/embed-tokens/"+token.ID, nil); ok {
		_, ok = l.do("DELETE", one, nil)
	}
	return ok
}

func soakPresence(l *load, _ bool) bool {
	_, ok := l.do("POST", presence, object{"device_id": "laptop", "activity": "active", "text": l.name()})
	return ok && l.gets(presence+"/me")
}

// soakSources previews a table of the warehouse, through a connection that it makes and revokes. The list has revoked
// connections too, so that a response and the memory for it grow with their number: there is one a minute.
func soakSources(l *load, first bool) bool {
	response, ok := l.do("POST", connections, object{"kind": "postgres", "name": l.name(), "credential": l.shop})
	if !ok {
		return false
	}
	one := response.id(l.t)
	previews, pause := 150, 400*time.Millisecond
	if first {
		previews, pause = 5, 0
	}
	for range previews {
		if !l.gets("/api/datasources/warehouse-preview?connection_id=" + one + "&schema=public&table=people") {
			return false
		}
		time.Sleep(pause)
	}
	return l.ends(connections, "connection", one)
}

// stockShop makes the table that soakSources reads.
func (l *load) stockShop(t *testing.T) {
	t.Helper()
	db, err := sql.Open("postgres", fmt.Sprintf("postgres://%s@%s:%d/%s?sslmode=disable", l.shop["username"],
		l.shop["host"], l.shop["port"], l.shop["database"]))
	require.NoError(t, err)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE people (email text, name text)`); err != nil {
		t.Fatal(err)
	}
}

// soakSessions opens a session of a browser by the key. The oldest of too many sessions ends by itself.
func soakSessions(l *load, _ bool) bool {
	_, ok := l.do("POST", "/api/auth/sessions", object{"token": l.token})
	return ok && l.gets("/api/me/sessions")
}

func soakPayments(l *load, _ bool) bool {
	for _, path := range []string{"/api/payments/methods", "/api/payments/invoices", "/api/payments/details"} {
		if !l.gets(path) {
			return false
		}
	}
	return true
}

func (l *load) gets(path string) bool {
	_, ok := l.do("GET", path, nil)
	return ok
}

// walBytes returns the size of the database's write-ahead log.
func walBytes(t *testing.T, d *program.Deployment, db *sql.DB) (bytes int) {
	t.Helper()
	if d.Database != "" {
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT SUM(size) FROM pg_ls_waldir()`).Scan(&bytes))
		return bytes
	}
	info, err := os.Stat(filepath.Join(d.Data(), "atrium.db-wal"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	return int(info.Size())
}
