package server

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestIfMatch(t *testing.T) {
	for name, tt := range map[string]struct {
		headers []string
		want    revision.Match // nil sets no condition
		weak    bool
	}{
		"no header sets no condition":      {nil, nil, false},
		"* sets none":                      {[]string{"*"}, nil, false},
		"* among others sets none":         {[]string{`"1-a"`, ` * `}, nil, false},
		"one of our tags names a revision": {[]string{`"12-abc"`}, revision.Match{12}, false},
		"a list names several":             {[]string{`"1-a", "2-b"`, `"3-c"`}, revision.Match{1, 2, 3}, false},
		"the hash is not compared":         {[]string{`"7-"`}, revision.Match{7}, false},
		"a hash may hold dashes":           {[]string{`"7-a-b_c"`}, revision.Match{7}, false},
		"a weak tag matches nothing":       {[]string{`W/"1-a"`}, revision.Match{}, true},
		"a strong one counts beside it":    {[]string{`W/"1-a", "2-b"`}, revision.Match{2}, true},
		"a foreign tag matches nothing":    {[]string{`"x", "2", "", "-1", "0-a", "99999999999999999999-a"`}, revision.Match{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, weak, err := ifMatch(tt.headers)
			if err != nil || weak != tt.weak || (got == nil) != (tt.want == nil) || !slices.Equal(got, tt.want) {
				t.Errorf("ifMatch = %v, %v, %v; want %v, %v", got, weak, err, tt.want, tt.weak)
			}
		})
	}
	for _, header := range []string{"", "2", "1-a", `"1-a`, `1-a"`, `"`, `"1"a"`, `"1-a",`, `"1-a", abc`, `w/"1-a"`, "W/"} {
		t.Run("refused is "+header, func(t *testing.T) {
			if got, _, err := ifMatch([]string{header}); !errors.Is(err, openapi.ErrInvalidParameter) {
				t.Errorf("ifMatch = %v, %v", got, err)
			}
		})
	}
}

func TestNoneMatch(t *testing.T) {
	const tag = `"3-abc"`
	for name, tt := range map[string]struct {
		headers []string
		want    bool
	}{
		"no header":               {nil, false},
		"the tag":                 {[]string{tag}, true},
		"the tag, weak":           {[]string{"W/" + tag}, true},
		"*":                       {[]string{"*"}, true},
		"in a list":               {[]string{`"1-a" , ` + tag}, true},
		"in a second header":      {[]string{`"1-a"`, tag}, true},
		"another hash":            {[]string{`"3-abd"`}, false},
		"the tag without quotes":  {[]string{"3-abc"}, false},
		"another letter for weak": {[]string{"w/" + tag}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "noneMatch", NoneMatch(tt.headers, tag), tt.want)
		})
	}
}

func TestEncode(t *testing.T) {
	encode := func(t *testing.T, r Reply) (map[string]string, string) {
		t.Helper()
		a, err := r.encode()
		require.NoError(t, err)
		return a.Header, string(a.Body)
	}
	t.Run("the tag holds the revision, and changes with the body", func(t *testing.T) {
		h, _ := encode(t, OK("a").WithRevision(7))
		same, _ := encode(t, OK("a").WithRevision(7))
		other, _ := encode(t, OK("b").WithRevision(7))
		if !strings.HasPrefix(h["Etag"], `"7-`) || !strings.HasSuffix(h["Etag"], `"`) || h["Etag"] != same["Etag"] ||
			h["Etag"] == other["Etag"] {
			t.Errorf("tags are %s, %s and %s", h["Etag"], same["Etag"], other["Etag"])
		}
		if got, _, _ := ifMatch([]string{h["Etag"]}); !slices.Equal(got, revision.Match{7}) {
			t.Errorf("ifMatch reads %v of it", got)
		}
	})
	t.Run("what has no revision has no tag", func(t *testing.T) {
		if h, _ := encode(t, OK("a")); h["Etag"] != "" {
			t.Errorf("Etag is %s", h["Etag"])
		}
	})
	t.Run("prompts are not escaped as HTML", func(t *testing.T) {
		if _, body := encode(t, OK("<a & b>")); body != "\"<a & b>\"\n" {
			t.Errorf("body is %s", body)
		}
	})
	t.Run("what shows a secret is cached nowhere", func(t *testing.T) {
		r := Created("/x", "a")
		r.Reveals = "key_1"
		if h, _ := encode(t, r); h["Cache-Control"] != "no-store" || h["Location"] != "/x" {
			t.Errorf("headers are %v", h)
		}
	})
	t.Run("no content has no type", func(t *testing.T) {
		if h, body := encode(t, NoContent); len(h) != 0 || body != "" {
			t.Errorf("%v %q", h, body)
		}
	})
	t.Run("what cannot be encoded is an error", func(t *testing.T) {
		if _, err := OK(func() {}).encode(); err == nil {
			t.Error("no error")
		}
	})
}

func TestAccepts(t *testing.T) {
	for header, want := range map[string]bool{
		"":                                  true,
		"*/*":                               true,
		"application/json":                  true,
		"application/*":                     true,
		"APPLICATION/JSON; charset=utf-8":   true,
		"text/html, application/json;q=0.1": true,
		"application/problem+json":          true,
		"text/html":                         false,
		"application/xml, text/*":           false,
		"application/json;q=0":              false,
		"garbage":                           false,
		",":                                 false,
		"text/html, */*;q=0.8":              true,
	} {
		t.Run("Accept: "+header, func(t *testing.T) {
			assert.Equal(t, "accepts", accepts(header, ""), want)
		})
	}
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer t": "t", "bearer t": "t", "BEARER t": "t", "": "", "t": "", "Bearer": "", "Basic t": "",
		"Bearer  t": " t", "Bearer t u": "t u", " Bearer t": "",
	} {
		t.Run("Authorization: "+header, func(t *testing.T) {
			assert.Equal(t, "bearer", Bearer(header), want)
		})
	}
}

func TestRequestID(t *testing.T) {
	for input, isKept := range map[string]bool{"a": true, "a b-c": true, strings.Repeat("a", 128): true, "": false,
		strings.Repeat("a", 129): false, "a\nb": false, "é": false, "\x7f": false} {
		if got := requestID(input); (got == input) != isKept {
			t.Errorf("%q became %q", input, got)
		}
	}
	if first, second := requestID(""), requestID(""); first == second {
		t.Error("two requests have one id")
	}
}

func TestMethodLabel(t *testing.T) {
	if methodLabel(http.MethodPatch) != "PATCH" || methodLabel("X-MADE-UP") != "other" {
		t.Error("clients can make labels, or a known method has none")
	}
}

func TestAResponseVariesByEverythingThatItDependsOn(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Add("Vary", "Origin")
	answer, err := Reply{Status: http.StatusOK, Body: "x", Vary: "Host", Cache: "public, max-age=60"}.encode()
	require.NoError(t, err)
	Write(w, httptest.NewRequest(http.MethodGet, "/", nil), answer)
	assert.EqualSlice(t, "Vary", w.Header().Values("Vary"), []string{"Origin", "Host"})
	assert.Equal(t, "Cache-Control", w.Header().Get("Cache-Control"), "public, max-age=60")
}
