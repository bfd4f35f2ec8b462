package hostile

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// samples is how many requests of a victim are measured, quiet and under attack each.
var samples = proof.Sample(30, 400)

// pace is the time between two requests of the victims together.
const pace = 25 * time.Millisecond

func TestFilteredListsOfALongTrailDelayNoOtherTenant(t *testing.T) {
	onEach(t, func(t *testing.T, database string) {
		w := newAttack(t, database)
		w.seedEvents(t, proof.Sample(20_000, 1_500_000))
		statuses := w.underUntil(http.StatusTooManyRequests, 24, func(ctx context.Context, caller int) int {
			path := []string{
				"/api/events?type=nothing.at_all", "/api/events?actor=" + id.New("usr"),
				"/api/events?subject=" + id.New("con"), "/api/prompt-templates?q=nothing",
				"/api/chat-templates?q=nothing",
				"/api/events?type=nothing.at_all&created_after=2020-01-01T00:00:00Z",
			}[caller%6]
			return w.attacker.status(ctx, "GET", path, nil)
		}, samples, pace, w.reads)
		if statuses[http.StatusTooManyRequests] == 0 {
			t.Error("an attacker with 24 requests at a time was never refused")
		}
		if statuses[http.StatusOK] == 0 {
			t.Error("within the limits, the attacker was never answered")
		}
	})
}

// seedEvents gives the attacker's workspace a trail of n events, as years of use would.
func (w *world) seedEvents(t *testing.T, n int) {
	t.Helper()
	db := w.Open(t)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	now := time.Now().UnixMicro()
	const rows = 500
	for i := 0; i < n; i += rows {
		var values strings.Builder
		for j := range rows {
			if j > 0 {
				values.WriteByte(',')
			}
			fmt.Fprintf(&values, `('%s','','%s','prompt_version.activated','usr_%026d','','ptpl_%026d','{}',%d,'','')`,
				id.New("evt"), w.attacker.workspace, j, j, now)
		}
		_, err := tx.ExecContext(t.Context(), `INSERT INTO events
			(id, org_id, workspace_id, type, actor_id, key_id, subject, data, created_at, request_id, address)
			VALUES `+values.String())
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestManyKeysOfOnePersonShareOneLimit(t *testing.T) {
	onEach(t, func(t *testing.T, database string) {
		w := newAttack(t, database)
		var keys []*client
		for i := range proof.Sample(20, 40) {
			a := w.attacker.do(t, "POST", "/api/api-keys", object{"name": "key " + strconv.Itoa(i)}).is(t, 201)
			key := *w.attacker
			key.token, key.workspace = a.at(t, "token"), ""
			keys = append(keys, &key)
		}
		begun := time.Now()
		statuses := w.under(len(keys), func(ctx context.Context, caller int) int {
			return keys[caller].status(ctx, "GET", "/api/prompt-templates", nil)
		}, samples, pace, w.reads)
		// One person may send a sustained 1,200 requests a minute with bursts of 200.
		if most := 400 + int(20*time.Since(begun).Seconds()); statuses[http.StatusOK] > most {
			t.Errorf("%d keys of one person got %d answers, more than %d", len(keys), statuses[http.StatusOK], most)
		}
	})
}

func TestOnePersonsProgramsShareOneLimitOfStreams(t *testing.T) {
	onEach(t, func(t *testing.T, database string) {
		w := newAttack(t, database)
		quiet := w.measure(samples, pace, w.reads)
		statuses := map[int]int{}
		for i := range proof.Sample(12, 50) {
			program := object{"name": "program " + strconv.Itoa(i), "kind": "service", "role_ceiling": "member"}
			made := w.attacker.patient(t, "POST", "/api/api-keys", program).is(t, 201)
			for range 20 {
				conn, status := w.stream(t, made.at(t, "token"))
				t.Cleanup(func() { conn.Close() })
				statuses[status]++
			}
		}
		w.report(quiet, w.measure(samples, pace, w.reads), statuses)
		// stream_limit_reached, rate_limited
		refused := statuses[http.StatusConflict] + statuses[http.StatusTooManyRequests]
		if open := statuses[http.StatusOK]; refused == 0 || open > 200 || len(statuses) > 3 {
			t.Errorf("one person's programs got these statuses for streams: %v", statuses)
		}
	})
}

func TestGuessesOfCredentialsDelayNoKnownCaller(t *testing.T) {
	onEach(t, func(t *testing.T, database string) {
		w := newAttack(t, database)
		stranger := *w.attacker
		stranger.token, stranger.workspace = "", ""
		statuses := w.underUntil(http.StatusTooManyRequests, 8, func(ctx context.Context, _ int) int {
			guess := stranger
			guess.token = account.NewToken().Reveal()
			return guess.status(ctx, "GET", "/api/prompt-templates", nil)
		}, samples, pace, w.reads) // from the same address
		if statuses[http.StatusOK] > 0 || statuses[http.StatusTooManyRequests] == 0 {
			t.Errorf("guesses were answered %v", statuses)
		}
	})
}

func TestAnonymousDownloadsDelayNoOne(t *testing.T) {
	onEach(t, func(t *testing.T, database string) {
		w := newAttack(t, database)
		stranger := *w.attacker
		stranger.token, stranger.workspace = "", ""
		statuses := w.underUntil(http.StatusTooManyRequests, 8, func(ctx context.Context, caller int) int {
			return stranger.status(ctx, "GET",
				[]string{"/api/openapi.json", "/api/docs/swagger-ui-bundle.js"}[caller%2], nil)
		}, samples, pace, w.reads)
		if statuses[http.StatusTooManyRequests] == 0 {
			t.Errorf("downloads without a credential were answered %v", statuses)
		}
	})
}

// stream opens a presence stream and returns its connection and status.
func (w *world) stream(t *testing.T, token string) (net.Conn, int) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /api/presence/stream HTTP/1.1\r\nHost: arena.example\r\nAuthorization: Bearer %s\r\n\r\n",
		token)
	var version string
	var status int
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := fmt.Fscan(conn, &version, &status); err != nil {
		t.Fatal(err)
	}
	return conn, status
}
