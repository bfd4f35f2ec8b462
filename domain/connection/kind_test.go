package connection_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// schemaOf reads what the tests look at.
type schemaOf struct {
	Additional any `json:"additionalProperties"`
	Required   []string
	Properties map[string]struct {
		Title     string
		Type      string
		Order     int  `json:"x-order"`
		Secret    bool `json:"x-secret"`
		Default   any
		MaxLength *int
		Enum      []string
	}
}

func TestEveryKindIsDescribedInFull(t *testing.T) {
	kinds := connection.Kinds()
	if !slices.IsSortedFunc(kinds,
		func(a, b *connection.Descriptor) int { return strings.Compare(string(a.Kind), string(b.Kind)) }) {
		t.Error("they are not sorted")
	}
	for _, d := range kinds {
		t.Run(string(d.Kind), func(t *testing.T) {
			if found, ok := connection.Describe(d.Kind); !ok || found != d {
				t.Error("Describe does not find it")
			}
			if d.Title == "" || len(d.Capabilities) == 0 {
				t.Errorf("title %q, capabilities %q", d.Title, d.Capabilities)
			}
			if u, err := url.Parse(d.DocsURL); err != nil || u.Scheme != "https" {
				t.Errorf("docs_url = %q", d.DocsURL)
			}
			var s schemaOf
			require.NoError(t, json.Unmarshal(d.Schema, &s))
			if s.Additional != false {
				t.Error("the schema lets unknown fields in")
			}
			orders := map[int]string{}
			for name, p := range s.Properties {
				if p.Title == "" || p.Order == 0 || orders[p.Order] != "" {
					t.Errorf("%s: title %q, x-order %d, as has %q", name, p.Title, p.Order, orders[p.Order])
				}
				orders[p.Order] = name
				if p.Type == "string" && p.MaxLength == nil && p.Enum == nil {
					t.Errorf("%s may be of any length", name)
				}
				if p.Secret && (p.Type != "string" || p.Default != nil) {
					t.Errorf("%s is a secret, of type %q, default %v", name, p.Type, p.Default)
				}
			}
			var invalid *fault.Error
			if _, err := connection.ParseCredential(d.Kind, []byte(`{}`)); !errors.As(err, &invalid) ||
				len(invalid.Fields) != len(s.Required) {
				t.Errorf("an empty credential: %v", err)
			}
			for _, name := range s.Required {
				if _, ok := s.Properties[name]; !ok {
					t.Errorf("%s is required and unknown", name)
				}
			}
			for _, code := range connection.Codes() {
				for _, field := range d.Kind.Failure(code, time.Time{}).Fields {
					if _, ok := s.Properties[field]; !ok {
						t.Errorf("%s is about field %s, which there is not", code, field)
					}
				}
			}
			for _, port := range d.Ports {
				if !d.AllowsPort(port) {
					t.Errorf("port %d is not allowed", port)
				}
			}
			if p, ok := s.Properties[connection.FieldPort]; ok &&
				(len(d.Ports) == 0 || p.Default != float64(d.Ports[0])) {
				t.Errorf("the default port is %v, and the first of %v is the usual one", p.Default, d.Ports)
			}
		})
	}
	if _, ok := connection.Describe("oracle"); ok {
		t.Error("a kind that there is not is found")
	}
}

func TestPortsBelow1024AreTheUsualOnesAlone(t *testing.T) {
	d, _ := connection.Describe(connection.Postgres)
	for port, want := range map[uint16]bool{0: false, 22: false, 25: false, 443: false, 1023: false, 1024: true,
		5432: true, 65535: true} {
		if got := d.AllowsPort(port); got != want {
			t.Errorf("AllowsPort(%d) = %v", port, got)
		}
	}
	empty, _ := connection.Describe(connection.SQLite)
	if empty.AllowsPort(5432) {
		t.Error("a file has a port")
	}
}

func TestEveryFailureSaysWhatToDo(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, code := range connection.Codes() {
		f := connection.Postgres.Failure(code, now)
		if f.Code != code || !f.At.Equal(now) || !strings.HasSuffix(f.Hint, ".") || f.Category == "" ||
			f.Category != code.Category() {
			t.Errorf("%s: %+v", code, f)
		}
		if f.Category == connection.Transient && !f.Retryable {
			t.Errorf("%s may pass, and is not to be tried again", code)
		}
	}
	assert.Equal(t, "codes", len(connection.Codes()), 35)
	for code, want := range map[connection.Code][]string{
		connection.AuthFailed: {"username", "password"}, connection.PortClosed: {"host", "port"},
		connection.DatabaseNotFound: {"database"},
		connection.TLSUntrusted:     {"tls", "tls_ca"}, connection.QueryTimeout: nil,
	} {
		if got := connection.Postgres.Failure(code, now).Fields; !slices.Equal(got, want) {
			t.Errorf("%s: fields %q, want %q", code, got, want)
		}
	}
	t.Run("a code that is none reads as internal", func(t *testing.T) {
		if f := connection.Postgres.Failure("made_up", now); f.Code != connection.Internal ||
			f.Category != connection.System {
			t.Errorf("%+v", f)
		}
	})
}

func TestAPresetFillsACredentialThatIsValid(t *testing.T) {
	for _, d := range connection.Kinds() {
		ids := map[string]bool{}
		for _, p := range d.Presets {
			fields := map[string]any{"host": p.Host, "database": "shop", "username": "reader", "password": "p"}
			maps.Copy(fields, p.Defaults)
			text, err := json.Marshal(fields)
			require.NoError(t, err)
			if _, err := connection.ParseCredential(d.Kind, text); err != nil {
				t.Errorf("%s, %s: %v", d.Kind, p.ID, err)
			}
			if u, err := url.Parse(p.DocsURL); err != nil || u.Scheme != "https" || p.Title == "" || ids[p.ID] ||
				!strings.HasSuffix(p.Advice, ".") {
				t.Errorf("%s: %+v", d.Kind, p)
			}
			ids[p.ID] = true
		}
	}
}

func TestTheHintOfAFirewallsFailureNamesAtriumsAddresses(t *testing.T) {
	egress := identity.Egress{Addresses: []netip.Prefix{netip.MustParsePrefix("203.0.113.7/32"),
		netip.MustParsePrefix("2001:db8:7::/48")}}
	named := " Atrium connects from 203.0.113.7, 2001:db8:7::/48."
	for _, tt := range []struct {
		code   connection.Code
		egress identity.Egress
		want   string
	}{
		{connection.ConnectTimeout, egress, named}, {connection.PortClosed, egress, named},
		{connection.HostUnreachable, egress, named}, {connection.AuthRejected, egress, named},
		{connection.ConnectTimeout, identity.Egress{}, ""}, {connection.AuthFailed, egress, ""},
		{connection.DNSFailed, egress, ""},
	} {
		f := connection.Postgres.Failure(tt.code, time.Unix(1, 0))
		if got := f.WithAddresses(tt.egress).Hint; got != f.Hint+tt.want {
			t.Errorf("%s: %q", tt.code, got)
		}
	}
}

func TestACertificateForAnotherNameIsAboutTheHost(t *testing.T) {
	for kind, want := range map[connection.Kind]string{connection.Postgres: "[host]", connection.ClickHouse: "[host]"} {
		if got := fmt.Sprint(kind.Failure(connection.TLSNameMismatch, start).Fields); got != want {
			t.Errorf("%s: fields = %s, want %s", kind, got, want)
		}
	}
}
