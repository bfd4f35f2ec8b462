package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/test/fixture"
)

// prospect is a call of an operation that may be made, and what else it declares to answer.
type prospect struct {
	op     *openapi.Operation
	status map[int]bool // that it declares
	caller *standing    // who may call it
	signed *standing    // who signed in
	at     target
	once   bool // it accepts an Idempotency-Key
}

// prospects names somebody for every operation who may call it.
func (h *house) prospects(t *testing.T) []*prospect {
	t.Helper()
	contract := fixture.Contract(t)
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(contract.JSON(), &doc); err != nil {
		t.Fatal(err)
	}
	var all []*prospect
	for _, op := range contract.Operations() {
		var declared struct {
			Responses  map[int]json.RawMessage
			Parameters []struct {
				Ref string `json:"$ref"`
			}
		}
		if err := json.Unmarshal(doc.Paths[op.Path][strings.ToLower(op.Method)], &declared); err != nil {
			t.Fatal(err)
		}
		p := &prospect{op: op, status: map[int]bool{}}
		for _, parameter := range declared.Parameters {
			p.once = p.once || strings.HasSuffix(parameter.Ref, "/IdempotencyKey")
		}
		for status := range declared.Responses {
			p.status[status] = true
		}
		for _, c := range h.callers {
			if expected(op, c) == 200 {
				p.caller = c // the last may most
			}
			if c.jwt {
				p.signed = c
			}
		}
		if op.ID == "acceptInvitation" {
			p.caller = p.caller.moved(h.server)
			p.caller.jwt = false // a user who accepts is in no workspace yet that a header could name
		}
		all = append(all, p)
	}
	return all
}

// has calls by c, and expects a status where the operation declares it.
func (p *prospect) has(t *testing.T, status int, c *standing, at target) {
	t.Helper()
	if !p.status[status] {
		return
	}
	a := c.call(t, p.op, at)
	if a.status == status && p.op.ID == "streamPresences" {
		a = c.callBy(t, http.MethodGet, p.op, at) // now that it ends
	}
	if a.status != status {
		t.Errorf("%s answered %.500s, want %d", p.op.ID, a, status)
	}
}

// with is the target of p, asked for with other headers.
func (p *prospect) with(headers ...string) target {
	at := p.at
	at.headers = append(headers, at.headers...)
	return at
}

// moved is c, calling another server.
func (c *standing) moved(s *server) *standing {
	other := *c
	other.client = c.at(s)
	return &other
}

// atOnce calls f for every prospect, a few at a time.
func atOnce(all []*prospect, f func(p *prospect)) {
	var wg sync.WaitGroup
	next := make(chan *prospect)
	for range 8 {
		wg.Go(func() {
			for p := range next {
				f(p)
			}
		})
	}
	for _, p := range all {
		next <- p
	}
	close(next)
	wg.Wait()
}

// TestSharedAnswers reaches of each operation the answers that openapi.yaml documents for all alike:
// what is wrong has nothing to do with what the operation does.
func TestSharedAnswers(t *testing.T) {
	t.Parallel()
	h := newHouse(t, postgres)
	all := h.prospects(t)
	t.Run("what is asked wrongly", func(t *testing.T) {
		for _, p := range all {
			t.Run(p.op.ID, func(t *testing.T) {
				p.at = examples[p.op.ID].make(t, h, p.caller)
				p.asksWrongly(t)
			})
		}
	})
	t.Run("who is known to the issuer and not let in", func(t *testing.T) {
		for _, p := range all {
			if area := p.op.Access.Area; area != "embed" && area != "public" {
				p.keepsOut(t, h)
			}
		}
	})
	t.Run("what comes again while it runs", func(t *testing.T) {
		for _, p := range all {
			if p.once {
				h.repeatedMeanwhile(t, p)
			}
		}
	})
	h.stop(t)

	var proxy *fixture.Proxy
	behind(t, &proxy)(h.deployment)
	set("server.request_timeout", "1s")(h.deployment)
	s := h.deployment.start(t)
	everybody := func(t *testing.T, s *server, status int) {
		t.Helper()
		atOnce(all, func(p *prospect) { p.has(t, status, p.caller.moved(s), p.at) })
	}
	t.Run("what takes too long", func(t *testing.T) {
		defer h.lockEverything(t)()
		everybody(t, s, http.StatusGatewayTimeout)
	})
	t.Run("what reaches no database", func(t *testing.T) {
		proxy.Cut()
		defer proxy.Restore()
		everybody(t, s, http.StatusServiceUnavailable)
	})
	t.Run("what goes wrong with us", func(t *testing.T) {
		h.sql(t, `ALTER SCHEMA public RENAME TO away`)
		defer h.sql(t, `ALTER SCHEMA away RENAME TO public`)
		time.Sleep(time.Second) // until nobody is remembered
		everybody(t, s, http.StatusInternalServerError)
	})
	s.stop(t)
	t.Run("what comes too often", func(t *testing.T) {
		for _, name := range []string{"per_minute", "burst", "unauthenticated_per_minute"} {
			set("server.rate_limit."+name, "1")(h.deployment)
		}
		s := h.deployment.start(t)
		for _, p := range all {
			if area := p.op.Access.Area; area == "embed" || area == "public" {
				continue // how often visitors may call is their token's affair, and has tests of its own
			}
			p.caller.moved(s).call(t, p.op, p.at)
			p.has(t, http.StatusTooManyRequests, p.caller.moved(s), p.at)
		}
	})
}

