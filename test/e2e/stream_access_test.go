package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// streamCase is a request whose response goes on until it is ended.
type streamCase struct {
	name, method, path string
	body               any
	accept             string

	// isFile says that the response has an end, which a client that stops reading never reaches.
	isFile bool

	// isExplained says that an end before the last byte must not look complete: it is explained or broken.
	isExplained bool
}

// liveStream is an open streamCase.
type liveStream struct {
	streamCase
	op       *openapi.Operation
	id       string // of the request
	response *http.Response
	ended    chan error // the error of the body; nil if it looks complete
}

// smallBuffers makes little of a response fit between the server and a client that does not read.
func smallBuffers(_, _ string, raw syscall.RawConn) error {
	var failure error
	err := raw.Control(func(fd uintptr) {
		failure = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
	})
	return errors.Join(err, failure)
}

// streamStage has what the streams of a caller read.
type streamStage struct {
	*deployment
	owner    *client // at the node at which access is taken away
	far      *server // the node that streams
	source   string
	stalled  object // a credential whose probe never ends
	slow     string // a connection whose probe never ends
	chat     *embeddedChat
	exported string // a person with a large export
}

// TestEveryStreamEndsWithTheAccessOfItsReader opens each stream of the contract at one node, and takes the access of
// its reader away at another one.
func TestEveryStreamEndsWithTheAccessOfItsReader(t *testing.T) {
	t.Parallel()
	s := newStreamStage(t)
	contract := must(openapi.Load())
	var rows, others []*openapi.Operation
	for _, op := range contract.Operations() {
		switch {
		case op.ID == "listSourceRows":
			rows = append(rows, op)
		case op.Stream:
			others = append(others, op)
		}
	}
	for i, way := range waysOfLosing() {
		t.Run("of a caller "+way.name, func(t *testing.T) {
			for _, bySession := range []bool{false, true} {
				isSample := proof.Running() || way.onlyFor != "" || bySession == (i%2 == 0)
				if !isSample || (way.onlyFor != "" && bySession != (way.onlyFor == "session")) {
					continue
				}
				for _, ops := range [][]*openapi.Operation{rows, others} { // a workspace has few children at a time
					s.losesAll(t, ops, way, bySession)
				}
			}
		})
	}
	losses := map[string]func(*testing.T){}
	for name, lose := range visitorsLosing() { // if streams go on, the subtests wait for all of them at once
		chat := s.owner.replying(t, s.bot(t), nil)
		session := chat.visit(t, fromShop).is(t, 200).at("session")
		op, _ := contract.Operation("POST", messages)
		visitor := s.far.anonymous()
		l := s.begin(t, visitor, op, streamCase{method: "POST", path: messages, body: object{"text": "Where?"}},
			"Authorization: Bearer "+session, fromShop)
		begin := time.Now()
		lose(t, s.owner, chat)
		losses[name] = func(t *testing.T) { l.ends(t, s.far, begin) }
	}
	for name, ends := range losses {
		t.Run("of a visitor "+name, ends)
	}
}

// losesAll opens the streams of operations by a new caller, who then loses the access.
func (s *streamStage) losesAll(t *testing.T, ops []*openapi.Operation, way losing, bySession bool) {
	t.Helper()
	c, key := s.caller(t, bySession)
	var ending, staying []*liveStream
	for _, op := range ops {
		cases := s.casesOf(t, op, c)
		if cases == nil {
			t.Fatalf("%s is a stream of the contract: add how it is opened", op.ID)
		}
		for _, one := range cases {
			l := s.begin(t, c, op, one)
			if way.keeps != nil && way.keeps(op) {
				staying = append(staying, l)
			} else {
				ending = append(ending, l)
			}
		}
	}
	begin := time.Now()
	way.lose(t, s, c, key)
	for _, l := range ending {
		l.ends(t, s.far, begin)
	}
	for _, l := range staying {
		l.goesOn(t)
	}
}

