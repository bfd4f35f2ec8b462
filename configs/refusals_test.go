package configs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/test/support/require"
)

// canary is a secret that no error may quote.
const canary = "c4n4ry"

func TestTheFileIsRefused(t *testing.T) {
	const orgs = "orgs:\n  - slug: acme\n    hosts: [acme.test]\n"
	tests := map[string]struct{ yaml, want string }{
		"for a key that is unknown": {"data: x\nservers: 1",
			"atrium.yaml:2: servers: unknown key; known are base_domain, children, connections, data, "},
		"for such a key inside a section": {"log:\n  colour: red",
			"atrium.yaml:2: log.colour: unknown key; log has format, level"},
		"for such a key inside a list": {orgs + "    host: a.test",
			"atrium.yaml:4: orgs[0].host: unknown key; orgs[0] has accept_url, api_keys, base_url, "},
		"for a key in a Go field's spelling":  {"Data: x", "atrium.yaml:1: Data: unknown key"},
		"for a dotted key":                    {"log.level: info", "atrium.yaml:1: log.level: unknown key"},
		"for a key given twice":               {"data: x\ndata: y", "atrium.yaml:2: data: is given twice"},
		"for a value where a section belongs": {"server: 8080", "atrium.yaml:1: server: must be a section of keys"},
		"for a section where a value belongs": {"data: {a: b}", "atrium.yaml:1: data: must be a single value"},
		"for a value where a list belongs":    {"orgs: acme", "atrium.yaml:1: orgs: must be a list"},
		"for a list that is no configuration": {"- data", "atrium.yaml:1: must be a section of keys"},
		"for a key without a value":           {"data:", "atrium.yaml:1: data: has no value"},
		"for a number where text belongs":     {"data: 7", "atrium.yaml:1: data: must be a text"},
		"for text where a number belongs":     {"database: {max_conns: '7'}", "atrium.yaml:1: database.max_conns: must be a whole number"},
		"for a fraction":                      {"database: {max_conns: 1.5}", "atrium.yaml:1: database.max_conns: must be a whole number"},
		"for a number beyond an integer":      {"database: {max_conns: 99999999999999999999}", "atrium.yaml:1: database.max_conns: must be a whole number"},
		"for a duration without a unit":       {"events: {retention: 400}", "atrium.yaml:1: events.retention: must be a duration"},
		"for a truth value in words":          {"orgs: [{slug: a, personal_workspaces: 'yes'}]", "atrium.yaml:1: orgs[0].personal_workspaces: must be true or false"},
		"for a level that is unknown":         {"log: {level: INFO+2}", "atrium.yaml:1: log.level: must be debug, info, warn or error"},
		"for a network that is none":          {"server:\n  trusted_proxies:\n    - 10.0.0.0/8\n    - proxy.local", "atrium.yaml:4: server.trusted_proxies[1]: must be an IP address"},
		"for an alias":                        {"data: &d x\nbase_domain: *d", "atrium.yaml:2: base_domain: aliases are not supported"},
		"for a second document":               {"data: x\n---\ndata: y", "atrium.yaml: holds more than one document"},
		"for a syntax error":                  {"data: x\n  y: [", "atrium.yaml: line 2: "},

		"for an address without a port": {"server: {addr: localhost}", "server.addr: must be host:port"},
		"for a port that is none":       {"metrics: {addr: ':65536'}", "metrics.addr: must be host:port"},
		"for a timeout of nothing":      {"server: {idle_timeout: 0s}", "server.idle_timeout: must be 1s to 1h"},
		"for a negative timeout":        {"server: {idle_timeout: -5s}", "server.idle_timeout: must be 1s to 1h"},
		"for answers cut off before timeouts": {"server: {request_timeout: 35s}",
			"server.write_timeout: must be longer than server.request_timeout"},
		"for a warehouse that may take for ever": {"orgs: [{slug: a, warehouse_timeouts: {total: 3m}}]",
			"orgs[0].warehouse_timeouts.total: must be 1s to 2m"},
		"for a locale that is unknown": {"orgs: [{slug: a, sheet_locale: de}]", "orgs[0].sheet_locale: must be one of cs-CZ, "},
		"for a statement without time": {"orgs: [{slug: a, warehouse_timeouts: {statement: 1ms}}]",
			"orgs[0].warehouse_timeouts.statement: must be 1s to 1m"},
		"for a rate of nothing": {"server: {rate_limit: {burst: 0}}",
			"server.rate_limit.burst: must be 1 to 1000000"},
		"for no connections": {"database: {max_conns: 0}", "database.max_conns: must be 1 to 1000"},
		"for a database that is unknown": {"database: {url: 'mysql://db'}",
			"database.url: must begin with sqlite: or postgres://"},
		"for sqlite without a file": {"database: {url: 'sqlite:'}", "database.url: names no file"},
		"for synchronous of PostgreSQL": {"database: {url: 'postgres://db/a', synchronous: normal}",
			"database.synchronous: is SQLite's alone"},
		"for a pragma that is unknown": {"database: {synchronous: 'off'}",
			"database.synchronous: must be full or normal"},
		"for a Redis that is none": {"database: {url: 'postgres://db/a'}\nredis: {url: 'http://cache'}",
			"redis.url: must be redis://"},
		"for a Redis beside SQLite": {"redis: {url: 'redis://cache'}",
			"redis.url: is for nodes that share a PostgreSQL"},
		"for a log format that is unknown": {"log: {format: xml}", "log.format: must be text or json"},
		"for events that are not kept":     {"events: {retention: 1h}", "events.retention: must be 1d to 3650d"},
		"for centuries of events":          {"events: {retention: 40000d}", "events.retention: must be a duration"},
		"for no data directory":            {"data: ''", "data: must name a directory"},

		"for a base domain with a scheme": {"base_domain: 'https://example.com'", "base_domain: must be a domain"},
		"for a label longer than DNS takes": {"base_domain: " + strings.Repeat("a", 64) + ".example.com",
			"base_domain: must be a domain"},
		"for an org without a slug":        {"orgs: [{name: Acme}]", "atrium.yaml:1: orgs[0].slug: must be 1 to 63"},
		"for a slug with an underscore":    {"orgs: [{slug: a_b}]", "orgs[0].slug: must be"},
		"for a slug that ends in a hyphen": {"orgs: [{slug: a-}]", "orgs[0].slug: must be"},
		"for a slug longer than a DNS label": {"orgs: [{slug: a" + strings.Repeat("-a", 32) + "}]",
			"orgs[0].slug: must be"},
		"for a slug in use": {orgs + "  - {slug: acme, hosts: [b.test]}",
			"atrium.yaml:4: orgs[1].slug: is the same as orgs[0].slug"},
		"for a host in use, in other letters": {orgs + "  - {slug: b, hosts: [b.test, ACME.test]}",
			"atrium.yaml:4: orgs[1].hosts[1]: is the same as orgs[0].hosts[0]"},
		"for a host that another slug implies": {"base_domain: test\norgs: [{slug: b, hosts: [acme.test]}, {slug: " +
			"acme}]",
			"orgs[0].hosts[0]: is the same as orgs[1].slug"},
		"for a host with a port": {"orgs: [{slug: a, hosts: ['a.test:80']}]",
			"orgs[0].hosts[0]: must be a host name"},
		"for a host with a scheme": {"orgs: [{slug: a, hosts: ['https://a.test']}]",
			"orgs[0].hosts[0]: must be a host name"},
		"for a host that looks like a number": {"orgs: [{slug: a, hosts: ['127.1']}]",
			"orgs[0].hosts[0]: must be a host name"},
		"for an org that no host leads to": {orgs + "  - {slug: b}",
			"atrium.yaml:4: orgs[1].hosts: must list a host"},
		"for a base URL without a host": {"orgs: [{slug: a, base_url: /atrium}]",
			"orgs[0].base_url: must be an absolute"},
		"for a base URL with a password": {"orgs: [{slug: a, base_url: 'https://u:p@a.test'}]",
			"orgs[0].base_url: must be an absolute"},
		"for an issuer without TLS": {"orgs: [{slug: a, issuers: [{url: 'http://login.test', " +
			"audiences: [x]}]}]", "orgs[0].issuers[0].url: must be an https URL"},
		"for an issuer named twice": {
			"orgs: [{slug: a, issuers: [{url: 'https://b.test', audiences: [x]}, {url: 'https://b.test', audiences: " +
				"[y]}]}]", "orgs[0].issuers[1].url: is the same as orgs[0].issuers[0].url"},
		"for an issuer without an audience": {"orgs: [{slug: a, issuers: [{url: 'https://b.test'}]}]",
			"orgs[0].issuers[0].audiences: must list at least one"},
		"for a rule that grants nothing": {"orgs: [{slug: a, claim_rules: [{claim: groups, value: x}]}]",
			"orgs[0].claim_rules[0].workspace: must be set"},
		"for a rule with an unknown role": {"orgs: [{slug: a, claim_rules: [{claim: groups, value: x, " +
			"workspace: w, role: boss}]}]", "orgs[0].claim_rules[0].role: must be viewer"},
		"for a rule without a claim": {"orgs: [{slug: a, claim_rules: [{value: x, operator: true}]}]",
			"orgs[0].claim_rules[0].claim: must name"},
		"for a rule without a value": {"orgs: [{slug: a, claim_rules: [{claim: x, operator: true}]}]",
			"orgs[0].claim_rules[0].value: must not be empty"},
		"for a default beyond the longest lifetime of keys": {
			"orgs: [{slug: a, api_keys: {max_lifetime: 1d, default_lifetime: 2d}}]",
			"orgs[0].api_keys.default_lifetime: must not be longer than max_lifetime"},
		"for a contact that is no URI": {"server: {security_txt: {contacts: [security@example.com]}}",
			"server.security_txt.contacts[0]: must be a URI that begins with mailto:, https: or tel:"},
		"for a policy without contacts": {"server: {security_txt: {policy: 'https://example.com/policy'}}",
			"server.security_txt.policy: must be empty without contacts"},
		"for a public key that is none": {"server: {leaked_keys: {public_keys: [{id: a, pem: x}]}}",
			"server.leaked_keys.public_keys[0].pem: must be a public key for ECDSA in PEM"},
		"for keys that live too short": {"orgs: [{slug: a, api_keys: {max_lifetime: 59m}}]",
			"orgs[0].api_keys.max_lifetime: must be 1h to 3650d"},
		"for no personal keys without an issuer": {"orgs: [{slug: a, api_keys: {personal: false}}]",
			"orgs[0].api_keys.personal: must be true where no issuer"},
		"for personal keys in words": {"orgs: [{slug: a, api_keys: {personal: 'no'}}]",
			"orgs[0].api_keys.personal: must be true or false"},
		"for sessions that end at once": {"orgs: [{slug: a, sessions: {idle: 1m}}]",
			"orgs[0].sessions.idle: must be 5m to 12h"},
		"for sessions that last too long": {"orgs: [{slug: a, sessions: {lifetime: 8d}}]",
			"orgs[0].sessions.lifetime: must be 1h to 7d"},
		"for a passkey of an unknown role": {"orgs: [{slug: a, sessions: {require_passkey: boss}}]",
			"orgs[0].sessions.require_passkey: must be viewer, member, admin or owner"},
		"for a passkey that no browser allows": {
			"orgs: [{slug: a, base_url: 'https://192.0.2.1', sessions: {require_passkey: owner}}]",
			"orgs[0].sessions.require_passkey: must be empty: no one could meet it"},
		"for a passkey without https": {
			"orgs: [{slug: a, base_url: 'http://a.test', sessions: {require_passkey: owner}}]",
			"orgs[0].sessions.require_passkey: must be empty: no one could meet it"},
		"for a second factor without a value": {"orgs: [{slug: a, issuers: [{url: 'https://b.test', " +
			"audiences: [x], second_factor: [{claim: amr}]}]}]",
			"orgs[0].issuers[0].second_factor[0]: must name a claim and a value"},
		"for a sign-in that is never recent enough": {"orgs: [{slug: a, issuers: [{url: 'https://b.test', " +
			"audiences: [x], client: {id: c, max_age: 1s}}]}]", "orgs[0].issuers[0].client.max_age: must be 1m to 7d"},
		"for a context with a space": {"orgs: [{slug: a, issuers: [{url: 'https://b.test', audiences: [x], " +
			"client: {id: c, acr_values: ['a b']}}]}]", "orgs[0].issuers[0].client.acr_values[0]: must be one value"},
		"for an age of sign-ins without a client": {"orgs: [{slug: a, issuers: [{url: 'https://b.test', " +
			"audiences: [x], client: {max_age: 1h}}]}]", "orgs[0].issuers[0].client.id: must be the id"},
		"for an accept URL without its token": {"orgs: [{slug: a, accept_url: 'https://a.test/join'}]",
			"orgs[0].accept_url: must be an absolute"},
		"for mail without TLS elsewhere": {"mail: {smtp: {addr: 'mail.test:25', from: a@b.test, tls: " +
			"none}}\norgs: [{slug: a, base_url: 'https://a.test'}]", "mail.smtp.tls: must be starttls or implicit"},
		"for a base URL with a query": {"orgs: [{slug: a, base_url: 'https://a.test?x=1'}]",
			"orgs[0].base_url: must be an absolute"},
		"for a registry item without an id": {"orgs: [{slug: a, registry: {agents: [{name: x}]}}]",
			"atrium.yaml:1: orgs[0].registry.agents[0].id: must have 1 to 64"},
		"for a registry item of another kind": {
			"orgs: [{slug: a, registry: {workflows: [{id: a, config_schema: {}}]}}]",
			"orgs[0].registry.workflows[0].config_schema: unknown key"},
		"for a registry item twice": {"orgs: [{slug: a, registry: {tools: [{id: a}, {id: a}]}}]",
			"orgs[0].registry.tools[1].id: is the same"},
		"for a registry item's unknown status": {"orgs: [{slug: a, registry: {tools: [{id: a, status: new}]}}]",
			"orgs[0].registry.tools[0].status: must be available"},
		"for unknown effects": {"orgs: [{slug: a, registry: {tools: [{id: a, effects: all}]}}]",
			"orgs[0].registry.tools[0].effects: must be read"},
		"for requiring an item that is not offered": {"orgs: [{slug: a, registry: {tools: [{id: a, requires: [b]}]}}]",
			"orgs[0].registry.tools[0].requires: must name"},
		"for a schema that is none": {"orgs:\n  - slug: a\n    registry:\n      tools:\n        - " +
			"id: a\n          config_schema: {type: x}",
			"atrium.yaml:6: orgs[0].registry.tools[0].config_schema: is no JSON Schema"},
		"for a schema that is elsewhere": {"orgs: [{slug: a, registry: {tools: [{id: a, config_schema: " +
			"{$ref: 'https://a.test/schema'}}]}}]", "orgs[0].registry.tools[0].config_schema: is no JSON Schema"},
		"for a schema that JSON cannot express": {"orgs: [{slug: a, registry: {tools: [{id: a, config_schema: " +
			"{1: x}}]}}]", "orgs[0].registry.tools[0].config_schema: must be what JSON can express"},
		"for a rate of no probes": {"connections: {probe_limits: {workspace_per_minute: 0}}",
			"connections.probe_limits.workspace_per_minute: must be 1 to 10000"},
		"for none at a target": {"connections: {probe_limits: {target_per_hour: 10001}}",
			"connections.probe_limits.target_per_hour: must be 1 to 10000"},
		"for a rate of no previews": {"connections: {preview_limits: {workspace_per_minute: 0}}",
			"connections.preview_limits.workspace_per_minute: must be 1 to 100000"},
		"for no previews of a host": {"connections: {preview_limits: {target_per_hour: 100001}}",
			"connections.preview_limits.target_per_hour: must be 1 to 100000"},
		"for a refresh that waits too long": {"connections: {refresh_interval: 2h}",
			"connections.refresh_interval: must be 0s to 1h"},
		"for a kind that is unknown": {"orgs: [{slug: a, connection_kinds: [postgres, oracle]}]",
			"orgs[0].connection_kinds[1]: must be"},
		"for a kind named twice": {"orgs: [{slug: a, connection_kinds: [postgres, postgres]}]",
			"orgs[0].connection_kinds[1]: is the same as orgs[0].connection_kinds[0]"},
		"for sqlite where there are two orgs": {
			"orgs: [{slug: a, hosts: [a.test], connection_kinds: [sqlite]}, {slug: b, hosts: [b.test]}]",
			"orgs[0].connection_kinds[0]: must not be sqlite"},
		"for sqlite beside PostgreSQL": {"database: {url: 'postgres://db/a'}\norgs: [{slug: a, " +
			"connection_kinds: [sqlite]}]", "orgs[0].connection_kinds[0]: must not be sqlite"},
		"for a type of source without fields": {"orgs: [{slug: a, source_types: [{type: x, title: X}]}]",
			"orgs[0].source_types[0].fields: must be 1 to 200 fields"},
		"for a field of an unknown type": {"orgs: [{slug: a, source_types: [{type: x, title: X, fields: " +
			"[{key: k, title: K, type: mail}]}]}]", "orgs[0].source_types[0].fields[0].type: must be one of"},
		"for a field of an unknown key": {"orgs: [{slug: a, source_types: [{type: x, title: X, fields: " +
			"[{key: k, title: K, type: string, uniq: true}]}]}]",
			"orgs[0].source_types[0].fields[0].uniq: unknown key"},
		"for a network that connections cannot name": {"orgs: [{slug: a, egress: {allow: [localhost]}}]",
			"orgs[0].egress.allow[0]: must be an IP address"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := configs.Load(configs.Source{File: inFile(t, tt.yaml)})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error = %v\nwant … %s …", err, tt.want)
			}
			if n := strings.Count(err.Error(), "\n") + 1; n != 1 {
				t.Errorf("%d problems, want 1:\n%v", n, err)
			}
		})
	}

	t.Run("when it is not there", func(t *testing.T) {
		missing := filepath.Join(t.TempDir(), "atrium.yaml")
		if _, err := configs.Load(configs.Source{File: missing}); err == nil ||
			!strings.Contains(err.Error(), missing+": cannot be read: no such file") {
			t.Errorf("error = %v", err)
		}
	})
}

