package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// events is an open stream.
type events struct {
	t        *testing.T
	path     string
	response *http.Response
	lines    chan string // closed when the stream has ended
}

// event is a received event.
type event struct {
	kind, id string
	*answer  // with its data
}

// stream opens a stream of presences.
func (c *client) stream(t *testing.T, query string, headers ...string) *events {
	t.Helper()
	return c.streamOf(t, presences+"/stream", query, headers...)
}

func (c *client) streamOf(t *testing.T, path, query string, headers ...string) *events {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, c.server.url+path+query, nil))
	req.Header.Set("Accept", "text/event-stream")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.cookie != "" {
		req.Header.Set("Cookie", c.cookie)
		req.Header.Set("Atrium-Console", c.proof)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := (&http.Transport{}).RoundTrip(req)
	require.NoError(t, err)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" ||
		resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("the stream answers %d, %v", resp.StatusCode, resp.Header)
	}
	conformance.CheckStream(t, req, resp)
	e := &events{t: t, path: path, response: resp, lines: make(chan string, 1000)}
	go func() {
		defer close(e.lines)
		lines := bufio.NewScanner(resp.Body)
		for lines.Buffer(nil, 4<<20); lines.Scan(); { // a part of a snapshot is one line
			e.lines <- lines.Text()
		}
	}()
	t.Cleanup(e.close)
	return e
}

func (e *events) close() { e.response.Body.Close() }

// next returns the next event.
func (e *events) next() event {
	e.t.Helper()
	return e.nextWithin(patience)
}

func (e *events) nextWithin(wait time.Duration) event {
	e.t.Helper()
	var out event
	late := time.After(wait)
	for {
		select {
		case line, open := <-e.lines:
			switch name, value, _ := strings.Cut(line, ": "); {
			case !open:
				e.t.Fatal("the stream has ended")
			case name == "event":
				out.kind = value
			case name == "id":
				out.id = value
			case name == "data":
				out.answer = &answer{call: out.kind, status: 200, text: value}
			case line == "" && out.answer != nil:
				if out.kind != "reset" {
					conformance.CheckEvent(e.t, e.path, out.text)
				}
				return out
			}
		case <-late:
			e.t.Fatal("nothing was told")
		}
	}
}

// is expects the next event.
func (e *events) is(kind string, want map[string]string) event {
	e.t.Helper()
	got := e.next()
	if got.kind != kind {
		e.t.Fatalf("%s %s, want a %s", got.kind, got.text, kind)
	}
	got.has(e.t, want)
	return got
}

// ends expects that the stream ends. If durations count, it must be within a time.
func (e *events) ends(limit time.Duration) {
	e.t.Helper()
	if !proof.Running() {
		limit = patience
	}
	late := time.After(limit)
	for {
		select {
		case _, open := <-e.lines:
			if !open {
				return
			}
		case <-late:
			e.t.Fatalf("it goes on after %s", limit)
		}
	}
}

