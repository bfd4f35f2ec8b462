package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// prospect is a permitted call of an operation, and the other statuses that the operation declares.
type prospect struct {
	op     *openapi.Operation
	status map[int]bool // the declared statuses
	caller *testCaller  // who may call it
	signed *testCaller  // who signed in
	at     target
	once   bool // it accepts an Idempotency-Key
}

// prospects returns for every operation a caller who may call it.
func (h *testWorkspace) prospects(t *testing.T) []*prospect {
	t.Helper()
	contract := conformance.Contract(t)
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(contract.JSON(), &doc))
	var all []*prospect
	for _, op := range contract.Operations() {
		var declaredCase struct {
			Responses  map[int]json.RawMessage
			Parameters []struct {
				Ref string `json:"$ref"`
			}
		}
		require.NoError(t, json.Unmarshal(doc.Paths[op.Path][strings.ToLower(op.Method)], &declaredCase))
		p := &prospect{op: op, status: map[int]bool{}}
		for _, parameter := range declaredCase.Parameters {
			p.once = p.once || strings.HasSuffix(parameter.Ref, "/IdempotencyKey")
		}
		for status := range declaredCase.Responses {
			p.status[status] = true
		}
		for _, c := range h.callers {
			if expected(op, c) == 200 {
				p.caller = c // the last one has the most permissions
			}
			if c.jwt {
				p.signed = c
			}
		}
		if op.ID == "signInWithPasskey" {
			p.caller = h.callerNamed("another org's owner at home") // red has its own sign-in
		}
		if op.ID == "acceptInvitation" || op.ID == "exportMe" || op.ID == "getMyAccess" {
			p.caller = p.caller.moved(h.server)
			p.caller.jwt = false // a user who accepts is in no workspace yet that a header could name
		}
		all = append(all, p)
	}
	return all
}

// has calls the operation as c, and expects a status if the operation declares it.
func (p *prospect) has(t *testing.T, status int, c *testCaller, position target) {
	t.Helper()
	if !p.status[status] {
		return
	}
	a := c.call(t, p.op, position)
	// All tests share one server, which may accept no more connections for a moment.
	for try := 0; status == http.StatusGatewayTimeout && a.status == http.StatusServiceUnavailable && try < 3; try++ {
		a = c.call(t, p.op, position)
	}
	if a.status == status && isStream(p.op) {
		a = c.callBy(t, http.MethodGet, p.op, position) // now that it ends
	}
	if a.status != status {
		t.Errorf("%s by %s answered %.500s, want %d", p.op.ID, c.name, a, status)
	}
}

// with returns the target of p with other headers.
func (p *prospect) with(headers ...string) target {
	position := p.at
	position.headers = append(headers, position.headers...)
	return position
}

// moved returns c as a client of another server.
func (c *testCaller) moved(s *server) *testCaller {
	other := *c
	other.client = c.at(s)
	return &other
}