func TestCORSOrigins(t *testing.T) {
	for origin, ok := range map[string]bool{
		"https://app.example.com": true, "https://app.example.com:8443": true, "https://192.0.2.1": true,
		"https://[2001:db8::1]:8443": true,
		"http://localhost":           true, "http://localhost:3000": true, "http://127.0.0.1:3000": true,
		"http://[::1]:3000":      true,
		"http://app.example.com": false, "http://localhost.evil.test": false, "https://app.example.com/": false,
		"https://app.example.com:443": false, "http://localhost:80": false, "https://App.example.com": false,
		"https://*.example.com":     false,
		"https://u@app.example.com": false, "https://app.example.com?": false, "https://app.example.com:": false,
		"https://": false,
		"*":        false, "null": false, "app.example.com": false, "": false,
	} {
		name := origin + " is refused"
		if ok {
			name = origin + " is accepted"
		}
		t.Run(name, func(t *testing.T) {
			_, err := configs.Load(configs.Source{File: inFile(t, "orgs: [{slug: a, cors_origins: ['"+origin+"']}]")})
			if ok != (err == nil) ||
				(err != nil && !strings.Contains(err.Error(), "orgs[0].cors_origins[0]: must be exactly")) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestVariablesOfOtherProgramsAreNotSettings(t *testing.T) {
	foreign := []string{
		"ATRIUM_URL=http://127.0.0.1:8080", "ATRIUM_KEY=atk_x", "ATRIUM_WEBHOOK_SECRET=whsec_x", "ATRIUM_VERSION=0.1.0",
		"ATRIUM_RELEASES=https://example.com", "ATRIUM_CLIENT_LOG=debug",
		"ATRIUM_SERVICE_HOST=10.0.0.1", "ATRIUM_SERVICE_PORT=80", "ATRIUM_SERVICE_PORT_HTTP=80",
		"ATRIUM_PORT=tcp://10.0.0.1:80", "ATRIUM_PORT_80_TCP=tcp://10.0.0.1:80", "ATRIUM_PORT_80_TCP_PROTO=tcp",
		"ATRIUM_PORT_80_TCP_PORT=80", "ATRIUM_PORT_80_TCP_ADDR=10.0.0.1", "ATRIUM_SERVER_SERVICE_HOST=10.0.0.1",
		"ATRIUM_SERVER_PORT=tcp://10.0.0.1:80",
	}
	_, err := configs.Load(configs.Source{Environ: append(foreign, "ATRIUM_COLOUR=blue", "HOME=/root")})
	require.NoError(t, err)
	if got := configs.Ignored(append(foreign, "ATRIUM_COLOUR=blue", "ATRIUM_DATA=/srv")); !slices.Equal(got,
		[]string{"ATRIUM_COLOUR"}) {
		t.Errorf("a warning is about %v", got)
	}
}

func TestVariablesAndFlagsAreRefused(t *testing.T) {
	tests := map[string]struct {
		environ string
		flag    [2]string
		want    string
	}{
		"for a name that is not a key": {environ: "ATRIUM_SERVER_ADRR=:1",
			want: "ATRIUM_SERVER_ADRR: unknown variable: did you mean ATRIUM_SERVER_ADDR?"},
		"for a name that lacks its underscore": {environ: "ATRIUM_LOGLEVEL=debug",
			want: "ATRIUM_LOGLEVEL: unknown variable: did you mean ATRIUM_LOG_LEVEL?"},
		"for a name that no setting of the section has": {environ: "ATRIUM_DATABASE_PASSWORD=x",
			want: "ATRIUM_DATABASE_PASSWORD: unknown variable: did you mean ATRIUM_DATABASE_"},
		"for the name of a section": {environ: "ATRIUM_SERVER=:1",
			want: "ATRIUM_SERVER: unknown variable"},
		"for a list": {environ: "ATRIUM_SERVER_TRUSTED_PROXIES=10.0.0.0/8",
			want: "ATRIUM_SERVER_TRUSTED_PROXIES: server.trusted_proxies: is a list, which only the file can set"},
		"for a list of sections": {environ: "ATRIUM_ORGS=acme",
			want: "ATRIUM_ORGS: orgs: is a list, which only the file can set"},
		"for text where a number belongs": {environ: "ATRIUM_DATABASE_MAX_CONNS=many",
			want: "ATRIUM_DATABASE_MAX_CONNS: database.max_conns: must be a whole number"},
		"for nothing where a number belongs": {environ: "ATRIUM_DATABASE_MAX_CONNS=",
			want: "ATRIUM_DATABASE_MAX_CONNS: database.max_conns: must be a whole number"},
		"for a value out of range": {environ: "ATRIUM_SERVER_IDLE_TIMEOUT=0s",
			want: "ATRIUM_SERVER_IDLE_TIMEOUT: server.idle_timeout: must be 1s to 1h"},
		"for a secret's file that is missing": {environ: "ATRIUM_KEYRING_KEYSET_FILE=/nonexistent",
			want: "ATRIUM_KEYRING_KEYSET_FILE: keyring.keyset: the file cannot be read: no such file"},
		"for a file of a key that is not secret": {environ: "ATRIUM_DATA_FILE=/x",
			want: "ATRIUM_DATA_FILE: unknown variable"},
		"for a flag that is not a key": {flag: [2]string{"server.adrr", ":1"},
			want: "flag: server.adrr: unknown key"},
		"for a flag of the wrong type": {flag: [2]string{"database.max_conns", "many"},
			want: "flag: database.max_conns: must be a whole number"},
		"for a flag that is out of range": {flag: [2]string{"server.addr", "here"},
			want: "flag: server.addr: must be host:port"},
		"for a flag that would have to be list": {flag: [2]string{"orgs", "acme"}, want: "flag: orgs: is a list"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := configs.Source{Environ: []string{tt.environ}}
			if tt.flag[0] != "" {
				s.Flags = map[string]string{tt.flag[0]: tt.flag[1]}
			}
			_, err := configs.Load(s)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error = %v\nwant %s …, and no other line", err, tt.want)
			}
		})
	}

	t.Run("for a secret given twice", func(t *testing.T) {
		_, err := configs.Load(configs.Source{Environ: []string{"ATRIUM_KEYRING_KEYSET_FILE=" + inFile(t, "{}"),
			"ATRIUM_KEYRING_KEYSET={}"}})
		if err == nil || err.Error() != "ATRIUM_KEYRING_KEYSET_FILE: keyring.keyset: is given by "+
			"ATRIUM_KEYRING_KEYSET too" {
			t.Errorf("error = %v", err)
		}
	})
}

func TestProblems(t *testing.T) {
	t.Run("all are told at once, in the same order each time", func(t *testing.T) {
		s := configs.Source{
			File: inFile(t, "colour: red\nserver:\n  addr: 8080\n  idle_timeout: 0s\ndatabase: {max_conns: 0, "+
				"statement_timeout: 1}\norgs:\n  - slug: A\n  - 7\n"),
			Environ: []string{"ATRIUM_SERVER_ADRR=:1", "ATRIUM_LOG_LEVEL=loud"},
			Flags:   map[string]string{"log.colour": "red"},
		}
		for range 20 {
			_, err := configs.Load(s)
			if err == nil {
				t.Fatal("no error")
			}
			var got []string
			for line := range strings.Lines(strings.ReplaceAll(err.Error(), s.File, "file")) {
				place, _, _ := strings.Cut(line, ": must")
				place, _, _ = strings.Cut(place, ": unknown")
				got = append(got, place)
			}
			want := "file:1: colour|file:8: orgs[1]|ATRIUM_SERVER_ADRR|flag: log.colour|file:5: " +
				"database.statement_timeout|ATRIUM_LOG_LEVEL: log.level|" +
				"file:3: server.addr|file:4: server.idle_timeout|file:5: database.max_conns|file:7: " +
				"orgs[0].slug|file:7: orgs[0].hosts"
			if strings.Join(got, "|") != want {
				t.Fatalf("got  %s\nwant %s\n%v", strings.Join(got, "|"), want, err)
			}
		}
	})

	t.Run("no error quotes a value", func(t *testing.T) {
		for _, yaml := range []string{
			"keyring: {keyset: {key: " + canary + "}}", "keyring: {keyset: [" + canary + "]}",
			"keyring: {keyset: *" + canary + "}",
			"keyring: {keyset: !" + canary + " x}", "keyring: " + canary, "keyring: {keyset: \"" + canary + "\n",
			"database: {url: " + canary + "}",
			"database: {url: 'postgres://u:" + canary + "%zz@db'}", "database: {url: 'postgres://u:" + canary +
				"@db:port/a'}",
			"database: {max_conns: " + canary + "}", "log: {level: " + canary + "}", "data: x\n" + canary,
			"keyring:\n  keyset:\t" + canary + ": x: y",
		} {
			s := configs.Source{File: inFile(t, yaml)}
			if _, err := configs.Load(s); err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("%q: %v", yaml, err)
			}
		}
		_, err := configs.Load(configs.Source{
			Environ: []string{"ATRIUM_DATABASE_URL=" + canary, "ATRIUM_SERVER_ADDR=" + canary,
				"ATRIUM_SECRET=" + canary},
			Flags: map[string]string{"events.retention": canary},
		})
		if err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("error = %v", err)
		}
	})
}
