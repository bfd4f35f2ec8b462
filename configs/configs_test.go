package configs_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// equal compares configurations by their values, secrets too.
var equal = cmp.Options{
	cmp.Comparer(func(a, b secret.String) bool { return a.Reveal() == b.Reveal() }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

// inFile writes a configuration file and returns its path.
func inFile(t *testing.T, yaml string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "atrium.yaml")
	require.NoError(t, os.WriteFile(path, []byte(yaml), 0o600))
	return path
}

func parse(t *testing.T, s configs.Source) configs.Config {
	t.Helper()
	c, err := configs.Load(s)
	require.NoError(t, err)
	return c
}

func TestLoad(t *testing.T) {
	t.Run("no configuration at all is the embedded default", func(t *testing.T) {
		c := parse(t, configs.Source{})
		if c.Server.Addr != "127.0.0.1:8080" || c.Database.URL.Reveal() != "sqlite:atrium-data/atrium.db" ||
			c.Keyring.KeyFile != "atrium-data/keyring.json" {
			t.Errorf("addr %s, database %s, key file %s", c.Server.Addr, c.Database.URL.Reveal(), c.Keyring.KeyFile)
		}
		if len(c.Orgs) != 1 || c.Orgs[0].Slug != "default" || len(c.Orgs[0].Hosts) != 0 {
			t.Errorf("orgs = %+v, want only default, without hosts", c.Orgs)
		}
		if n := c.Server.Concurrency.PerWorkspace; 4*n > c.Database.MaxConns {
			t.Errorf("%d requests of a workspace take more than a quarter of %d connections", n, c.Database.MaxConns)
		}
	})

	t.Run("what the defaults derive from the data directory moves with it", func(t *testing.T) {
		c := parse(t, configs.Source{Data: "/var/lib/atrium", Environ: []string{"ATRIUM_DATA=/elsewhere"}})
		if c.Data != "/var/lib/atrium" || c.Database.URL.Reveal() != "sqlite:/var/lib/atrium/atrium.db" ||
			c.Keyring.KeyFile != "/var/lib/atrium/keyring.json" {
			t.Errorf("data %s, database %s, key file %s", c.Data, c.Database.URL.Reveal(), c.Keyring.KeyFile)
		}
	})

	t.Run("the environment overrides the file, and flags override both", func(t *testing.T) {
		c := parse(t, configs.Source{
			File:    inFile(t, "server: {addr: ':1', read_timeout: 11s, idle_timeout: 21s, write_timeout: 41s}"),
			Environ: []string{"ATRIUM_SERVER_READ_TIMEOUT=12s", "ATRIUM_SERVER_IDLE_TIMEOUT=22s", "PATH=/bin"},
			Flags:   map[string]string{"server.idle_timeout": "23s"},
		})
		want := [...]any{":1", 12 * time.Second, 23 * time.Second, 41 * time.Second, 30 * time.Second}
		got := [...]any{c.Server.Addr, c.Server.ReadTimeout, c.Server.IdleTimeout, c.Server.WriteTimeout,
			c.Server.RequestTimeout}
		if got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})

	t.Run("a variable can give every kind of value", func(t *testing.T) {
		c := parse(t, configs.Source{Environ: []string{
			"ATRIUM_DATABASE_URL=postgres://atrium:p%23w@db/atrium?x=a=b", "ATRIUM_DATABASE_MAX_CONNS=7",
			"ATRIUM_EVENTS_RETENTION=30d12h", "ATRIUM_LOG_LEVEL=debug", "ATRIUM_KEYRING_KEYSET={}",
			"ATRIUM_BASE_DOMAIN=Example.COM",
		}})
		if c.Database.URL.Reveal() != "postgres://atrium:p%23w@db/atrium?x=a=b" || c.Database.MaxConns != 7 ||
			c.Events.Retention != 732*time.Hour || c.Log.Level != slog.LevelDebug ||
			c.Keyring.Keyset.Reveal() != "{}" || c.BaseDomain != "example.com" {
			t.Errorf("got %+v", c)
		}
	})

	t.Run("ATRIUM_CONFIG names the file, unless a flag did", func(t *testing.T) {
		env := []string{"ATRIUM_CONFIG=" + inFile(t, "data: ./from-variable")}
		if c := parse(t, configs.Source{Environ: env}); c.Data != "./from-variable" {
			t.Errorf("data = %s", c.Data)
		}
		if c := parse(t, configs.Source{Environ: env, File: inFile(t, "data: ./from-flag")}); c.Data != "./from-flag" {
			t.Errorf("data = %s", c.Data)
		}
	})

	t.Run("a secret may lie in a file of its own, without its last line break", func(t *testing.T) {
		c := parse(t, configs.Source{Environ: []string{
			"ATRIUM_KEYRING_KEYSET_FILE=" + inFile(t, "{\"key\": []}\n"),
			"ATRIUM_DATABASE_URL_FILE=" + inFile(t, "postgres://db/atrium\r\n"),
		}})
		if c.Keyring.Keyset.Reveal() != `{"key": []}` || c.Database.URL.Reveal() != "postgres://db/atrium" {
			t.Errorf("keyset %q, database %q", c.Keyring.Keyset.Reveal(), c.Database.URL.Reveal())
		}
	})

	t.Run("no secret is printed with its configuration", func(t *testing.T) {
		c := parse(t, configs.Source{Environ: []string{
			"ATRIUM_KEYRING_KEYSET=" + canary, "ATRIUM_DATABASE_URL=postgres://atrium:" + canary + "@db/atrium",
			"ATRIUM_MAIL_SMTP_ADDR=smtp.test:587", "ATRIUM_MAIL_SMTP_FROM=a@b.test", "ATRIUM_MAIL_SMTP_USER=atrium",
			"ATRIUM_MAIL_SMTP_PASSWORD=" + canary,
		}})
		var printedText strings.Builder
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			fmt.Fprintf(&printedText, verb+"\n"+verb+"\n", c, &c.Database)
		}
		log := slog.New(slog.NewJSONHandler(&printedText, nil))
		log.Info("loaded", "config", c, "database", c.Database)
		slog.New(slog.NewTextHandler(&printedText, nil)).Info("loaded", "config", c, "database", c.Database)
		out, err := json.Marshal(c)
		if err != nil || strings.Contains(printedText.String()+string(out), canary) {
			t.Errorf("it was: %v, %s%s", err, printedText.String(), out)
		}
	})

	t.Run("lists and networks are read from the file", func(t *testing.T) {
		c := parse(t, configs.Source{File: inFile(t, `
server:
  trusted_proxies: [10.1.2.3/8, 192.0.2.7, "2001:db8::/32"]
orgs:
  - {slug: acme, hosts: [API.Acme.Example, "2001:DB8::1"], base_url: "https://acme.example/", cors_origins: ["https://acme.example:8443"], personal_workspaces: true}
  - slug: b2b
    name: "Business"
    hosts: [b2b.example]
`)})
		wantProxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"),
			netip.MustParsePrefix("2001:db8::/32")}
		assert.NoDiff(t, "trusted proxies", cmp.Diff(wantProxies, c.Server.TrustedProxies, equal))
		rows := source.RowLimits{Rows: 1_000_000, Bytes: 256 << 20, Seconds: time.Minute}
		timeouts := connection.Timeouts{Connect: 5 * time.Second, Statement: 5 * time.Second, Total: 10 * time.Second}
		payments := configs.Payments{Trials: payment.TrialRules{WithoutCard: payment.CancelTrial},
			OnRefund: payment.KeepPlan, OnDispute: payment.KeepPlan}
		want := []configs.Org{
			{Slug: "acme", Name: "acme", Hosts: []string{"api.acme.example", "2001:db8::1"},
				BaseURL:     "https://acme.example",
				CORSOrigins: []string{"https://acme.example:8443"}, PersonalWorkspaces: true, SignUp: "invited",
				WorkspacesBy: "anyone", Quotas: quota.Default(), Rows: rows, WarehouseTimeouts: timeouts,
				Payments: payments,
				APIKeys:  configs.APIKeys{Personal: new(true)}, SecurityMails: new(true)},
			{Slug: "b2b", Name: "Business", Hosts: []string{"b2b.example"}, SignUp: "invited", WorkspacesBy: "anyone",
				Quotas: quota.Default(), Rows: rows, WarehouseTimeouts: timeouts, Payments: payments,
				APIKeys: configs.APIKeys{Personal: new(true)}, SecurityMails: new(true)},
		}
		assert.NoDiff(t, "orgs", cmp.Diff(want, c.Orgs, equal))
	})

	t.Run("an empty file, only a comment and an empty section are the defaults", func(t *testing.T) {
		for _, yaml := range []string{"", "# nothing yet\n", "server:\norgs:\n", "{}"} {
			if diff := cmp.Diff(parse(t, configs.Source{}), parse(t, configs.Source{File: inFile(t, yaml)}),
				equal); diff != "" {
				t.Errorf("%q (-want +got):\n%s", yaml, diff)
			}
		}
	})
}