func TestPresenceStream(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob, operator := s.user(t, "member"), s.user(t, "member"), s.user(t, "viewer", "--operator")
		stranger := s.user(t, "owner", "--workspace", "elsewhere")
		stranger.create(t, presences, object{})

		t.Run("a stream starts with a snapshot, followed by changes", func(t *testing.T) {
			ownEvents := ann.stream(t, "?user_id="+bob.id+","+stranger.id)
			// An open stream counts as a heartbeat.
			ownEvents.is("snapshot", map[string]string{"data.0.user_id": ann.id, "data.0.status": "online",
				"data.0.devices.0.id": "stream", "data.1": "", "gone": "[]", "more": "false"})
			bob.create(t, presences, object{"text": "hello"})
			report := ownEvents.is("change", map[string]string{"data.0.user_id": bob.id, "data.0.text": "hello",
				"data.0.devices": "", "data.0.seq": "", "data.1": ""})
			stranger.do(t, "POST", presences, object{"text": "not for ann"}).is(t, 200)
			bob.do(t, "DELETE", presences+"/me", nil).is(t, 204)
			ownEvents.is("change", map[string]string{"data": "[]", "gone.0": report.at("data.0.id")})
			ownEvents.close()

			t.Run("a client that was disconnected resumes where it was", func(t *testing.T) {
				bob.create(t, presences, object{"text": "again"})
				for _, resumedEvents := range []*events{
					ann.stream(t, "?user_id="+bob.id+","+stranger.id, "Last-Event-ID: "+report.id),
					ann.stream(t, "?last_event_id="+report.id+"&user_id="+bob.id+","+stranger.id),
				} {
					resumedEvents.is("change", map[string]string{"data.0.user_id": bob.id, "data.0.text": "again",
						"data.1": ""})
				}
			})
			t.Run("a Last-Event-ID of another stream is answered with a reset and a new snapshot", func(t *testing.T) {
				number := report.id[strings.IndexByte(report.id, '.'):]
				for _, id := range []string{"x", "1", report.id, "x" + number, strings.TrimSuffix(report.id, number) +
					".99999999", strings.TrimSuffix(report.id, number) + ".-1"} {
					query := "?user_id=" + bob.id + "," + stranger.id
					if id == report.id {
						query = "?user_id=" + bob.id // other parameters
					}
					second := ann.stream(t, query, "Last-Event-ID: "+id)
					second.is("reset", nil)
					second.is("snapshot", map[string]string{"data.1.text": "again", "more": "false"})
					second.close()
				}
			})
		})
		t.Run("operators receive the changes of all users", func(t *testing.T) {
			all := operator.stream(t, "")
			seen := all.next()
			if seen.kind != "snapshot" || !strings.Contains(seen.text, stranger.id) ||
				!strings.Contains(seen.text, bob.id) {
				t.Errorf("%s %s", seen.kind, seen.text)
			}
			stranger.do(t, "POST", presences, object{"status": "dnd"}).is(t, 200)
			for {
				if e := all.next(); e.at("data.0.user_id") == stranger.id {
					e.has(t, map[string]string{"data.0.status": "dnd", "data.0.devices.0.id": "default"})
					break
				}
			}
		})
		t.Run("a ticket opens one stream", func(t *testing.T) {
			response := ann.do(t, "POST", presences+"/stream-tickets", nil).is(t, 200)
			if response.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%v", response.header)
			}
			anonymous := s.anonymous()
			openedEvents := anonymous.stream(t, "?ticket="+response.at("ticket"))
			openedEvents.is("snapshot", map[string]string{"data.0.user_id": ann.id})
			anonymous.do(t, "GET", presences+"/stream?ticket="+response.at("ticket"), nil).problem(t, 401,
				"unauthenticated")
			anonymous.do(t, "GET", presences+"/stream?ticket=atp_x", nil).problem(t, 401, "unauthenticated")
			anonymous.do(t, "GET", presences+"/stream", nil).problem(t, 401, "unauthenticated")
			late := ann.do(t, "POST", presences+"/stream-tickets", nil).is(t, 200).at("ticket")
			s.sql(t, `UPDATE stream_tickets SET expires_at = 1`)
			anonymous.do(t, "GET", presences+"/stream?ticket="+late, nil).problem(t, 401, "unauthenticated")
			t.Run("a stream ends with the credential that opened it", func(t *testing.T) {
				key, id := ann.key(t)
				ticket := key.do(t, "POST", presences+"/stream-tickets", nil).is(t, 200).at("ticket")
				openedValue := anonymous.stream(t, "?ticket="+ticket)
				openedValue.next()
				unusedTicket := key.do(t, "POST", presences+"/stream-tickets", nil).is(t, 200).at("ticket")
				ann.do(t, "DELETE", "/api/api-keys/"+id, nil).is(t, 204)
				openedValue.ends(1500 * time.Millisecond)
				anonymous.do(t, "GET", presences+"/stream?ticket="+unusedTicket, nil).problem(t, 401, "unauthenticated")
			})
		})
		t.Run("a user who leaves the workspace receives no more changes of its members", func(t *testing.T) {
			leaver, admin := s.user(t, "member"), s.user(t, "admin")
			token := leaver.stream(t, "?user_id="+bob.id)
			token.next()
			admin.do(t, "DELETE", "/api/workspaces/"+admin.workspace+"/members/"+leaver.id, nil).is(t, 204)
			token.ends(1500 * time.Millisecond) // the key is bound to it
		})
		t.Run("invalid stream requests get a problem", func(t *testing.T) {
			for query, code := range map[string]string{
				"?user_id=x": "invalid_parameter", "?user_id=" + strings.Repeat(ann.id+",", 200) +
					ann.id: "invalid_parameter", "?device_id=a%20b": "invalid_parameter",
				"?users=x": "unknown_parameter",
			} {
				ann.do(t, "GET", presences+"/stream"+query, nil).problem(t, 400, code)
			}
			ann.do(t, "GET", presences+"/stream", nil, "Accept: text/html").problem(t, 406, "not_acceptable")
			ann.do(t, "HEAD", presences+"/stream", nil).is(t, 200)
			ann.do(t, "POST", presences+"/stream", object{}).problem(t, 405, "method_not_allowed")
		})
		t.Run("a user can open at most 20 streams", func(t *testing.T) {
			carl := s.user(t, "member")
			for range 20 {
				carl.stream(t, "")
			}
			carl.do(t, "GET", presences+"/stream", nil).problem(t, 409, "stream_limit_reached")
		})
		t.Run("a server that stops ends its streams at once", func(t *testing.T) {
			open := bob.stream(t, "")
			open.next()
			begin := time.Now()
			s.stop(t)
			open.ends(time.Second)
			proof.Within(t, "the stop", time.Since(begin), 10*time.Second)
		})
	})
}

