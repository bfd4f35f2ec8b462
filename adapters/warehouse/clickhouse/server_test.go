package clickhouse_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// server is a ClickHouse with an interface of HTTP, and one of HTTPS.
type server struct {
	*services.Server
	authority  *fixture.Authority
	plain, tls uint16
}

// sample is what the suite reads. Users of this version have whole databases, so what is not read is
// in another one.
const sample = `
CREATE DATABASE closed_to_all;
CREATE DATABASE shop;
CREATE TABLE shop.kinds (id UInt64, name String, price Nullable(Decimal(10, 2)), rate Nullable(Float64),
sold Nullable(UInt8), born Date, at DateTime('UTC'),
	tags Array(String), key UUID, size Enum8('small' = 1, 'large' = 2), raw FixedString(4), pair Tuple(Int32, String),
	lines Nested(n Int8, what String), total AggregateFunction(sum, UInt64)) ENGINE = MergeTree ORDER BY id;
INSERT INTO shop.kinds SELECT 1, 'Ada', toDecimal32('12.5', 2), 0.5, 1, toDate('2015-12-10'),
toDateTime('2026-01-02 03:04:05', 'UTC'),
	['x', 'y'], toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'), 'small', toFixedString('ab', 4), (toInt32(1), 'q'),
	[toInt8(1), toInt8(2)], ['a', 'b'], sumState(toUInt64(1));
INSERT INTO shop.kinds SELECT 2, arrayStringConcat(arrayMap(i -> 'é', range(300))), NULL, NULL, NULL, toDate(0),
toDateTime(0),
	emptyArrayString(), toUUID('00000000-0000-0000-0000-000000000000'), 'large', toFixedString('', 4), (toInt32(0), ''),
	emptyArrayInt8(), emptyArrayString(), sumState(toUInt64(1));
INSERT INTO shop.kinds SELECT 18446744073709551615, 'tab\t"quote" \'s\' \\ \xff', toDecimal32('-1', 2), nan, 0,
toDate('2038-01-19'), toDateTime('2038-01-19 03:14:07', 'UTC'),
	['it\'s'], toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'), 'small', toFixedString('abcd', 4), (toInt32(-1), ''), [toInt8(-1)], [''], sumState(toUInt64(1));
OPTIMIZE TABLE shop.kinds FINAL;
CREATE TABLE shop.Kinds_2 (id Int32) ENGINE = Log;
CREATE TABLE shop.empty (id Int32) ENGINE = MergeTree ORDER BY id;
CREATE TABLE shop.%[1]s (%[2]s String) ENGINE = TinyLog;
INSERT INTO shop.%[1]s VALUES ('here');
CREATE TABLE shop.wide (%[3]s) ENGINE = Log;
INSERT INTO shop.wide (c0) VALUES ('%[4]s');
CREATE VIEW shop.seen AS SELECT id, name FROM shop.kinds;
CREATE MATERIALIZED VIEW shop.kept ENGINE = MergeTree ORDER BY id POPULATE AS SELECT id FROM shop.kinds;
CREATE TABLE shop.afar (id Int32) ENGINE = URL('http://127.0.0.1:1/', CSV);
CREATE VIEW shop.bad_cast AS SELECT toInt32(name) AS n FROM shop.kinds;
CREATE VIEW shop.slow AS SELECT count() AS never FROM system.numbers;
CREATE TABLE closed_to_all.what_is_not_read (id Int32) ENGINE = Log;
CREATE VIEW shop.beyond AS SELECT id FROM closed_to_all.what_is_not_read;
CREATE TABLE shop.leads_nowhere (id Int32) ENGINE = Merge(shop, '^there_is_none$');
CREATE TABLE shop.members (id Int32) ENGINE = Set;
`

// users are those of the sample. The profile reading may choose settings, locked none. A quota
// notices a statement too late. A full server lets statements wait for as long as queue_max_wait_ms, which is
// five seconds unless it is set.
const users = `<yandex>
	<profiles>
		<default><queue_max_wait_ms>100</queue_max_wait_ms></default>
		<reading><queue_max_wait_ms>100</queue_max_wait_ms><readonly>2</readonly></reading>
		<locked><readonly>1</readonly></locked>
		<cutting><readonly>2</readonly><max_result_rows>100000</max_result_rows>
			<result_overflow_mode>break</result_overflow_mode></cutting>
		<crowded><readonly>2</readonly><max_concurrent_queries_for_user>1</max_concurrent_queries_for_user></crowded>
	</profiles>
	<quotas>
		<default/>
		<thrifty><interval><duration>3600</duration><queries>1</queries></interval></thrifty>
	</quotas>
	<users>
		<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
		%s
	</users>
</yandex>`

func user(name, profile, quota, network, databases string) string {
	u := fmt.Sprintf("<%[1]s><password>%[2]s</password><networks><ip>%[3]s</ip></networks><profile>%[4]s</profile>"+
		"<quota>%[5]s</quota>",
		name, warehouses.Canary, network, profile, quota)
	if databases != "" {
		u += "<allow_databases><database>" + databases + "</database></allow_databases>"
	}
	return u + "</" + name + ">"
}

