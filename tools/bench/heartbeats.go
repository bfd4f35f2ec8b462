package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/domain/secret"
)

// heartbeats compares the heartbeats per second of one node with the requests per second of two others: a bare
// net/http handler that only authenticates its callers as Atrium does; and GET /api/me, the least work that Atrium
// does for a caller.
//
// Atrium caches an API key for one second, so a device that sends a heartbeat every 30 seconds never hits the cache.
// The first load therefore has so many users that none comes twice within a second. In the second load most users
// do, as often as the rate limit of heartbeats allows.
func heartbeats(ctx context.Context, m *machine) error {
	m.section("Heartbeats", "", "bare handler", "`GET /api/me`", "heartbeats", "/ bare handler (aim ≥ 0.7)",
		"/ `GET /api/me`", "p50, p99", "allocations", "CPU")
	return m.onEach(ctx, "heartbeats", func(d database, data string) error { return m.heartbeatsOn(ctx, d, data) })
}

const (
	strangers = 40_000 // more than come in a second
	regulars  = 4_000  // enough that the rate limit does not reduce the measured load
)

func (m *machine) heartbeatsOn(ctx context.Context, d database, data string) error {
	owner, err := m.createUser(ctx, d, data, "owner")
	if err != nil {
		return err
	}
	people, err := crowd(ctx, d, owner, strangers, 0)
	if err != nil {
		return fmt.Errorf("people: %w", err)
	}
	if err := present(ctx, d, people, presence.MaxTTL); err != nil {
		return fmt.Errorf("presences: %w", err)
	}
	atrium, err := m.serveAtrium(ctx, d, data)
	if err != nil {
		return err
	}
	defer atrium.stop()
	bare, err := m.serveAuthenticator(ctx, d)
	if err != nil {
		return err
	}
	defer bare.stop()
	for _, load := range []struct {
		name   string
		people []person
	}{{"none cached", people}, {"most cached", people[:regulars]}} {
		contestants := []*contestant{
			{name: "bare handler", target: beats(bare, load.people, heartbeat)},
			{name: "GET /api/me", target: asMe(atrium, load.people)},
			{name: "heartbeats", target: beats(atrium, load.people, heartbeat), of: atrium},
		}
		if err := contestants[2].once(ctx, 16); err != nil {
			return err
		}
		if err := m.inRounds(ctx, 16, contestants); err != nil {
			return err
		}
		bare, me, heart := contestants[0], contestants[1], contestants[2]
		allocations, cpu := heart.each()
		m.row(d.named()+", "+load.name, bare.rate(), me.rate(), heart.rate(), heart.ratio(),
			ratio(median(heart.perSecond)/median(me.perSecond)), heart.percentiles(), allocations, cpu)
	}
	return nil
}

// beats are heartbeats of all of people by turns.
func beats(p *program, people []person, body string) target {
	requests := make([][]byte, len(people))
	for i, who := range people {
		requests[i] = p.request("POST", presencePath, who.Token, body)
	}
	return p.repeats(requests...)
}

// asMe are requests of all of people by turns that ask who they are.
func asMe(p *program, people []person) target {
	requests := make([][]byte, len(people))
	for i, who := range people {
		requests[i] = p.request("GET", me, who.Token, "")
	}
	return p.repeats(requests...)
}

// once sends each request, so that none of them is the first of its kind later.
func (t target) once(ctx context.Context, connections int) error {
	for sent := t.turn.Load(); t.turn.Load()-sent < int64(len(t.requests)) && ctx.Err() == nil; {
		if _, _, err := t.load(ctx, connections, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return ctx.Err()
}

const (
	presencePath = "/api/presence"
	crowdDevice  = "web-1"
)

// heartbeat extends the device that present inserted, with the longest TTL.
var heartbeat = fmt.Sprintf(`{"device_id":%q,"device_kind":"web","ttl_seconds":%d}`, crowdDevice,
	presence.MaxTTL/time.Second)

// presentRow is a presence as present stores it.
type presentRow struct {
	ID      string `db:"id"`
	Org     string `db:"org"`
	User    string `db:"user"`
	Devices string `db:"devices"`
	At      int64  `db:"at"`
	Due     int64  `db:"due"`
	Seq     int    `db:"seq"`
}

// present lets people be online, with one device that was heard of just now.
func present(ctx context.Context, d database, people []person, ttl time.Duration) error {
	db, err := d.open("&_pragma=synchronous(off)")
	if err != nil {
		return err
	}
	defer db.Close()
	org, err := orgOf(ctx, db, people[0])
	if err != nil {
		return err
	}
	now := time.Now()
	devices := fmt.Sprintf(`[{"id":%q,"kind":"web","seen_at":%d,"ttl":%d}]`, crowdDevice, now.UnixMicro(),
		ttl/time.Second)
	rows := make([]presentRow, len(people))
	for i, who := range people {
		rows[i] = presentRow{ID: id.New(presence.Prefix), Org: org, User: who.User, Devices: devices,
			At: now.UnixMicro(), Due: now.Add(ttl).UnixMicro(), Seq: i + 1}
	}
	if err := insert(ctx, db, rows, `
		INSERT INTO presences (id, org_id, user_id, lasting_status, lasting_text, lasting_emoji, passing_status,
		passing_text, passing_emoji,
			passing_until, claimed_at, devices, active_at, seen_at, shown, due_at, seq, life, deleted)
		VALUES (:id, :org, :user, '', '', '', '', '', '', 0, 0, :devices, :at, :at, 'online', :due, :seq, 1,
		FALSE)`); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, db.Rebind(`INSERT INTO presence_seqs (org_id, seq) VALUES (?, ?)`), org, len(rows))
	return err
}

// authenticatorArgument makes this program a handler that authenticates and does nothing else.
const authenticatorArgument = "authenticate"

// serveAuthenticator starts it on d.
func (m *machine) serveAuthenticator(ctx context.Context, d database) (*program, error) {
	return m.serveSelf(ctx, authenticatorArgument, d)
}

// authenticate serves until ctx ends. It is net/http with Atrium's look-up of an API key, including its caches. The
// answer to a valid key is empty.
func authenticate(ctx context.Context, addr, databaseURL string) error {
	db, closeAll, err := sqlstore.Open(ctx, sqlstore.Config{URL: secret.New(databaseURL), MaxConns: 20,
		StatementTimeout: 10 * time.Second, Synchronous: "full"}, nil, sql.OpenDB)
	if err != nil {
		return err
	}
	defer closeAll()
	driver, _, _ := strings.Cut(databaseURL, ":")
	plain, err := database{engine: engine{driver: driver}, url: databaseURL}.open("")
	if err != nil {
		return err
	}
	var org identity.OrgID
	if err := errors.Join(plain.GetContext(ctx, &org, `SELECT id FROM orgs`), plain.Close()); err != nil {
		return err
	}
	stores := db.Stores()
	service := accounts.NewService(stores.Atomic, stores.AccountStores, accounts.Deps{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST "+presencePath, func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, err := service.Authenticate(r.Context(), &identity.Org{ID: org}, token, time.Now()); err != nil {
			http.Error(w, "unauthenticated", http.StatusUnauthorized)
		}
	})
	return serveUntil(ctx, addr, mux)
}
