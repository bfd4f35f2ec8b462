package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestDoctorAndHealthcheck(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)

		t.Run("doctor finds nothing wrong with a healthy deployment", func(t *testing.T) {
			var out struct {
				Checks []struct {
					Check, Note string
					OK          bool
				}
			}
			if err := json.Unmarshal([]byte(s.must(t, "doctor", "--json")), &out); err != nil || len(out.Checks) < 5 {
				t.Fatalf("%+v, %v", out, err)
			}
			for _, c := range out.Checks {
				if !c.OK || strings.Contains(c.Note, "(s)") {
					t.Errorf("%+v", c)
				}
			}
			if text := s.must(t, "doctor"); strings.Count(text, "\nok ")+1 != len(out.Checks) {
				t.Errorf("as text:\n%s", text)
			}
		})
		t.Run("doctor changes nothing, and says what a start would do", func(t *testing.T) {
			d := deploy(t, engine)
			says := func(code int, want ...string) {
				t.Helper()
				r := d.run(t, "doctor")
				for _, w := range want {
					if r.code != code || !strings.Contains(r.stdout, w) {
						t.Errorf("ended with %d: %s%s\nwant %q", r.code, r.stdout, r.stderr, w)
					}
				}
			}
			says(0, "none yet: serve makes "+d.data, "no key file yet: serve makes "+d.keyFile())
			if engine == postgres {
				says(0, "migrations pending")
			} else {
				says(0, "database       none yet")
			}
			if _, err := os.Stat(d.data); !os.IsNotExist(err) {
				t.Errorf("there is a data directory: %v", err)
			}
			d.must(t, "migrate")
			files := func() string { return fmt.Sprint(os.ReadDir(d.data)) }
			previous := files()
			says(0, "schema up to date", "none yet: ", "opens what the database holds")
			d.sql(t, `UPDATE goose_db_version SET is_applied = false WHERE version_id = (SELECT MAX(version_id)
				FROM goose_db_version)`)
			says(0, "1 migration pending, to be applied by serve or migrate")
			d.sql(t, `UPDATE goose_db_version SET is_applied = true`)
			if next := files(); next != previous {
				t.Errorf("before there was %s\nafter %s", previous, next)
			}
			require.NoError(t, os.Remove(d.keyFile()))
			says(1, "FAILED  keyring        the key file "+d.keyFile()+" is missing")
			if _, err := os.Stat(d.keyFile()); !os.IsNotExist(err) {
				t.Errorf("there is a key file: %v", err)
			}
		})
		t.Run("doctor reports an unusable key file as a fault of the keyring, not of the database", func(t *testing.T) {
			d := deploy(t, engine)
			d.must(t, "migrate")
			require.NoError(t, os.Chmod(d.keyFile(), 0o640))
			if r := d.run(t, "doctor"); r.code != 1 || !strings.Contains(r.stdout, "FAILED  keyring        key file") ||
				!strings.Contains(r.stdout, "ok      database") {
				t.Errorf("ended with %d: %s", r.code, r.stdout)
			}
		})
		t.Run("doctor and the start warn of a plan that gives less than no plan", func(t *testing.T) {
			d := deploy(t, engine, configured(`
orgs: [{slug: default, payments: {gateway: sandbox, plans: [
  {id: small, name: Small, price: {amount: 900, currency: usd}, interval: month, limits: {members: 1}}]}}]`))
			const want = "the plan small of the org default limits members to 1"
			if r := d.run(t, "doctor"); r.code != 0 || !strings.Contains(r.stdout, "WARNING plans          "+want) {
				t.Errorf("ended with %d: %s%s", r.code, r.stdout, r.stderr)
			}
			assert.Contains(t, "the start does not warn", d.start(t).stderr.String(), want)
		})
		t.Run("doctor names what is wrong", func(t *testing.T) {
			for want, d := range map[string]*deployment{
				"server.request_timeout": deploy(t, engine, set("server.request_timeout", "never")),
				"database": deploy(t, engine,
					set("database.url", "postgres://nobody@127.0.0.1:1/x?sslmode=disable")),
			} {
				if r := d.run(t, "doctor"); r.code != 1 || !strings.Contains(r.stdout, "FAILED") ||
					!strings.Contains(r.stdout, want) {
					t.Errorf("ended with %d: %s%s", r.code, r.stdout, r.stderr)
				}
			}
			open := deploy(t, engine)
			require.NoError(t, os.Mkdir(open.data, 0o755))
			if r := open.run(t, "doctor"); r.code != 1 || !strings.Contains(r.stdout, "chmod 700") {
				t.Errorf("ended with %d: %s%s", r.code, r.stdout, r.stderr)
			}
		})
		if engine == postgres {
			t.Run("doctor compares the pools with what PostgreSQL allows", func(t *testing.T) {
				found := regexp.MustCompile(`(?m)^ok      connections    PostgreSQL allows \d+ \(.*\); each node opens at ` +
					`most 22, which is room for \d+ nodes?; running now: 1$`)
				soon(t, func() string { return fmt.Sprint(found.MatchString(s.must(t, "doctor"))) }, "true")
				wide := *s.deployment
				wide.env = slices.Clone(wide.env)
				set("database.max_conns", "1000")(&wide)
				if out := wide.must(t, "doctor"); !strings.Contains(out, "WARNING connections") ||
					!strings.Contains(out, "lower database.max_conns") {
					t.Errorf("doctor says:\n%s", out)
				}
			})
		}
		t.Run("healthcheck exits with 0 while the server is ready, and with 1 afterwards", func(t *testing.T) {
			assert.Equal(t, "it wrote", s.must(t, "healthcheck", "--url", s.url+"/"), "ready\n")
			s.stop(t)
			if r := s.run(t, "healthcheck", "--url", s.url); r.code != 1 {
				t.Errorf("ended with %d: %s", r.code, r.stderr)
			}
		})
	})
}
