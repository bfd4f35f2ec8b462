package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// world is a server with two orgs. In arena every user of the issuer can sign in and gets a workspace. The people of
// shop are the victims. One self-made account of arena attacks, and the tests measure what the victims notice. make
// test takes few samples and prints durations; make prove takes many, and asserts that the victims' 99th percentile
// stays at or below 5 times their quiet one plus 50 ms. All limits have their defaults, except those that a test sets.
type world struct {
	*realm
	t        *testing.T
	smtp     *fixture.SMTP
	attacker *client
	victims  []*client // owners of one workspace each
}

// underAttack is onEach for attacks: when proving, one test runs after the other, because they would disturb each
// other's measurements.
func underAttack(t *testing.T, test func(t *testing.T, engine string)) {
	t.Helper()
	if !proof.Running() {
		onEach(t, test)
		return
	}
	for _, engine := range []string{sqlite, postgres} {
		t.Run("on "+engine, func(t *testing.T) { test(t, engine) })
	}
}

// victimCount is how many victims there are: their own rate limits must not slow down the measurement.
const victimCount = 4

// openArena is how the attacker's org lets people in, unless a test says otherwise: everyone may sign up.
const openArena = "sign_up: open\n    issuers: [{url: ISSUER, audiences: [atrium]}]"

// defaultLimits removes the limits that deploy raises.
func defaultLimits(d *deployment) {
	d.env = slices.DeleteFunc(d.env, func(variable string) bool {
		return strings.HasPrefix(variable, "ATRIUM_SERVER_RATE_LIMIT_") ||
			strings.HasPrefix(variable, "ATRIUM_SERVER_CONCURRENCY_") ||
			strings.HasPrefix(variable, "ATRIUM_SERVER_STREAMS_") ||
			strings.HasPrefix(variable, "ATRIUM_PAYMENTS_CARD_LIMITS_")
	})
}

// newWorld starts a server. rules are the lines of YAML that say who comes into arena; ISSUER stands for the URL of its
// issuer.
func newWorld(t *testing.T, engine, rules string, settings ...option) *world {
	t.Helper()
	const area = `
    egress: {allow: [127.0.0.0/8]}
    connection_kinds: [postgres]
    payments:
      gateway: sandbox
      plans:
        - {id: team, name: Team, price: {amount: 2900, currency: usd}, interval: month}
`
	w := startWorld(t, engine, rules+area+"  - slug: shop\n    hosts: [shop.example]"+area, settings...)
	for i := range victimCount {
		victim := w.user(t, "owner", "--org", "shop", "--workspace", "victim-"+strconv.Itoa(i))
		victim.host = "shop.example"
		w.victims = append(w.victims, victim)
	}
	return w
}

// startWorld starts a server with an issuer and a mail server. arena is the YAML of that org, and may go on with
// others.
func startWorld(t *testing.T, engine, arena string, settings ...option) *world {
	t.Helper()
	w := &world{t: t, smtp: fixture.NewSMTP(t, "none")}
	issuer := fixture.NewIssuer(t, "ES256")
	config := fmt.Sprintf("mail: {smtp: {addr: %q, from: atrium@example.com, tls: none}}\norgs:\n  - slug: arena\n"+
		"    hosts: [arena.example]\n    personal_workspaces: true\n    %s", w.smtp.Addr(),
		strings.ReplaceAll(arena, "ISSUER", strconv.Quote(issuer.URL)))
	w.realm = &realm{start(t, engine, append([]option{defaultLimits, configured(config), set("log.level", "warn")},
		settings...)...), issuer}
	return w
}

// newAttack is a world in which mallory has made an account and owns a workspace.
func newAttack(t *testing.T, engine string, settings ...option) *world {
	t.Helper()
	w := newWorld(t, engine, openArena, settings...)
	w.attacker = w.stranger("mallory")
	me := w.attacker.get(t, "/api/me")
	w.attacker.id, w.attacker.workspace = me.at("user.id"), me.at("workspaces.0.id")
	return w
}

// stranger is someone who has an account at arena's issuer, and who may have none at Atrium yet.
func (w *world) stranger(subject string, claims ...object) *client {
	return &client{server: w.server, host: "arena.example", token: w.token(subject, claims...)}
}

// attackers keep enough connections for every attacker.
var attackers = &http.Client{
	Timeout:   time.Minute,
	Transport: &http.Transport{MaxIdleConns: 512, MaxIdleConnsPerHost: 256},
}

// ask is do for attacks and their victims, from any goroutine: the answer is not compared with openapi.yaml, which
// would take longer than the call. A call that was cut off has the status 0.
func (c *client) ask(ctx context.Context, method, path string, body any, headers ...string) *answer {
	request, err := c.request(ctx, method, path, body, headers...)
	var a *answer
	if err == nil {
		a, err = send(attackers, request)
	}
	if err != nil {
		return &answer{call: method + " " + path, text: err.Error()}
	}
	return a
}

// status is the status of ask.
func (c *client) status(ctx context.Context, method, path string, body any, headers ...string) int {
	return c.ask(ctx, method, path, body, headers...).status
}

