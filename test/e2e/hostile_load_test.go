package e2e

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
	"github.com/atrium-hq/atrium/test/support/require"
)

// samples is how many requests of a victim are measured, quiet and under attack each.
var samples = proof.Sample(30, 400)

// pace is the time between two requests of the victims together.
const pace = 25 * time.Millisecond

func TestFilteredListsOfALongTrailDelayNoOtherTenant(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := newAttack(t, engine)
		w.seedEvents(t, "org", w.attacker.workspace, w.attacker.id, proof.Sample(20_000, 1_500_000))
		statuses := w.underUntil(http.StatusTooManyRequests, 24, func(ctx context.Context, caller int) int {
			path := []string{
				"/api/events?type=nothing.at_all", "/api/events?actor=" + id.New("usr"),
				"/api/events?subject=" + id.New("con"), "/api/prompt-templates?q=nothing",
				"/api/chat-templates?q=nothing",
				"/api/events?type=nothing.at_all&actor=" + w.attacker.id + "&created_after=2020-01-01T00:00:00Z",
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

// seedEvents gives a workspace so many events: half of them by one user, of four types.
func (s *server) seedEvents(t *testing.T, org, workspace, user string, events int) {
	t.Helper()
	s.sql(t, fmt.Sprintf(`INSERT INTO events (id, org_id, workspace_id, type, actor_id, key_id, subject, data,
		created_at, request_id, address)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT 'evt_00' || CAST(1000000000 + i AS TEXT), '%s', '%s',
			CASE i %% 4 WHEN 0 THEN 'prompt_template.deleted' WHEN 1 THEN 'prompt_template.restored'
				WHEN 2 THEN 'chat_template.deleted' ELSE 'chat_template.restored' END,
			CASE WHEN i %% 2 = 0 THEN '%s' ELSE '' END, '', 'subject_' || CAST(i AS TEXT), '{"name":"x"}', i, '',
			'192.0.2.1' FROM n`, events, org, workspace, user))
	s.sql(t, `ANALYZE`)
}

func TestManyKeysOfOnePersonShareOneLimit(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := newAttack(t, engine)
		var keys []*client
		for i := range proof.Sample(20, 40) {
			a := w.attacker.do(t, "POST", "/api/api-keys", object{"name": "key " + strconv.Itoa(i)}).is(t, 201)
			key := *w.attacker
			key.token = a.at("token")
			keys = append(keys, &key)
		}
		begin := time.Now()
		statuses := w.under(len(keys), func(ctx context.Context, caller int) int {
			return keys[caller].status(ctx, "GET", templates, nil)
		}, samples, pace, w.reads)
		// One person may send a sustained 1,200 requests a minute with bursts of 200.
		if limit := 400 + int(20*time.Since(begin).Seconds()); statuses[http.StatusOK] > limit {
			t.Errorf("%d keys of one person got %d answers, more than %d", len(keys), statuses[http.StatusOK], limit)
		}
	})
}

func TestOnePersonsProgramsShareOneLimitOfStreams(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := newAttack(t, engine)
		quiet := w.measure(samples, pace, w.reads)
		statuses := map[int]int{}
		for i := range proof.Sample(12, 50) {
			program := object{"name": "program " + strconv.Itoa(i), "kind": "service", "role_ceiling": "member"}
			response := w.attacker.patient(t, "POST", "/api/api-keys", program).is(t, 201)
			for range 20 {
				conn, status := w.stream(t, response.at("token"))
				t.Cleanup(func() { conn.Close() })
				statuses[status]++
			}
		}
		w.report(quiet, w.measure(samples, pace, w.reads), statuses)
		// stream_limit_reached, rate_limited
		refusedCount := statuses[http.StatusConflict] + statuses[http.StatusTooManyRequests]
		if open := statuses[http.StatusOK]; refusedCount == 0 || open > 200 || len(statuses) > 3 {
			t.Errorf("one person's programs got these statuses for streams: %v", statuses)
		}
	})
}

func TestGuessesOfCredentialsDelayNoKnownCaller(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := newAttack(t, engine)
		stranger := *w.attacker
		stranger.token = ""
		statuses := w.underUntil(http.StatusTooManyRequests, 8, func(ctx context.Context, _ int) int {
			guess := stranger
			guess.token = account.NewToken().Reveal()
			return guess.status(ctx, "GET", templates, nil)
		}, samples, pace, w.reads) // from the same address
		if statuses[http.StatusOK] > 0 || statuses[http.StatusTooManyRequests] == 0 {
			t.Errorf("guesses were answered %v", statuses)
		}
	})
}

func TestAnonymousDownloadsDelayNoOne(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := newAttack(t, engine)
		stranger := *w.attacker
		stranger.token = ""
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
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	require.NoError(t, err)
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
