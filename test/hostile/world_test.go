package hostile

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/migrated"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/services"
)

// world is a node with two orgs. In arena every user of the issuer can sign in and gets a workspace. The people of shop
// are the victims. All limits have their defaults, except those that a test sets.
type world struct {
	*program.Node
	t        *testing.T
	issuer   *fixture.Issuer
	smtp     *fixture.SMTP
	http     *http.Client
	attacker *client
	victims  []*client // owners of one workspace each
}

// victimCount is how many victims there are: their own rate limits must not slow down the measurement.
const victimCount = 4

// arena is how the attacker's org lets people in, unless a test says otherwise: everyone may sign up.
const arena = "sign_up: open\n    issuers: [{url: ISSUER, audiences: [atrium]}]"

// newWorld starts a node. rules are the lines of YAML that say who comes into arena; ISSUER stands for the URL of its
// issuer. settings are further environment variables.
func newWorld(t *testing.T, database, rules string, settings ...string) *world {
	t.Helper()
	w, d := deploy(t, database, fmt.Sprintf(`
orgs:
  - slug: arena
    hosts: [arena.example]
    personal_workspaces: true
    %s
    egress: {allow: [127.0.0.0/8]}
    connection_kinds: [postgres]
    payments:
      gateway: sandbox
      plans:
        - {id: team, name: Team, price: {amount: 2900, currency: usd}, interval: month}
  - slug: shop
    hosts: [shop.example]
    egress: {allow: [127.0.0.0/8]}
    connection_kinds: [postgres]
    payments:
      gateway: sandbox
      plans:
        - {id: team, name: Team, price: {amount: 2900, currency: usd}, interval: month}
`, rules), settings...)
	var keys []string
	for i := range victimCount {
		name := "victim-" + strconv.Itoa(i)
		keys = append(keys, d.Owner(t, suite.Binary(t), name+"@shop.example", "--org", "shop", "--workspace", name))
	}
	w.Node = d.Start(t, suite.Binary(t))
	for _, key := range keys {
		w.victims = append(w.victims, &client{url: w.URL, host: "shop.example", token: key, http: w.http})
	}
	return w
}

// deploy prepares a node with an issuer and a mail server. orgs is YAML, in which ISSUER stands for the URL of the
// issuer.
func deploy(t *testing.T, database, orgs string, settings ...string) (*world, *program.Deployment) {
	t.Helper()
	w := &world{t: t, issuer: fixture.NewIssuer(t, "ES256"), smtp: fixture.NewSMTP(t, "none"), http: newHTTP()}
	t.Cleanup(w.http.CloseIdleConnections)
	mail := fmt.Sprintf("mail: {smtp: {addr: %q, from: atrium@example.com, tls: none}}\n", w.smtp.Addr())
	config := mail + strings.ReplaceAll(orgs, "ISSUER", strconv.Quote(w.issuer.URL))
	d := program.Deploy(t, database, config, settings...)
	if database == "" {
		if err := os.Mkdir(d.Data(), 0o700); err != nil {
			t.Fatal(err)
		}
		migrated.SQLite(t, filepath.Join(d.Data(), "atrium.db"))
	}
	return w, d
}

// newAttack is a world in which mallory has made an account and owns a workspace.
func newAttack(t *testing.T, database string, settings ...string) *world {
	t.Helper()
	w := newWorld(t, database, arena, settings...)
	w.attacker = w.stranger("mallory")
	w.attacker.workspace = w.attacker.do(t, "GET", "/api/me", nil).is(t, 200).at(t, "workspaces.0.id")
	return w
}

// stranger is someone who has an account at arena's issuer, and who may have none at Atrium yet.
func (w *world) stranger(subject string, claims ...object) *client {
	c := w.issuer.Claims("atrium", time.Now())
	c["sub"], c["email"] = subject, subject+"@arena.example"
	for _, more := range claims {
		maps.Copy(c, more)
	}
	return &client{url: w.URL, host: "arena.example", token: w.issuer.Token(c), http: w.http}
}

// warehouse is a credential for a database of the tests' own PostgreSQL with some tables (people_0, people_1, …),
// reached through a proxy.
func (w *world) warehouse(tables int) (credential object, network *fixture.Proxy) {
	w.t.Helper()
	at := services.Postgres(w.t)
	u, err := url.Parse(at)
	if err != nil {
		w.t.Fatal(err)
	}
	db, err := sql.Open("postgres", at)
	if err != nil {
		w.t.Fatal(err)
	}
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
	if err != nil {
		w.t.Fatal(err)
	}
	password, _ := u.User.Password()
	return object{
		"host": host, "port": number, "database": strings.TrimPrefix(u.Path, "/"),
		"username": u.User.Username(), "password": password + "-", "tls": "disable",
	}, network
}

// reads is one thing that a victim does all day.
func (w *world) reads(ctx context.Context, i int) error {
	v := w.victims[i%len(w.victims)]
	path := []string{"/api/prompt-templates", "/api/me", "/api/chat-templates", "/api/datasources"}[i/len(w.victims)%4]
	a, err := v.try(ctx, "GET", path, nil)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("%s returns %d: %s", a.call, a.status, a.text)
	}
	return err
}

// measure does something n times, at a steady pace, and returns the 99th percentile of its durations.
func (w *world) measure(n int, pace time.Duration, do func(context.Context, int) error) time.Duration {
	w.t.Helper()
	ticks := time.NewTicker(pace)
	defer ticks.Stop()
	took := make([]time.Duration, n)
	for i := range n {
		begun := time.Now()
		if err := do(w.t.Context(), i); err != nil {
			w.t.Fatalf("a victim's request failed: %v", err)
		}
		took[i] = time.Since(begun)
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

// underUntil is under, with an attack that goes on until a status was answered, for program.Patience at most: on a busy
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
	attacked := w.measure(n, pace, victim)
	answered := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return status == 0 || statuses[status] > 0
	}
	for end := time.Now().Add(program.Patience); !answered() && time.Now().Before(end); {
		pause(ctx, 20*time.Millisecond)
	}
	cancel()
	running.Wait()
	w.report(quiet, attacked, statuses)
	return statuses
}

// report logs the victim's 99th percentiles and, when proving, compares them.
func (w *world) report(quiet, attacked time.Duration, statuses map[int]int) {
	w.t.Helper()
	limit := 5*quiet + 50*time.Millisecond
	round := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
	w.t.Logf("victim's p99: quiet %s, under attack %s (limit %s); the attacker was answered %v",
		round(quiet), round(attacked), round(limit), statuses)
	if proof.Running() && attacked > limit {
		w.t.Errorf("the victim's p99 is %s under attack, more than %s", attacked, limit)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
