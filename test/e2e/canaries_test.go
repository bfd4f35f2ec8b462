package e2e

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// canaries are the secrets of a run, and all output except the responses that show them on purpose.
type canaries struct {
	secrets map[string]string // descriptions by secret
	told    strings.Builder
}

// shows records a response and the secrets that it holds on purpose, by their paths in the body.
func (c *canaries) shows(a *answer, paths ...string) *answer {
	text := fmt.Sprint(a.text, a.header)
	for _, path := range paths {
		value := a.at(path)
		c.secrets[tokenIn(value)] = path + " of " + a.call // of a link, the last segment
		text = strings.ReplaceAll(text, value, "")
	}
	c.told.WriteString(text)
	return a
}

// absent searches a text for every secret, in every encoding.
func (c *canaries) absent(t *testing.T, place, text string) {
	t.Helper()
	if text == "" {
		t.Errorf("there is nothing in %s", place)
	}
	for value, name := range c.secrets {
		if len(value) < 8 {
			t.Fatalf("%s: %q is no secret", name, value)
		}
		for _, form := range []string{
			value, url.QueryEscape(value), hex.EncodeToString([]byte(value)),
			strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(value)), "=")[:10*len(value)/9],
			strings.ReplaceAll(value, " ", ""),
		} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s holds %s: …%s…", place, name, text[max(0, i-200):i])
			}
		}
	}
}

// collector receives traces, as an OpenTelemetry backend does.
func collector(t *testing.T) (addr string, receive func() string) {
	t.Helper()
	var mu sync.Mutex
	var all strings.Builder
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unzippedReader, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = unzippedReader
		}
		mu.Lock()
		defer mu.Unlock()
		all.WriteString(r.URL.Path + "\n")
		_, _ = io.Copy(&all, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string { mu.Lock(); defer mu.Unlock(); return all.String() }
}