func TestASlowReaderIsCut(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	operator := s.user(t, "viewer", "--operator")
	// A snapshot that is larger than the system's buffers.
	s.sql(t, `INSERT INTO presences (id, org_id, user_id, lasting_status, lasting_text, lasting_emoji, passing_status,
		passing_text, passing_emoji, passing_until, claimed_at, devices, active_at, seen_at, shown, due_at, seq, life,
		deleted) SELECT printf('prs_%026d', i), (SELECT id FROM orgs), printf('usr_%026d', i), '',
		printf('%.*c', 10000, 'x'), '', '', '', '', 0, 0, '[]', 0, 0, 'offline', 0, i, 1, false
		FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT i FROM n)`)
	s.sql(t, `INSERT INTO presence_seqs SELECT id, 3000 FROM orgs`)
	conn := must(net.Dial("tcp", strings.TrimPrefix(s.url, "http://")))
	defer conn.Close()
	begin := time.Now()
	fmt.Fprintf(conn, "GET %s/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", presences,
		operator.token)
	s.stderr.await(t, s, regexp.MustCompile(`"route":"/api/presence/stream","status":200`)) // logged at its end
	if took := time.Since(begin); took < 9*time.Second {
		t.Errorf("it ended after %s", took)
	}
}

func TestNodesTellOneAnother(t *testing.T) {
	t.Parallel()
	t.Run("signals by NOTIFY", func(t *testing.T) {
		t.Parallel()
		testNodes(t, deployMigrated(t, postgres))
	})
	t.Run("signals by Redis", func(t *testing.T) {
		t.Parallel()
		testNodes(t, deployMigrated(t, postgres, set("redis.url", services.Redis(t).URL)))
	})
}

func testNodes(t *testing.T, d *deployment) {
	t.Helper()
	nodes := []*server{d.start(t), d.start(t), d.start(t)}
	ann, bob := nodes[0].user(t, "member"), nodes[0].user(t, "member")
	stream := bob.at(nodes[2]).stream(t, "?user_id="+ann.id)
	stream.is("snapshot", map[string]string{"data.0.user_id": bob.id, "data.1": ""})
	begin := time.Now()
	path := ann.at(nodes[0]).create(t, presences, object{"device_id": "a", "ttl_seconds": 30}).header.Get("Location")
	stream.is("change", map[string]string{"data.0.user_id": ann.id, "data.0.status": "online"})
	proof.Within(t, "telling another node", time.Since(begin), time.Second)
	t.Run("devices at several nodes make one presence", func(t *testing.T) {
		pair := ann.at(nodes[1]).do(t, "POST", presences,
			object{"device_id": "b", "activity": "idle", "ttl_seconds": 300}).is(t, 200)
		pair.has(t, map[string]string{"status": "online", "devices.0.id": "a", "devices.1.id": "b"})
	})
	t.Run("users of a killed node go offline", func(t *testing.T) {
		nodes[0].kill(t)
		var got event
		for got.answer == nil || got.at("data.0.status") != "away" { // the device that was in use is offline
			got = stream.nextWithin(2 * patience)
		}
		if took := time.Since(begin); took < 29*time.Second || (proof.Running() && took > 33*time.Second) {
			t.Errorf("after %s, want 30 seconds", took)
		}
		bob.at(nodes[1]).get(t, path).has(t, map[string]string{"status": "away"})
	})
	t.Run("a stream can be resumed at another node", func(t *testing.T) {
		last := bob.at(nodes[2]).stream(t, "?user_id="+ann.id).next()
		ann.at(nodes[2]).do(t, "POST", presences, object{"device_id": "b", "text": "moved"}).is(t, 200)
		movedEvents := bob.at(nodes[1]).stream(t, "?user_id="+ann.id, "Last-Event-ID: "+last.id)
		movedEvents.is("change", map[string]string{"data.0.user_id": ann.id, "data.0.text": "moved", "data.1": ""})
	})
}
