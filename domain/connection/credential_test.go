package connection_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const canary = "c4n4ry"

func parse(t *testing.T, text string) connection.Credential {
	t.Helper()
	c, err := connection.ParseCredential(connection.Postgres, []byte(text))
	require.NoError(t, err)
	return c
}

const complete = `{"host":"db.example.com","port":6432,"database":"d","username":"u","password":"` + canary +
	`","tls":"require"}`

func TestParseCredential(t *testing.T) {
	t.Run("fields are read, and defaults filled in", func(t *testing.T) {
		c := parse(t, `{"host":"db.example.com","database":"d","username":"u"}`)
		if c.Kind() != connection.Postgres || c.Text("host") != "db.example.com" || c.Port() != 5432 ||
			c.TLSMode() != connection.VerifyFull || !c.Secret("password").IsZero() {
			t.Errorf("%+v", c)
		}
		c = parse(t, complete)
		if c.Port() != 6432 || c.TLSMode() != connection.Require || c.Secret("password").Reveal() != canary ||
			!slices.Equal(c.SecretsSet(), []string{"password"}) {
			t.Errorf("%+v", c)
		}
	})

	for name, tt := range map[string]struct{ text, want string }{
		"nothing":          {``, "/credential wrong_type"},
		"no JSON":          {`{"host":"` + canary, "/credential wrong_type"},
		"null":             {`null`, "/credential wrong_type"},
		"a list":           {`["` + canary + `"]`, "/credential wrong_type"},
		"something behind": {`{} {"host":"` + canary + `"}`, "/credential wrong_type"},
		"all that is missing": {`{}`, "/credential/database required, /credential/host required, " +
			"/credential/username required"},
		"an unknown field": {with(`"sslrootcert":"/etc/passwd"`), "/credential/sslrootcert unknown_field"},
		"a long unknown field": {with(`"` + strings.Repeat("x", 200) + `":1`),
			"/credential/" + strings.Repeat("x", 64) + "… unknown_field"},
		"a wrong type":           {with(`"port":"` + canary + `"`), "/credential/port wrong_type"},
		"null for a field":       {with(`"password":null`), "/credential/password wrong_type"},
		"a port out of range":    {with(`"port":65536`), "/credential/port out_of_range"},
		"a port with a fraction": {with(`"port":1.5`), "/credential/port wrong_type"},
		"a host with a path":     {with(`"host":"` + canary + `/x"`), "/credential/host invalid_pattern"},
		"a list of hosts":        {with(`"host":"a.example.com,` + canary + `"`), "/credential/host invalid_pattern"},
		"a socket":               {with(`"host":"/var/run"`), "/credential/host invalid_pattern"},
		"a URL with a path": {with(`"host":"postgres://u:` + canary + `@db.example.com/x"`),
			"/credential/host invalid_format"},
		"a host with no port after its colon": {with(`"host":"db.example.com:` + canary + `"`),
			"/credential/host invalid_format"},
		"a host with another port": {with(`"host":"db.example.com:6432","port":5432`), "/credential/host invalid_format"},
		"a host that is wrong beside other fields": {with(`"host":"db.example.com:x","port":"` + canary + `"`),
			"/credential/host invalid_format, /credential/port wrong_type"},
		"an empty password": {with(`"password":""`),
			"/credential/password invalid_pattern, /credential/password too_short"},
		"a NUL in the password":    {with(`"password":"` + canary + `\u0000"`), "/credential/password invalid_pattern"},
		"a line break in a name":   {with(`"username":"` + canary + `\n"`), "/credential/username invalid_pattern"},
		"a mode that there isn't":  {with(`"tls":"` + canary + `"`), "/credential/tls not_allowed_value"},
		"what is no certificate":   {with(`"tls_ca":"` + canary + `"`), "/credential/tls_ca invalid_format"},
		"a path for a certificate": {with(`"tls_ca":"/etc/ssl/` + canary + `"`), "/credential/tls_ca invalid_format"},
	} {
		t.Run(name+" is refused, and nothing of it is quoted", func(t *testing.T) {
			_, err := connection.ParseCredential(connection.Postgres, []byte(tt.text))
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || !errors.Is(err, fault.ErrInvalid) {
				t.Fatalf("error = %v", err)
			}
			var got []string
			for _, field := range f.Fields {
				got = append(got, field.Pointer+" "+field.Code)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("fields = %q, want %q", got, tt.want)
			}
			if text := fmt.Sprintf("%v %+v", err, f.Fields); strings.Contains(text, canary) {
				t.Errorf("it quotes what was submitted: %s", text)
			}
		})
	}

	for text, want := range map[string]string{
		" db.example.com\t":                "db.example.com 5432",
		"db.example.com:6432":              "db.example.com 6432",
		"https://db.example.com/":          "db.example.com 5432",
		"postgresql://db.example.com:6432": "db.example.com 6432",
		"[2001:db8::1]:6432":               "2001:db8::1 6432",
		"[2001:db8::1]":                    "2001:db8::1 5432",
		"2001:db8::1":                      "2001:db8::1 5432",
	} {
		t.Run("a pasted host is corrected: "+text, func(t *testing.T) {
			quote, err := json.Marshal(text)
			require.NoError(t, err)
			c := parse(t, with(`"host":`+string(quote)))
			assert.Equal(t, "Sprint", fmt.Sprint(c.Text("host"), " ", c.Port()), want)
			plain, err := c.Reveal()
			require.NoError(t, err)
			if second := parse(t, string(plain)); second.Text("host") != c.Text("host") || second.Port() != c.Port() {
				t.Error("it changes when it is read again")
			}
		})
	}

	t.Run("a file of SQLite is a bare name", func(t *testing.T) {
		for file, ok := range map[string]bool{
			"demo.db": true, "a-b_c.1.sqlite": true, "../x.db": false, "/x.db": false, "a/b.db": false,
			".hidden": false, "..": false, `a\b`: false,
			"file:x": false, "x?mode=rw": false, "": false, "x\x00": false, strings.Repeat("a", 129): false,
		} {
			_, err := connection.ParseCredential(connection.SQLite, fmt.Appendf(nil, `{"file":%q}`, file))
			if (err == nil) != ok {
				t.Errorf("%q: %v", file, err)
			}
		}
	})

	t.Run("of a kind that there is not there is none", func(t *testing.T) {
		if _, err := connection.ParseCredential("oracle", []byte(`{}`)); err == nil {
			t.Error("there is")
		}
	})
}