// losing is a way in which a caller loses access.
type losing struct {
	name    string
	onlyFor string                        // key or session; empty: both
	keeps   func(*openapi.Operation) bool // which streams go on; nil: none
	lose    func(t *testing.T, s *streamStage, c *client, key string)
}

func waysOfLosing() []losing {
	return []losing{
		{name: "whose key is revoked", onlyFor: "key", lose: func(t *testing.T, s *streamStage, _ *client, key string) {
			s.owner.do(t, "DELETE", apiKeys+"/"+key, nil).is(t, 204)
		}},
		{name: "whose session ends", onlyFor: "session", lose: func(t *testing.T, s *streamStage, c *client, _ string) {
			s.owner.do(t, "DELETE", "/api/people/"+c.id+"/sessions", nil).is(t, 204)
		}},
		{name: "who is disabled", lose: func(t *testing.T, s *streamStage, c *client, _ string) {
			s.owner.do(t, "POST", "/api/people/"+c.id+"/disable", object{}).is(t, 204)
		}},
		{name: "who is removed from the workspace", lose: func(t *testing.T, s *streamStage, c *client, _ string) {
			s.owner.do(t, "DELETE", "/api/workspaces/"+s.owner.workspace+"/members/"+c.id, nil, "If-Match: *").
				is(t, 204)
		}},
		{name: "whose role is lowered", lose: func(t *testing.T, s *streamStage, c *client, _ string) {
			s.owner.do(t, "PATCH", "/api/workspaces/"+s.owner.workspace+"/members/"+c.id, object{"role": "viewer"},
				"If-Match: *").is(t, 200)
		}, keeps: func(op *openapi.Operation) bool {
			return op.Access.Area != "workspace" || identity.ParseRole(op.Access.Needs) <= identity.Viewer
		}},
	}
}

// visitorsLosing returns the ways in which a visitor loses access.
func visitorsLosing() map[string]func(*testing.T, *client, *embeddedChat) {
	patch := func(body object) func(*testing.T, *client, *embeddedChat) {
		return func(t *testing.T, owner *client, e *embeddedChat) { owner.do(t, "PATCH", e.path, body).is(t, 200) }
	}
	return map[string]func(*testing.T, *client, *embeddedChat){
		"whose embed token is disabled": patch(object{"enabled": false}),
		"whose site is removed":         patch(object{"allowed_origins": []string{"https://other.example"}}),
		"whose embed token is deleted": func(t *testing.T, owner *client, e *embeddedChat) {
			owner.do(t, "DELETE", e.path, nil).is(t, 204)
		},
		"whose embed token is rotated": func(t *testing.T, owner *client, e *embeddedChat) {
			owner.do(t, "POST", e.path+"/rotate", object{"grace_seconds": 0}).is(t, 200)
		},
		"whose chat is disabled": func(t *testing.T, owner *client, e *embeddedChat) {
			owner.do(t, "PATCH", e.template, object{"status": "disabled"}).is(t, 200)
		},
		"whose chat is deleted": func(t *testing.T, owner *client, e *embeddedChat) {
			owner.do(t, "DELETE", e.template, nil).is(t, 204)
		},
	}
}

