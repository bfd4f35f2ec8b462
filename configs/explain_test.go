package configs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestExplain(t *testing.T) {
	folder := t.TempDir()
	file, password := filepath.Join(folder, "atrium.yaml"), filepath.Join(folder, "password")
	for path, text := range map[string]string{
		password: "s3cret-one\n",
		file: `server:
  request_timeout: 20s
  trusted_proxies: [10.0.0.0/8]
log: {level: warn}
orgs:
  - slug: red
    hosts: [red.example.com]
    google_api_key: s3cret-two
    egress: {allow: [10.1.0.0/16]}
`,
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	all, err := Explain(Source{
		File: file, Data: "/srv/atrium", Flags: map[string]string{"server.addr": "127.0.0.1:9"},
		Environ: []string{
			"ATRIUM_LOG_LEVEL=debug", "ATRIUM_MAIL_SMTP_PASSWORD_FILE=" + password,
			"ATRIUM_DATABASE_URL=postgres://u:s3cret-three@db:5432/atrium?sslmode=disable&sslpassword=s3cret-four",
			"ATRIUM_MAIL_SMTP_ADDR=mail:587", "ATRIUM_MAIL_SMTP_USER=u", "ATRIUM_MAIL_SMTP_FROM=a@example.com",
		},
	})
	require.NoError(t, err)
	got := map[string]string{}
	for _, s := range all {
		value, err := json.Marshal(s.Value)
		require.NoError(t, err)
		if _, isRepeated := got[s.Key]; isRepeated {
			t.Errorf("%s is listed twice", s.Key)
		}
		got[s.Key] = string(value) + " from " + strings.Replace(s.From, folder+"/", "", 1)
		if strings.Contains(got[s.Key], "s3cret") {
			t.Errorf("%s shows a secret: %s", s.Key, got[s.Key])
		}
	}
	for key, want := range map[string]string{
		"data":                         `"/srv/atrium" from --data`,
		"server.addr":                  `"127.0.0.1:9" from flag`,
		"server.request_timeout":       `"20s" from atrium.yaml:2`,
		"server.read_timeout":          `"30s" from default`,
		"server.trusted_proxies":       `["10.0.0.0/8"] from atrium.yaml:3`,
		"log.level":                    `"debug" from ATRIUM_LOG_LEVEL`,
		"log.format":                   `"text" from default`,
		"mail.smtp.password":           `"[redacted]" from ATRIUM_MAIL_SMTP_PASSWORD_FILE`,
		"database.url":                 `"postgres://db:5432/atrium" from ATRIUM_DATABASE_URL`,
		"events.retention":             `"400d" from default`,
		"keyring.keyset":               `"" from default`,
		"orgs[0].name":                 `"red" from default`,
		"orgs[0].hosts":                `["red.example.com"] from atrium.yaml:7`,
		"orgs[0].google_api_key":       `"[redacted]" from atrium.yaml:8`,
		"orgs[0].egress.allow":         `["10.1.0.0/16"] from atrium.yaml:9`,
		"orgs[0].api_keys.personal":    `true from default`,
		"orgs[0].quotas.storage_bytes": `2147483648 from default`,
	} {
		if got[key] != want {
			t.Errorf("%s is %s, want %s", key, got[key], want)
		}
	}
	for key := range keyTypes() {
		if _, ok := got[key]; !ok && key != "orgs" {
			t.Errorf("%s is not listed", key)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"400d": 400 * day, "30s": 30 * time.Second, "5m": 5 * time.Minute, "1h30m": 90 * time.Minute, "1h": time.Hour,
		"100ms": 100 * time.Millisecond, "0s": 0, "1h0m10s": time.Hour + 10*time.Second, "36h": 36 * time.Hour,
	} {
		assert.Equal(t, want+": is written", formatDuration(d), want)
		if delay, err := ParseDuration(want); err != nil || delay != d {
			t.Errorf("%s is read as %s, %v", want, delay, err)
		}
	}
}