// TestNoSecretOfARunIsLeftAnywhere uses every kind of secret, in all areas, correctly and incorrectly. Then it searches
// for all of them in everything that was logged, stored or sent.
func TestNoSecretOfARunIsLeftAnywhere(t *testing.T) {
	mock := services.StripeMock(t)
	onEach(t, func(t *testing.T, engine string) {
		const stripeKey, mailPassword, signingKey, variable, visitor = "sk_test_c4n4ry0fstripe", "c4n4ry-0f-mail",
			"whsec_c4n4ry0f5tr1pe", "c4n4ry-0f-a-variable", "c4n4ry-0f-a-visitor"
		c := &canaries{secrets: map[string]string{
			fixture.Canary: "the password of a warehouse", fixture.Canary + "2": "a password that was refused",
			stripeKey: "Stripe's key", mailPassword: "the password of the mail server",
			webhookKey: "the sandbox's webhook secret", signingKey: "Stripe's webhook secret",
			cardNumber: "the number of a card", variable: "a sensitive variable",
		}}
		issuer := fixture.NewIssuer(t, "ES256")
		traces, receive := collector(t)
		d := deployMigrated(t, engine, configured(fmt.Sprintf(`
orgs:
  - {slug: red, hosts: [red.example.com], issuers: [{url: %q, audiences: [atrium]}], accept_url: 'https://red.example.com/join/{token}', egress: {allow: [127.0.0.0/8]}, %s}
  - slug: blue
    hosts: [blue.example.com]
    payments:
      gateway: stripe
      webhook_secrets: ['env:TEST_STRIPE_WEBHOOK']
      stripe: {secret_key: 'env:TEST_STRIPE_KEY', publishable_key: pk_test_1, base_url: %q}
      plans: [{id: basic, name: Basic, price: {amount: 900, currency: usd}, interval: month, gateway_price: price_1}]
`, issuer.URL, onlyPayments(), mock)), toShops, knowsWebhookKey, set("metrics.addr", "127.0.0.1:0"),
			set("mail.smtp.addr", "127.0.0.1:1"), set("mail.smtp.user", "atrium"),
			set("mail.smtp.from", "atrium@example.com"), set("mail.smtp.password", mailPassword),
			func(d *deployment) {
				d.env = append(d.env, "TEST_STRIPE_KEY="+stripeKey, "TEST_STRIPE_WEBHOOK="+signingKey,
					"OTEL_EXPORTER_OTLP_ENDPOINT="+traces, "OTEL_BSP_SCHEDULE_DELAY=50")
			})
		s := d.start(t)
		for _, key := range keyMaterial(t, d) {
			c.secrets[key] = "a key of the keyring"
		}
		ann, fay := s.user(t, "owner", "--org", "red"), s.user(t, "owner", "--org", "blue")
		c.secrets[ann.token], c.secrets[fay.token] = "a key that the command line made", "another org's key"

		claims := issuer.Claims("atrium", time.Now())
		claims["email"] = ann.email
		signedClient := &client{server: s, token: issuer.Token(claims)}
		c.secrets[signedClient.token[strings.LastIndexByte(signedClient.token, '.')+1:]] = "the signature of a JWT"
		c.shows(signedClient.get(t, "/api/me", onRed))

		hook, hookedText := c.webhooks(t, ann)
		c.accounts(t, ann)
		c.warehouses(t, ann)
		c.payments(t, ann, fay, signingKey)
		c.chats(t, ann, visitor)
		template := templates + "/" + ann.create(t, templates, object{"name": "secret"}, onRed).at("id")
		c.shows(ann.create(t, template+"/versions",
			object{"text": "{{password}}",
				"variables": []object{{"name": "password", "sensitive": true, "enum": []string{"other"}}}}, onRed))
		c.shows(ann.do(t, "POST", template+"/render",
			object{"ref": "latest", "variables": object{"password": variable}}, onRed).problem(t, 422,
			"invalid_variables"))
		c.shows(ann.do(t, "POST", presences, object{"text": "here"}, onRed).is(t, 201))
		ticket := c.shows(ann.do(t, "POST", presences+"/stream-tickets", nil, onRed).is(t, 200), "ticket").at("ticket")
		c.shows(s.anonymous().do(t, "GET", presences+"/stream?no_such_parameter=1&ticket="+ticket, nil, onRed))
		for value := range c.secrets { // where none of them belongs
			if strings.ContainsAny(value, "\"\n ") {
				continue
			}
			c.told.WriteString(s.anonymous().do(t, "GET", "/api/me", nil, onRed,
				"Authorization: Bearer "+value+"x").text)
			c.told.WriteString(ann.do(t, "GET", "/api/events?created_after="+url.QueryEscape(value), nil, onRed).text)
			c.told.WriteString(ann.do(t, "POST", templates, object{"name": []string{value}}, onRed).text)
		}
		for _, list := range []string{"/api/events?limit=100", "/api/api-keys", connections, sources,
			payments + "/methods", payments + "/invoices", templates, chats, presences,
			"/api/workspaces/" + ann.workspace + "/invitations"} {
			c.shows(ann.get(t, list, onRed))
		}
		c.shows(fay.get(t, "/api/events?limit=100", onBlue))
		c.deliveries(t, ann, hook)
		metrics := s.metrics(t)
		commands := d.must(t, "keys", "list") + d.must(t, "payments", "events", "list", "--org", "red") +
			d.must(t, "payments", "events", "list", "--org", "blue") + fmt.Sprint(d.run(t, "doctor"))
		s.stop(t)

		c.absent(t, "what was answered", c.told.String())
		c.absent(t, "the log", s.stderr.String()+s.stdout.String())
		if !strings.Contains(receive(), "sql.") {
			t.Error("no span of a statement is in the traces")
		}
		c.absent(t, "the traces", receive())
		c.absent(t, "what webhooks sent", hookedText())
		c.absent(t, "the metrics", metrics)
		c.absent(t, "what commands print", commands)
		c.absent(t, "the database", s.dump(t))
		if engine == postgres {
			c.absent(t, "what pg_dump writes", services.DumpPostgres(t, s.database))
			return
		}
		archive := filepath.Join(t.TempDir(), "backup.tar.gz")
		d.must(t, "backup", archive)
		c.absent(t, "a backup", unzipped(t, archive))
		for _, name := range []string{"atrium.db", "atrium.db-wal"} {
			if file, err := os.ReadFile(filepath.Join(d.data, name)); err == nil && len(file) > 0 {
				c.absent(t, name, string(file))
			}
		}
	})
}

func unzipped(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	content, err := gzip.NewReader(file)
	require.NoError(t, err)
	all, err := io.ReadAll(content)
	require.NoError(t, err)
	return string(all)
}