// served is ask for victims, which expects a status.
func (c *client) served(ctx context.Context, status int, method, path string, body any) (*answer, error) {
	a := c.ask(ctx, method, path, body)
	if a.status != status {
		return nil, fmt.Errorf("a victim's request: %s", a)
	}
	return a, nil
}

// patient is do for a caller who has used up their own limit of requests: it repeats the call until it is not
// rate_limited.
func (c *client) patient(t *testing.T, method, path string, body any) *answer {
	t.Helper()
	return proof.Await(t, "a response that is not rate_limited", func() *answer {
		return c.do(t, method, path, body)
	}, func(a *answer) bool { return a.status != http.StatusTooManyRequests || a.at("code") != "rate_limited" })
}

// warehouse is a credential for a database of the tests' own PostgreSQL with some tables (people_0, people_1, …),
// reached through a proxy.
func (w *world) warehouse(tables int) (credential object, network *fixture.Proxy) {
	w.t.Helper()
	address := services.Postgres(w.t)
	u, err := url.Parse(address)
	require.NoError(w.t, err)
	db, err := sql.Open("postgres", address)
	require.NoError(w.t, err)
	defer db.Close()
	for i := range tables {
		if _, err := db.ExecContext(w.t.Context(),
			fmt.Sprintf(`CREATE TABLE people_%d (email TEXT NOT NULL, name TEXT)`, i)); err != nil {
			w.t.Fatal(err)
		}
	}
	network = fixture.NewProxy(w.t, u.Host)
	host, port, _ := strings.Cut(network.Addr(), ":")
	number, err := strconv.Atoi(port)
	require.NoError(w.t, err)
	password, _ := u.User.Password()
	return object{
		"host": host, "port": number, "database": strings.TrimPrefix(u.Path, "/"),
		"username": u.User.Username(), "password": password + "-", "tls": "disable",
	}, network
}

// reads is one thing that a victim does all day.
func (w *world) reads(ctx context.Context, i int) error {
	path := []string{templates, "/api/me", chats, sources}[i/len(w.victims)%4]
	_, err := w.victims[i%len(w.victims)].served(ctx, http.StatusOK, "GET", path, nil)
	return err
}

// measure does something n times, at a steady pace, and returns the 99th percentile of its durations.
func (w *world) measure(n int, pace time.Duration, do func(context.Context, int) error) time.Duration {
	w.t.Helper()
	ticks := time.NewTicker(pace)
	defer ticks.Stop()
	took := make([]time.Duration, n)
	for i := range n {
		start := time.Now()
		if err := do(w.t.Context(), i); err != nil {
			w.t.Fatalf("a victim's request failed: %v", err)
		}
		took[i] = time.Since(start)
		<-ticks.C
	}
	slices.Sort(took)
	return took[(len(took)*99+99)/100-1]
}

// under measures a victim while it is quiet and while an attack runs. attack is run by several callers at once,
// again and again, until the measurement has ended; it returns a status, or 0 for a call that was cut off.
func (w *world) under(callers int, attack func(ctx context.Context, caller int) int, n int, pace time.Duration,
	victim func(context.Context, int) error,
) map[int]int {
	w.t.Helper()
	return w.underUntil(0, callers, attack, n, pace, victim)
}

// underUntil is under, with an attack that goes on until a status was answered, for patience at most: on a busy
// machine the measurement can end before the attackers have reached a limit. With status 0 it does not go on.
func (w *world) underUntil(status, callers int, attack func(ctx context.Context, caller int) int, n int,
	pace time.Duration, victim func(context.Context, int) error,
) map[int]int {
	w.t.Helper()
	quiet := w.measure(n, pace, victim)
	ctx, cancel := context.WithCancel(w.t.Context())
	var mu sync.Mutex
	statuses := map[int]int{}
	var running sync.WaitGroup
	for caller := range callers {
		running.Go(func() {
			for ctx.Err() == nil {
				status := attack(ctx, caller)
				mu.Lock()
				statuses[status]++
				mu.Unlock()
				if status == http.StatusTooManyRequests {
					pause(ctx, 20*time.Millisecond) // an attacker that is refused can do no more than try again
				}
			}
		})
	}
	pause(ctx, proof.Sample(250*time.Millisecond, 5*time.Second)) // until it is in full swing
	attackedTime := w.measure(n, pace, victim)
	answers := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return status == 0 || statuses[status] > 0
	}
	proof.Eventually(w.t, fmt.Sprint("a response of ", status), answers)
	cancel()
	running.Wait()
	w.report(quiet, attackedTime, statuses)
	return statuses
}

// report logs the victim's 99th percentiles and, when proving, compares them.
func (w *world) report(quiet, attackedTime time.Duration, statuses map[int]int) {
	w.t.Helper()
	limit := 5*quiet + 50*time.Millisecond
	round := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
	w.t.Logf("victim's p99: quiet %s, under attack %s (limit %s); the attacker was answered %v",
		round(quiet), round(attackedTime), round(limit), statuses)
	if proof.Running() && attackedTime > limit {
		w.t.Errorf("the victim's p99 is %s under attack, more than %s", attackedTime, limit)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