func newStreamStage(t *testing.T) *streamStage {
	t.Helper()
	d := deployMigrated(t, postgres, toShops, set("server.concurrency.per_caller", "100"),
		set("server.concurrency.per_workspace", "100"))
	nearServer := d.start(t)
	s := &streamStage{deployment: d, owner: nearServer.user(t, "owner", "--operator"), far: nearServer.another(t)}
	shop := newShop(t)
	shop.sql(t, shop.name, `CREATE VIEW slow AS SELECT 'no address' AS email, repeat(md5(g::text), 1000) AS "First Name"
		FROM generate_series(1, 1000000) AS g WHERE pg_sleep(0.02)::text = ''`)
	connection := s.owner.create(t, connections, shop.connection(fixture.Canary)).at("id")
	body := shop.people(t, connection)
	body["location"].(object)["table"] = "slow"
	body["mapping"] = []object{{"field": "email", "column": "email"}, {"field": "first_name", "column": "First Name"}}
	s.source = sources + "/" + s.owner.create(t, sources, body).at("id")

	stalledWarehouse, proxy := shop.through(t)
	s.stalled = stalledWarehouse.connection(fixture.Canary)
	s.slow = s.owner.create(t, connections, s.stalled).at("id")
	proxy.Swallow(true)

	s.chat = s.owner.replying(t, s.bot(t), nil)
	s.owner.do(t, "PATCH", s.chat.template, object{"visibility": "workspace"}).is(t, 200)

	var files []object
	for i := range 40 {
		files = append(files, object{"path": fmt.Sprintf("large-%d.md", i), "content": "---\n---\n" +
			strings.Repeat("x", 180_000)})
	}
	for half := range slices.Chunk(files, 20) {
		s.owner.do(t, "POST", templates+"/import?activate=true&visibility=workspace", object{"files": half}).is(t, 200)
	}
	s.exported = nearServer.user(t, "member").id
	s.enlarge(t, s.exported)
	return s
}