func (c *canaries) accounts(t *testing.T, ann *client) {
	t.Helper()
	response := c.shows(ann.create(t, "/api/api-keys", object{"name": "made"}, onRed, "Idempotency-Key: key"), "token")
	c.shows(ann.create(t, "/api/api-keys", object{"name": "made"}, onRed, "Idempotency-Key: key"), "token")
	c.shows(ann.create(t, "/api/api-keys/"+response.at("id")+"/rotate", object{"grace_seconds": 60}, onRed), "token")
	c.shows(ann.create(t, "/api/workspaces/"+ann.workspace+"/invitations",
		object{"email": "dora@example.com", "role": "viewer"}, onRed, "Idempotency-Key: invitation"), "accept_url")
	c.shows(ann.do(t, "POST", "/api/invitations/accept", object{"token": ann.token}, onRed))
}

func (c *canaries) warehouses(t *testing.T, ann *client) {
	t.Helper()
	warehouse := newShop(t)
	one := c.shows(ann.create(t, connections, warehouse.connection(fixture.Canary), onRed,
		"Idempotency-Key: connection")).at("id")
	broken := warehouse.credential(fixture.Canary + "2")
	broken["database"] = "nowhere"
	c.shows(ann.do(t, "POST", connections+"/"+one+"/verify", object{"credential": broken}, onRed).problem(t, 422,
		"probe_failed"))
	c.shows(ann.do(t, "POST", connections,
		object{"kind": "postgres", "credential": object{"host": "h", "dsn": fixture.Canary}}, onRed))
	source := c.shows(ann.create(t, sources, warehouse.people(t, one), onRed)).at("id")
	c.shows(ann.get(t, sources+"/warehouse-preview?connection_id="+one, onRed))
	c.shows(ann.get(t, sources+"/"+source+"/jobs", onRed))
	c.shows(ann.do(t, "DELETE", connections+"/"+one, nil, onRed).is(t, 200))
	c.shows(ann.create(t, connections, warehouse.connection(fixture.Canary), onRed)) // which stays, sealed
}

func (c *canaries) payments(t *testing.T, ann, fay *client, signingKey string) {
	t.Helper()
	intent := c.shows(ann.create(t, payments+"/setup-intent", object{}, onRed, "Idempotency-Key: intent"),
		"client_secret")
	card := object{"client_secret": intent.at("client_secret"), "card": testCard(cardNumber)}
	c.shows(ann.do(t, "POST", confirm(intent.at("id")), card, onRed).is(t, 200), "client_secret") // which it was shown
	c.shows(ann.do(t, "POST", confirm(intent.at("id")), card, onRed).is(t, 409))
	c.shows(ann.create(t, payments+"/subscriptions", object{"plan_id": "basic"}, onRed))
	c.shows(fay.create(t, payments+"/setup-intent", object{}, onBlue), "client_secret")
	c.shows(fay.get(t, payments+"/methods", onBlue))
	const event = `{"id":"evt_1","object":"event","type":"invoice.paid","created":1,"data":{"object":{"object":"invoice"}}}`
	signature := payment.Sign(secret.New(signingKey), []byte(event), time.Now())
	c.shows(ann.server.anonymous().do(t, "POST", payments+"/webhooks/stripe/blue", event,
		"Stripe-Signature: "+signature).is(t, 200))
	c.shows(ann.server.anonymous().do(t, "POST", payments+"/webhooks/stripe/blue", event,
		"Stripe-Signature: t=1,v1="+signingKey).is(t, 400))
}

func (c *canaries) chats(t *testing.T, ann *client, visitor string) {
	t.Helper()
	c.shows(ann.create(t, chats+"/"+ann.create(t, chats, object{"name": "invites"}, onRed).at("id")+"/members",
		object{"email": "emil@example.com", "role": "viewer"}, onRed), "accept_url")
	e := ann.embeds(t, nil, onRed)
	c.secrets[e.secret] = "an embed token"
	c.shows(ann.do(t, "POST", e.path+"/rotate", object{"grace_seconds": 60}, onRed).is(t, 200), "token")
	anybody := ann.server.anonymous()
	session := c.shows(anybody.do(t, "POST", sessions, object{"token": e.secret, "visitor": visitor}, fromShop,
		onRed).is(t, 200), "session").at("session")
	c.shows(anybody.do(t, "GET", view, nil, fromShop, onRed, "Authorization: Bearer "+session).is(t, 200))
	c.shows(anybody.do(t, "POST", sessions, object{"token": e.secret}, onRed)) // from nowhere
	page := anybody.do(t, "GET", "/embed/"+e.secret, nil, onRed, "Referer: "+shop).is(t, 200)
	c.secrets[pageData.FindStringSubmatch(page.text)[1]] = "a ticket of the page"
	c.shows(ann.do(t, "GET", e.template+"/embed-tokens/"+e.secret[4:], nil, onRed))
}