// with returns a valid credential with one field added or changed: the last one of a name counts.
func with(field string) string {
	return `{"host":"db.example.com","database":"d","username":"u",` + field + `}`
}

func TestACredentialShowsNoSecret(t *testing.T) {
	c := parse(t, complete)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if text := fmt.Sprintf(verb+" "+verb, c, &c); strings.Contains(text, canary) ||
			strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("%s: %s", verb, text)
		}
	}
	if strings.Contains(string(c.Config()), "password") {
		t.Error("the config holds it")
	}
}

func TestReveal(t *testing.T) {
	c := parse(t, complete)
	text, err := c.Reveal()
	require.NoError(t, err)
	restoredCredential, err := connection.RestoreCredential(c.Kind(), text)
	require.NoError(t, err)
	for _, second := range []connection.Credential{parse(t, string(text)), restoredCredential} {
		if second.Secret("password").Reveal() != canary || second.Port() != 6432 || second.Kind() != c.Kind() ||
			string(second.Config()) != string(c.Config()) {
			t.Errorf("%s is not what was revealed", text)
		}
	}
	for kind, text := range map[connection.Kind]string{"oracle": `{}`, connection.Postgres: `[]`} {
		if _, err := connection.RestoreCredential(kind, []byte(text)); err == nil {
			t.Errorf("%s of kind %s is restored", text, kind)
		}
	}
}

func TestSameTarget(t *testing.T) {
	a := parse(t, complete)
	for name, tt := range map[string]struct {
		other string
		want  bool
	}{
		"another password and user": {
			`{"host":"db.example.com","port":6432,"database":"d","username":"v","password":"x"}`, true},
		"another spelling of the host": {`{"host":"DB.example.com","port":6432,"database":"d","username":"u"}`, true},
		"another host": {`{"host":"db2.example.com","port":6432,"database":"d","username":"u"}`,
			false},
		"another port": {`{"host":"db.example.com","database":"d","username":"u"}`, false},
		"another database": {`{"host":"db.example.com","port":6432,"database":"e","username":"u"}`,
			false},
		"another spelling of a database": {`{"host":"db.example.com","port":6432,"database":"D","username":"u"}`,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "SameTarget", a.SameTarget(parse(t, tt.other)), tt.want)
			if got := (&connection.Connection{Kind: connection.Postgres, Config: a.Config()}).LeadsTo(parse(t,
				tt.other)); got != tt.want {
				t.Errorf("LeadsTo = %v", got)
			}
		})
	}
	other, err := connection.ParseCredential(connection.SQLite, []byte(`{"file":"d"}`))
	if err != nil || a.SameTarget(other) || a.SameTarget(connection.Credential{}) {
		t.Errorf("another kind is the same, or %v", err)
	}
}