// atOnce calls f for every prospect, a few at a time.
func atOnce(all []*prospect, f func(p *prospect)) {
	var wg sync.WaitGroup
	next := make(chan *prospect)
	for range 32 { // most wait for their deadline
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

// TestSharedAnswers gets from each operation the responses that openapi.yaml documents for all operations, whose causes
// do not depend on the operation.
func TestSharedAnswers(t *testing.T) {
	t.Parallel()
	h := newTestWorkspace(t, postgres)
	all := h.prospects(t)
	t.Run("invalid requests", func(t *testing.T) {
		for _, p := range all {
			t.Run(p.op.ID, func(t *testing.T) {
				example, _ := exampleOf(t, p.op)
				p.at = example.make(t, h, p.caller)
				p.asksWrongly(t)
			})
		}
	})
	t.Run("users of the issuer without access", func(t *testing.T) {
		for _, p := range all {
			if area := p.op.Access.Area; area != "embed" && area != "public" {
				p.keepsOut(t, h)
			}
		}
	})
	t.Run("an API key at an address that it is not for", func(t *testing.T) {
		elsewhere, _ := h.owner.key(t, "--org", "red", "--allow-address", "192.0.2.0/24")
		for _, p := range all {
			if area := p.op.Access.Area; area != "embed" && area != "public" {
				c := *p.caller
				c.client = elsewhere
				a := c.callBy(t, p.op.Method, p.op, p.at)
				if a.status != http.StatusForbidden || a.at("code") != "address_not_allowed" {
					t.Errorf("%s answered %.500s", p.op.ID, a)
				}
			}
		}
	})
	t.Run("requests repeated while they run", func(t *testing.T) {
		for _, p := range all {
			if p.once {
				h.repeatedMeanwhile(t, p)
			}
		}
	})
	h.stop(t)

	var proxy *fixture.Proxy
	behind(t, &proxy)(h.deployment)
	everybody := func(t *testing.T, s *server, status int) {
		t.Helper()
		atOnce(all, func(p *prospect) { p.has(t, status, p.caller.moved(s), p.at) })
	}
	t.Run("requests that time out", func(t *testing.T) {
		hasty := *h.deployment
		hasty.env = append(slices.Clone(hasty.env), "ATRIUM_SERVER_REQUEST_TIMEOUT=1s")
		s := hasty.start(t)
		release := h.lockEverything(t)
		everybody(t, s, http.StatusGatewayTimeout)
		release()
		s.stop(t)
	})
	s := h.deployment.start(t)
	t.Run("requests without a database", func(t *testing.T) {
		proxy.Cut()
		defer proxy.Restore()
		everybody(t, s, http.StatusServiceUnavailable)
	})
	t.Run("internal errors", func(t *testing.T) {
		h.sql(t, `ALTER SCHEMA public RENAME TO away`)
		defer h.sql(t, `ALTER SCHEMA away RENAME TO public`)
		proof.Eventually(t, "the caches have expired", func() bool {
			return h.owner.at(s).do(t, "GET", "/api/me", nil, onRed).status == http.StatusInternalServerError
		})
		everybody(t, s, http.StatusInternalServerError)
	})
	s.stop(t)
	t.Run("requests beyond the rate limit", func(t *testing.T) {
		for _, name := range []string{"per_minute", "burst", "unauthenticated_per_minute"} {
			set("server.rate_limit."+name, "1")(h.deployment)
		}
		s := h.deployment.start(t)
		for _, p := range all {
			if area := p.op.Access.Area; area == "embed" || area == "public" {
				continue // the token limits visitors, which has its own tests
			}
			if caller := p.caller.moved(s); p.op.ID == "endOwnSession" { // it would end its own credential
				caller.do(t, "GET", "/api/me", nil, append(slices.Clone(p.at.headers), caller.host)...)
			} else {
				caller.call(t, p.op, p.at)
			}
			p.has(t, http.StatusTooManyRequests, p.caller.moved(s), p.at)
		}
	})
}

// lockEverything locks every table until release is called. It may deadlock with background work, and then PostgreSQL
// ends one of the two.
func (h *testWorkspace) lockEverything(t *testing.T) (release func()) {
	t.Helper()
	db := h.open(t)
	for try := 1; ; try++ {
		tx, err := db.Begin()
		require.NoError(t, err)
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

// asksWrongly sends each kind of invalid request that p declares a response for. None has an effect.
func (p *prospect) asksWrongly(t *testing.T) {
	item := p.at
	item.query += map[bool]string{true: "&", false: "?"}[strings.Contains(item.query, "?")] + "no_such_parameter=1"
	if p.op.Access.Area != "public" { // its parameters are not checked
		p.has(t, http.StatusBadRequest, p.caller, item)
	}
	p.has(t, http.StatusNotAcceptable, p.caller, p.with("Accept: image/png"))
	p.has(t, http.StatusPreconditionFailed, p.caller, p.with(`If-Match: "999-none"`))
	stranger := *p.caller
	stranger.host = "Host: nowhere.example.com"
	p.has(t, http.StatusMisdirectedRequest, &stranger, p.at)
	if p.op.HasBody {
		item = p.at
		item.body = strings.Repeat(" ", int(p.op.MaxBody)+1)
		p.has(t, http.StatusRequestEntityTooLarge, p.caller, item)
		item.body = object{"no_such_field": 1}
		p.has(t, http.StatusUnprocessableEntity, p.caller, item)
		item = p.with("Content-Type: text/plain")
		item.body = "{}"
		p.has(t, http.StatusUnsupportedMediaType, p.caller, item)
	}
	if p.status[http.StatusNotModified] {
		tag := p.caller.call(t, p.op, p.at).header.Get("Etag")
		p.has(t, http.StatusNotModified, p.caller, p.with("If-None-Match: "+tag))
	}
	// Otherwise the thing in the path is not found, or no workspace is chosen.
	if !strings.Contains(p.op.Path, "{") && p.op.Access.Area != "public" {
		nowhere := *p.signed
		nowhere.workspace = "wsp_" + strings.Repeat("0", 26)
		p.has(t, http.StatusNotFound, &nowhere, p.at)
	}
}

// keepsOut calls as a user without account and invitation, and as one whose token lacks a claim that the org requires.
func (p *prospect) keepsOut(t *testing.T, h *testWorkspace) {
	for code, isVerified := range map[string]bool{"sign_up_closed": true, "required_claim_missing": false} {
		claims := h.issuer.Claims("atrium", time.Now())
		claims["sub"], claims["email"], claims["email_verified"] = "nobody", "nobody@example.com", isVerified
		stranger := *p.signed
		stranger.client = &client{server: h.server, token: h.issuer.Token(claims)}
		a := stranger.call(t, p.op, p.at)
		if isStream(p.op) {
			a = stranger.callBy(t, http.MethodGet, p.op, p.at) // which ends, since it is refused
		}
		if a.status != http.StatusForbidden || a.at("code") != code {
			t.Errorf("%s answered %.500s, want %s", p.op.ID, a, code)
		}
	}
}

// repeatedMeanwhile repeats a call with its Idempotency-Key while the first one appears to run.
func (h *testWorkspace) repeatedMeanwhile(t *testing.T, p *prospect) {
	key := fmt.Sprintf("Idempotency-Key: %s-meanwhile", p.op.ID)
	p.caller.call(t, p.op, p.with(key))
	h.sql(t, fmt.Sprintf(`UPDATE idempotency_keys SET until = %d`, time.Now().Add(time.Minute).UnixMicro()))
	p.has(t, http.StatusConflict, p.caller, p.with(key))
}
