package openapi_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestCheckQuery(t *testing.T) {
	a := func(n int) string { return strings.Repeat("a", n) }
	tests := map[string]struct {
		query string
		want  error
		names string // what the detail names
	}{
		"nothing": {"", nil, ""},
		"all there is": {
			"limit=100&cursor=abc&type=prompt_template.created&actor=usr_01jb4rqnx1e5btz2s1v2j9k3mn&subject=key_01jb4rqnx1e5btz2s1v2j9k3mn&created_after=2026-01-01T00:00:00%2B01:00", nil, ""},
		"the smallest limit":            {"limit=1", nil, ""},
		"no limit at all":               {"limit=0", openapi.ErrInvalidLimit, "limit"},
		"a limit too large":             {"limit=101", openapi.ErrInvalidLimit, "limit"},
		"a limit that is no number":     {"limit=hunter2", openapi.ErrInvalidLimit, "limit"},
		"a limit with a fraction":       {"limit=1.0", openapi.ErrInvalidLimit, "limit"},
		"a limit beyond 64 bits":        {"limit=99999999999999999999", openapi.ErrInvalidLimit, "limit"},
		"an empty limit":                {"limit=", openapi.ErrInvalidLimit, "limit"},
		"a cursor too long":             {"cursor=" + a(1025), openapi.ErrInvalidCursor, "cursor"},
		"an empty cursor":               {"cursor=", openapi.ErrInvalidCursor, "cursor"},
		"a cursor with NUL":             {"cursor=a%00", openapi.ErrInvalidCursor, "cursor"},
		"a misspelt parameter":          {"limt=5", openapi.ErrUnknownParameter, `"limt"`},
		"another list's parameter":      {"folder=a", openapi.ErrUnknownParameter, `"folder"`},
		"a parameter of a silly length": {a(5000) + "=1", openapi.ErrUnknownParameter, `"` + a(64) + `\u2026"`},
		"a parameter of control bytes":  {"a%0a%1b[31m=1", openapi.ErrUnknownParameter, `"a\n\x1b[31m"`},
		"names are case-sensitive":      {"Limit=5", openapi.ErrUnknownParameter, `"Limit"`},
		"twice":                         {"type=a&type=a", openapi.ErrInvalidParameter, `"type" is given more than once`},
		"a value too long":              {"type=" + a(101), openapi.ErrInvalidParameter, `"type"`},
		"a value with NUL":              {"actor=hunter2%00", openapi.ErrInvalidParameter, `"actor"`},
		"a value that is no UTF-8":      {"actor=hunter2%ff", openapi.ErrInvalidParameter, `"actor"`},
		"an empty value":                {"actor=", openapi.ErrInvalidParameter, `"actor"`},
		"the rule is told":              {"type=" + a(101), openapi.ErrInvalidParameter, "it must have at most 100 characters"},
		"an actor that is no id":        {"actor=hunter2", openapi.ErrInvalidParameter, `"actor"`},
		"a subject that is no id":       {"subject=hunter2", openapi.ErrInvalidParameter, `"subject"`},
		"a time that is none":           {"created_after=yesterday", openapi.ErrInvalidParameter, `"created_after"`},
		"an escape that is none":        {"actor=%zz", openapi.ErrMalformedRequest, "escape"},
		"a semicolon":                   {"actor=a;subject=b", openapi.ErrMalformedRequest, "separator"},
	}
	events := operation(t, "GET", "/api/events")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := events.CheckQuery(tt.query)
			if tt.want == nil {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			require.ErrorIs(t, err, tt.want)
			if !strings.Contains(err.Error(), tt.names) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("detail = %q, want %q in it", err, tt.names)
			}
		})
	}
	t.Run("an operation without parameters takes none", func(t *testing.T) {
		assert.ErrorIs(t, operation(t, "GET", "/api/me").CheckQuery("limit=5"), openapi.ErrUnknownParameter)
	})
}

func TestCheckHeader(t *testing.T) {
	tests := map[string]struct {
		header http.Header
		names  string // none: it passes
	}{
		"none": {http.Header{}, ""},
		"all there is": {http.Header{"Idempotency-Key": {"a b~" + strings.Repeat("!", 251)},
			"Workspace-Id": {"acme"}}, ""},
		"what is not declared": {http.Header{"X-Custom": {"\xff", "b"}}, ""},
		"an empty key":         {http.Header{"Idempotency-Key": {""}}, "Idempotency-Key"},
		"a key too long": {http.Header{"Idempotency-Key": {strings.Repeat("a", 256)}},
			"Idempotency-Key"},
		"a key that is no ASCII":    {http.Header{"Idempotency-Key": {"hunter2ü"}}, "Idempotency-Key"},
		"a key with a control byte": {http.Header{"Idempotency-Key": {"hunter2\t"}}, "Idempotency-Key"},
		"two keys": {http.Header{"Idempotency-Key": {"hunter2", "b"}},
			"Idempotency-Key is given more than once"},
		"a workspace of a silly length": {http.Header{"Workspace-Id": {strings.Repeat("a", 256)}}, "Workspace-Id"},
	}
	create := operation(t, "POST", "/api/prompt-templates")
	t.Run("a header that is a list may come in parts", func(t *testing.T) {
		update := operation(t, "PATCH", "/api/me")
		if err := update.CheckHeader(http.Header{"If-Match": {`"1-a"`, `"2-b"`}}); err != nil {
			t.Errorf("refused: %v", err)
		}
		if err := update.CheckHeader(http.Header{"If-Match": {`"1-a"`, strings.Repeat("a", 1025)}}); !errors.Is(err,
			openapi.ErrInvalidParameter) {
			t.Errorf("error = %v", err)
		}
	})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := create.CheckHeader(tt.header)
			if tt.names == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			if !errors.Is(err, openapi.ErrInvalidParameter) || !strings.Contains(err.Error(), tt.names) ||
				strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error = %v, want invalid_parameter that names %q", err, tt.names)
			}
		})
	}
}

func TestACheckOfYesOrNoTakesTrueAndFalseAlone(t *testing.T) {
	create := operation(t, "POST", "/api/connections")
	if !create.Outbound || operation(t, "GET", "/api/connections").Outbound {
		t.Error("which operations reach another system is not as declared")
	}
	for query, isTaken := range map[string]bool{
		"dry_run=true": true, "dry_run=false": true, "dry_run=1": false, "dry_run=TRUE": false, "dry_run=": false,
		"dry_run=yes": false,
	} {
		if err := create.CheckQuery(query); (err == nil) != isTaken ||
			(err != nil && !errors.Is(err, openapi.ErrInvalidParameter)) {
			t.Errorf("%s: %v", query, err)
		}
	}
}