// bot is an endpoint that sends one piece of an answer, and then waits.
func (s *streamStage) bot(t *testing.T) *replies {
	return newReplies(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"text\":\"Let me \"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
}

// enlarge makes the export of a person larger than what is on its way to a client.
func (s *streamStage) enlarge(t *testing.T, person string) {
	t.Helper()
	s.sql(t, `INSERT INTO passkeys (id, org_id, user_id, host, name, credential_id, public_key, sign_count, synced,
		revision, created_at, updated_at, last_used_at)
		SELECT 'pk_' || md5('`+person+`' || g), org_id, id, 'x', repeat('x', 1000000),
		decode(md5(id || g), 'hex'), '', 1, false, 1, 1, 1, 1 FROM users, generate_series(1, 12) AS g
		WHERE id = '`+person+`'`)
}

// caller creates a caller with all rights that the streams need.
func (s *streamStage) caller(t *testing.T, bySession bool) (c *client, key string) {
	t.Helper()
	c = s.owner.server.user(t, "member", "--operator")
	s.enlarge(t, c.id)
	if bySession {
		in, _ := s.far.opens(t, s.link(t, c.email))
		in.workspace = c.workspace
		return in, ""
	}
	keyedClient, key := c.key(t, "--role", "owner")
	return keyedClient.at(s.far), key
}

// casesOf returns how the streams of an operation are opened.
func (s *streamStage) casesOf(t *testing.T, op *openapi.Operation, c *client) []streamCase {
	t.Helper()
	const events = "text/event-stream"
	switch op.ID {
	case "streamPresences", "streamEvents":
		return []streamCase{{path: op.Path, accept: events}}
	case "getSourceValidation":
		s.owner.do(t, "POST", s.source+"/validate", nil).is(t, 202)
		return []streamCase{{path: s.source + "/validation", accept: events}}
	case "listSourceRows":
		var all []streamCase
		for _, media := range []string{"application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream"} {
			all = append(all, streamCase{path: s.source + "/rows", accept: media, isExplained: true})
		}
		return all
	case "listFailingRows":
		return []streamCase{{path: s.source + "/validation/failing-rows", accept: "text/csv", isExplained: true}}
	case "createConnection":
		return []streamCase{{method: "POST", path: op.Path, body: s.stalled, accept: events}}
	case "verifyConnection":
		return []streamCase{
			{method: "POST", path: connections + "/" + s.slow + "/verify", body: object{}, accept: events},
		}
	case "exportPrompts":
		return []streamCase{
			{path: op.Path, accept: "application/json", isFile: true},
			{path: op.Path, accept: "application/x-ndjson", isFile: true},
		}
	case "exportMe": // which only people can do
		if c.cookie == "" {
			return []streamCase{}
		}
		return []streamCase{{path: op.Path, accept: "application/json", isFile: true}}
	case "exportPerson":
		return []streamCase{{path: "/api/people/" + s.exported + "/export", accept: "application/json", isFile: true}}
	case "sendEmbedMessage": // in a preview; of visitors without an account there are other cases
		session := c.do(t, "POST", s.chat.template+"/preview", nil, "Origin: "+c.server.url).is(t, 200).at("session")
		return []streamCase{{method: "POST", path: op.Path, body: object{"text": "Where?"}, accept: session}}
	}
	return nil
}

// begin opens a stream and reads its first bytes. Of a file it reads no more until the stream has ended.
func (s *streamStage) begin(
	t *testing.T, c *client, op *openapi.Operation, one streamCase, headers ...string,
) *liveStream {
	t.Helper()
	one.name = op.ID + " " + one.accept
	if one.method == "" {
		one.method = "GET"
	}
	l := &liveStream{streamCase: one, op: op, ended: make(chan error, 1), id: fmt.Sprint("stream-", people.Add(1))}
	headers = append([]string{"Request-Id: " + l.id, "Accept: " + one.accept}, headers...)
	sender := *c
	if session, ok := strings.CutPrefix(one.accept, "ats_"); ok {
		l.name, sender = op.ID+" in a preview", *c.server.anonymous()
		headers = []string{"Request-Id: " + l.id, "Authorization: Bearer ats_" + session}
	} else if c.cookie != "" {
		headers = append(headers, "Workspace-Id: "+c.workspace, "Origin: "+c.server.url)
	}
	request := must(sender.request(t.Context(), one.method, one.path, one.body, headers...))
	ownValue := &http.Transport{DialContext: (&net.Dialer{Control: smallBuffers}).DialContext, DisableCompression: true}
	response, err := ownValue.RoundTrip(request)
	require.NoError(t, err)
	l.response = response
	t.Cleanup(func() { _ = response.Body.Close() })
	first := make([]byte, 16)
	if n, err := io.ReadFull(response.Body, first); response.StatusCode != http.StatusOK || err != nil {
		rest, _ := io.ReadAll(response.Body)
		t.Fatalf("%s: %d, %s%s, %v", l.name, response.StatusCode, first[:n], rest, err)
	}
	if !one.isFile {
		go func() {
			_, err := io.Copy(io.Discard, response.Body)
			if code := response.Trailer.Get("Atrium-Error"); err == nil && code != "" {
				err = errors.New(code)
			}
			l.ended <- err
		}()
	}
	return l
}

// ends waits until the stream has ended because of the lost access. Most streams would also end by themselves, such as
// for a time limit: then the log of the request does not have the code of a refusal.
func (l *liveStream) ends(t *testing.T, far *server, begin time.Time) {
	t.Helper()
	if l.isFile {
		far.stderr.await(t, far, regexp.MustCompile(`"request_id":"`+l.id+`"`)) // logged at its end
		proof.Within(t, l.name, time.Since(begin), time.Second)
		if _, err := io.Copy(io.Discard, l.response.Body); err == nil {
			t.Errorf("%s was complete", l.name)
		}
	} else {
		select {
		case err := <-l.ended:
			proof.Within(t, l.name, time.Since(begin), time.Second)
			if l.isExplained && err == nil {
				t.Errorf("%s ends as if it were complete", l.name)
			}
		case <-time.After(proof.Patience - time.Since(begin)):
			t.Fatalf("%s goes on", l.name)
		}
	}
	far.stderr.await(t, far, regexp.MustCompile(`"request_id":"`+l.id+`"[^\n]*"code":"(unauthenticated|forbidden|`+
		`workspace_not_found|insufficient_role|origin_not_allowed|connection_forbidden|template_[a-z_]+|embed_[a-z_]+)"`))
}

// goesOn checks that the stream is open, and closes it.
func (l *liveStream) goesOn(t *testing.T) {
	t.Helper()
	select {
	case err := <-l.ended:
		t.Errorf("%s has ended: %v", l.name, err)
	default:
	}
	_ = l.response.Body.Close()
}