func TestDirectory(t *testing.T) {
	c := parse(t, configs.Source{
		File: inFile(t, "base_domain: example.com\norgs: [{slug: acme, hosts: [acme.test, acme.example.com]}, {slug: "+
			"b2b}]")})
	d := c.Directory(func(slug string) identity.OrgID { return identity.OrgID("org_" + slug) })
	for host, want := range map[string]identity.OrgID{
		"acme.test:443": "org_acme", "ACME.example.com": "org_acme", "b2b.example.com": "org_b2b", "c3.example.com": "",
	} {
		t.Run(host+" leads to "+string(want), func(t *testing.T) {
			o, err := d.ByHost(host)
			if (err != nil) != (want == "") || (err == nil && o.ID != want) {
				t.Errorf("got %+v, %v", o, err)
			}
		})
	}
}

func TestLinksAreAbsolute(t *testing.T) {
	for yaml, want := range map[string]string{
		"":                                  "http://127.0.0.1:8080",
		"server: {addr: ':8080'}":           "http://localhost:8080",
		"server: {addr: '0.0.0.0:80'}":      "http://localhost:80",
		"server: {addr: '[::]:8080'}":       "http://localhost:8080",
		"server: {addr: '[::1]:8080'}":      "http://[::1]:8080",
		"server: {addr: 'atrium.lan:8080'}": "http://atrium.lan:8080",
		"orgs: [{slug: acme, hosts: [API.Acme.test, acme.test]}]":          "https://api.acme.test",
		"orgs: [{slug: acme, hosts: ['2001:DB8::1']}]":                     "https://[2001:db8::1]",
		"base_domain: Example.com\norgs: [{slug: acme}]":                   "https://acme.example.com",
		"base_domain: x.test\norgs: [{slug: acme, hosts: [acme.test]}]":    "https://acme.test",
		"orgs: [{slug: a, hosts: [b.test], base_url: 'http://c.test/d/'}]": "http://c.test/d",
		"mail: {smtp: {addr: 'mail.test:25', from: a@b.test}}":             "http://127.0.0.1:8080",
	} {
		t.Run(yaml+" makes "+want, func(t *testing.T) {
			orgs := parse(t, configs.Source{File: inFile(t, yaml)}).Directory(func(string) identity.OrgID {
				return "org_1"
			}).All()
			if len(orgs) != 1 || orgs[0].BaseURL != want {
				t.Errorf("got %+v", orgs)
			}
		})
	}
}