func allUsers() string {
	return fmt.Sprintf(users, strings.Join([]string{
		user("reader", "reading", "default", "127.0.0.1", "shop"),
		user("locked", "locked", "default", "127.0.0.1", "shop"),
		user("writer", "default", "default", "127.0.0.1", "shop"),
		user("auditor", "reading", "default", "127.0.0.1", ""),
		user("cutting", "cutting", "default", "127.0.0.1", "shop"),
		user("crowded", "crowded", "default", "127.0.0.1", "shop"),
		user("thrifty", "reading", "thrifty", "127.0.0.1", "shop"),
		user("far", "reading", "default", "192.0.2.1", "shop"),
	}, "\n"))
}

var start = sync.OnceValues(func() (*server, error) {
	authority := fixture.NewAuthority(fixture.Setup{})
	s, err := open(authority, "")
	if err != nil {
		return nil, err
	}
	wide := make([]string, connection.MaxColumns+50)
	for i := range wide {
		wide[i] = fmt.Sprintf("c%d String", i)
		if i > 0 {
			wide[i] += fmt.Sprintf(" DEFAULT arrayStringConcat(arrayMap(i -> '%d', range(300)))", i%10)
		}
	}
	statements := fmt.Sprintf(sample, quoted(strange), quoted("a `col`, b?"), strings.Join(wide, ", "),
		strings.Repeat("0", 300))
	for _, statement := range strings.Split(strings.TrimSpace(statements), ";\n") {
		if _, err := s.ask(statement); err != nil {
			return nil, fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return s, nil
})

func quoted(name string) string {
	return "`" + strings.NewReplacer("`", "\\`", `\`, `\\`).Replace(name) + "`"
}

// open starts a server with more settings than its ports.
func open(authority *fixture.Authority, settings string) (*server, error) {
	t := fixture.Setup{}
	certificate, key := authority.Sign(t, time.Hour, "127.0.0.1")
	s := &server{authority: authority, tls: fixture.FreePort(t)}
	settings += fmt.Sprintf(`<https_port>%d</https_port>
		<openSSL><server><certificateFile>server.crt</certificateFile><privateKeyFile>server.key</privateKeyFile><verificationMode>none</verificationMode>
			<loadDefaultCAFile>false</loadDefaultCAFile><cacheSessions>false</cacheSessions></server></openSSL>`, s.tls)
	var err error
	if s.Server, err = services.StartClickHouse(settings, allUsers(),
		map[string]string{"server.crt": certificate, "server.key": key}); err != nil {
		return nil, err
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	s.plain = netip.MustParseAddrPort(u.Host).Port()
	return s, nil
}

// client of the test's own statements keeps no connection, which would read as a leaked goroutine.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// ask runs a statement as the user default.
func (s *server) ask(sql string) (string, error) {
	return s.askAs(context.Background(), "default", "", sql)
}

func (s *server) askAs(ctx context.Context, user, password, sql string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(sql))
	if err != nil {
		return "", err
	}
	r.Header.Set("X-ClickHouse-User", user)
	r.Header.Set("X-ClickHouse-Key", password)
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d: %s", answer.StatusCode, text)
	}
	return strings.TrimSpace(string(text)), err
}

func shared(t *testing.T) *server {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatalf("this test needs ClickHouse: %v", err)
	}
	return s
}

// target is the reader's, with some fields changed; a nil value takes one out.
func (s *server) target(t *testing.T, changes map[string]any) ports.Target {
	t.Helper()
	return warehouses.HostTarget(t, connection.ClickHouse, map[string]any{
		"host": "127.0.0.1", "port": s.tls, "database": "shop", "username": "reader",
		"password": warehouses.Canary,
		"tls":      "verify_full", "tls_ca": s.authority.PEM,
	}, changes)
}

// hold has a user run a statement without an end, for as long as the test takes, and returns once began
// says so.
func (s *server) hold(t *testing.T, user string, hasBegun func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	endedSignal := make(chan struct{})
	go func() {
		defer close(endedSignal)
		_, _ = s.askAs(ctx, user, warehouses.Canary, `SELECT count() FROM system.numbers`)
	}()
	t.Cleanup(func() { cancel(); <-endedSignal })
	proof.Eventually(t, "the statement of "+user+" has begun", hasBegun)
}

// crowdedUser has one statement running, and may have no more.
func crowdedUser(t *testing.T) ports.Target {
	s := shared(t)
	t.Cleanup(func() { // it does not notice that no client waits for it
		if _, err := s.ask(`KILL QUERY WHERE user = 'crowded' SYNC`); err != nil {
			t.Error(err)
		}
	})
	s.hold(t, "crowded", func() bool {
		n, err := s.ask(`SELECT count() FROM system.processes WHERE user = 'crowded'`)
		return err == nil && n != "0"
	})
	return s.target(t, map[string]any{"username": "crowded"})
}

// fullServer runs as many statements as it may, which is one.
func fullServer(t *testing.T) ports.Target {
	s, err := open(shared(t).authority, "<max_concurrent_queries>1</max_concurrent_queries>")
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	if _, err := s.ask("CREATE DATABASE shop"); err != nil {
		t.Fatal(err)
	}
	s.hold(t, "auditor", func() bool { _, err := s.ask("SELECT 1"); return err != nil })
	return s.target(t, nil)
}