// lockEverything keeps everybody from every table until release is called. What runs in the background
// may stand in the way: of two that wait for each other PostgreSQL ends one.
func (h *house) lockEverything(t *testing.T) (release func()) {
	t.Helper()
	db := h.open(t)
	for try := 1; ; try++ {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(`DO $$ DECLARE t text; BEGIN
			FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP EXECUTE 'LOCK TABLE ' || t || ' IN ACCESS EXCLUSIVE MODE'; END LOOP;
		END $$`)
		if err == nil {
			return func() { _ = tx.Rollback() }
		}
		_ = tx.Rollback()
		if try == 20 {
			t.Fatal(err)
		}
	}
}

// asksWrongly does so in each way that p declares an answer for. None of them does anything.
func (p *prospect) asksWrongly(t *testing.T) {
	at := p.at
	at.query += map[bool]string{true: "&", false: "?"}[strings.Contains(at.query, "?")] + "no_such_parameter=1"
	if p.op.Access.Area != "public" { // whose parameters are nobody's business
		p.has(t, http.StatusBadRequest, p.caller, at)
	}
	p.has(t, http.StatusNotAcceptable, p.caller, p.with("Accept: image/png"))
	p.has(t, http.StatusPreconditionFailed, p.caller, p.with(`If-Match: "999-none"`))
	stranger := *p.caller
	stranger.host = "Host: nowhere.example.com"
	p.has(t, http.StatusMisdirectedRequest, &stranger, p.at)
	if p.op.HasBody {
		at = p.at
		at.body = strings.Repeat(" ", int(p.op.MaxBody)+1)
		p.has(t, http.StatusRequestEntityTooLarge, p.caller, at)
		at.body = object{"no_such_field": 1}
		p.has(t, http.StatusUnprocessableEntity, p.caller, at)
		at = p.with("Content-Type: text/plain")
		at.body = "{}"
		p.has(t, http.StatusUnsupportedMediaType, p.caller, at)
	}
	if p.status[http.StatusNotModified] {
		tag := p.caller.call(t, p.op, p.at).header.Get("Etag")
		p.has(t, http.StatusNotModified, p.caller, p.with("If-None-Match: "+tag))
	}
	if !strings.Contains(p.op.Path, "{") { // else it is what the path names that is not there
		nowhere := *p.signed
		nowhere.workspace = "wsp_" + strings.Repeat("0", 26)
		p.has(t, http.StatusNotFound, &nowhere, p.at)
	}
}

// keepsOut calls as somebody who has no account and no invitation, and as somebody whose token lacks a
// claim that the org requires.
func (p *prospect) keepsOut(t *testing.T, h *house) {
	for code, verified := range map[string]bool{"sign_up_closed": true, "required_claim_missing": false} {
		claims := h.issuer.Claims("atrium", time.Now())
		claims["sub"], claims["email"], claims["email_verified"] = "nobody", "nobody@example.com", verified
		stranger := *p.signed
		stranger.client = &client{server: h.server, token: h.issuer.Token(claims)}
		a := stranger.call(t, p.op, p.at)
		if p.op.ID == "streamPresences" {
			a = stranger.callBy(t, http.MethodGet, p.op, p.at) // which ends, since it is refused
		}
		if a.status != http.StatusForbidden || a.at("code") != code {
			t.Errorf("%s answered %.500s, want %s", p.op.ID, a, code)
		}
	}
}

// repeatedMeanwhile repeats a call with its Idempotency-Key while the first one seems to run.
func (h *house) repeatedMeanwhile(t *testing.T, p *prospect) {
	key := fmt.Sprintf("Idempotency-Key: %s-meanwhile", p.op.ID)
	p.caller.call(t, p.op, p.with(key))
	h.sql(t, fmt.Sprintf(`UPDATE idempotency_keys SET until = %d`, time.Now().Add(time.Minute).UnixMicro()))
	p.has(t, http.StatusConflict, p.caller, p.with(key))
}
