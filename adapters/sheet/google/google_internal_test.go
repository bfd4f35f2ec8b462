package google

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/contract/sheets"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// clock is one that a test moves.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }
func newClock() *clock                   { c := &clock{}; c.at.Store(time.Now().UnixNano()); return c }
func config(g *fixture.Google) Config {
	c := Default()
	c.API, c.TokenURL = g.URL, g.URL+"/token"
	return c
}

func credential(t testing.TB, g *fixture.Google, changes map[string]string) connection.Credential {
	t.Helper()
	fields := map[string]string{"client_email": g.Email, "private_key": g.PrivateKey, "private_key_id": "k1"}
	for name, v := range changes {
		fields[name] = v
	}
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	c, err := connection.ParseCredential(connection.GoogleSheets, text)
	require.NoError(t, err)
	return c
}

func target(t testing.TB, g *fixture.Google, url string) ports.SheetTarget {
	return ports.SheetTarget{Location: source.SheetLocation{URL: url}, Account: credential(t, g, nil)}
}

// impatient moves the clock with every call, so that no budget is used up.
type impatient struct {
	*Sheets
	clock *clock
}

func (i impatient) Preview(
	ctx context.Context, ws identity.WorkspaceID, target ports.SheetTarget,
) (source.Sheet, error) {
	i.clock.advance(time.Hour)
	return i.Sheets.Preview(ctx, ws, target)
}

func (i impatient) Rows(ctx context.Context, ws identity.WorkspaceID, target ports.SheetTarget, q source.RowsQuery,
	handle func(column.Batch) error,
) error {
	i.clock.advance(time.Hour)
	return i.Sheets.Rows(ctx, ws, target, q, handle)
}

func TestGoogleSheets(t *testing.T) {
	g, c := fixture.NewGoogle(t), newClock()
	sheets.Sheets(t, sheets.Harness{
		Sheets: impatient{newSheets(config(g), c.now), c},
		Absent: target(t, g, "https://docs.google.com/spreadsheets/d/1absent00000000000000/edit"),
		Put:    func(t *testing.T, w fixture.Workbook) ports.SheetTarget { return target(t, g, g.Put(w)) },
	})
}

func team() fixture.Workbook {
	rows := func(first string) [][]string { return [][]string{{first, "Age"}, {"Ann", "7"}} }
	return fixture.Workbook{Name: "Team", Tabs: []fixture.Tab{{Title: "People", Rows: rows("Name")},
		{Title: "It's more", Rows: rows("Who")}}}
}

// harness is a server with one sheet, and what reads it.
func harness(t *testing.T) (*fixture.Google, *clock, *Sheets, ports.SheetTarget) {
	t.Helper()
	g, c := fixture.NewGoogle(t), newClock()
	return g, c, newSheets(config(g), c.now), target(t, g, g.Put(team()))
}

func preview(t *testing.T, s *Sheets, target ports.SheetTarget) source.Sheet {
	t.Helper()
	sheet, err := s.Preview(t.Context(), "wsp_1", target)
	require.NoError(t, err)
	return sheet
}

// quiet waits until no request is running: a call that one response settles does not wait for the other.
func quiet(s *Sheets) {
	for bound := 1; bound > 0; runtime.Gosched() {
		s.heads.mu.Lock()
		s.books.mu.Lock()
		bound = len(s.heads.requests) + len(s.books.requests)
		s.books.mu.Unlock()
		s.heads.mu.Unlock()
	}
}

func asked(t *testing.T, g *fixture.Google, want ...string) {
	t.Helper()
	got := g.Requests()
	slices.Sort(got)
	slices.Sort(want)
	assert.EqualSlice(t, "Google was asked", got, want)
}

func TestGoogleIsAskedAsRarelyAsCanBe(t *testing.T) {
	g, c, s, target := harness(t)
	preview(t, s, target)
	asked(t, g, "token", "tabs", "values A1:GR52")

	preview(t, s, target)
	asked(t, g)

	target.Location.Tab = "It's more"
	if got := preview(t, s, target); got.Preview.Headers[0].Name != "Who" {
		t.Errorf("headers %+v", got.Preview.Headers)
	}
	asked(t, g, "values 'It''s more'!A1:GR52")

	target.Location.Tab, target.Location.HeaderRow = "1001", 2
	if got := preview(t, s, target); got.Preview.Headers[0].Name != "Ann" || got.Tab.Title != "It's more" {
		t.Errorf("%+v", got)
	}
	asked(t, g, "values 'It''s more'!A1:GR34")

	c.advance(fresh)
	preview(t, s, target)
	asked(t, g, "tabs", "values 'It''s more'!A1:GR34") // its id is known no more
}

func TestTheTwoQuestionsAreAskedAtTheSameTime(t *testing.T) {
	g, _, s, target := harness(t)
	var pair sync.WaitGroup
	pair.Add(2)
	g.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/token" { // each waits for the other
			pair.Done()
			pair.Wait()
		}
		return false
	})
	preview(t, s, target)
}

func TestTheFirstTabsIDCostsNoRequestMore(t *testing.T) {
	g, _, s, owner := harness(t)
	owner.Location.URL += "#gid=0"
	if got := preview(t, s, owner); got.Tab.Title != "People" || got.Preview.Headers[0].Name != "Name" {
		t.Errorf("%+v", got)
	}
	asked(t, g, "token", "tabs", "values A1:GR52")
	t.Run("but where it is hidden", func(t *testing.T) {
		book := team()
		book.Tabs[0].Hidden = true
		parent := target(t, g, g.Put(book)+"#gid=0")
		guessedSignal := make(chan struct{}) // Preview does not wait for the response, nor even until it is asked for
		g.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/values/A1:GR52") {
				close(guessedSignal)
			}
			return false
		})
		if got := preview(t, s, parent); got.Tab.Title != "People" || got.Preview.Headers[0].Name != "Name" {
			t.Errorf("%+v", got)
		}
		<-guessedSignal
		asked(t, g, "tabs", "values A1:GR52", "values 'People'!A1:GR52")
	})
}

func TestTheTabOfTheAddressIsRead(t *testing.T) {
	_, _, s, target := harness(t)
	for _, suffix := range []string{"#gid=1001", "?gid=1001#gid=1001", "?gid=1001"} {
		extra := target
		extra.Location.URL += suffix
		if got := preview(t, s, extra); got.Tab.ID != "1001" {
			t.Errorf("%s: tab %+v", suffix, got.Tab)
		}
	}
	target.Location.URL += "#gid=77"
	if _, err := s.Preview(t.Context(), "wsp_1", target); !errors.Is(err, source.ErrTabNotFound) {
		t.Errorf("a tab that is gone: %v", err)
	}
}

func TestACredentialAsksFiftyTimesAMinute(t *testing.T) {
	g, c, s, target := harness(t)
	start, limit := c.now(), 0
	for c.now().Sub(start) < time.Minute {
		target.Location.HeaderRow = 1 + limit%source.MaxHeaderRow // so that nothing is kept
		previous := len(g.Requests())
		_, err := s.Preview(t.Context(), "wsp_1", target)
		limit += previous
		if err != nil {
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != fault.RateLimited || f.RetryAfter <= 0 {
				t.Fatal(err)
			}
		}
		target.Location.HeaderRow++
		c.advance(200 * time.Millisecond)
	}
	limit += len(g.Requests())
	if limit < perMinute || limit > 60+1 { // the token
		t.Errorf("it asked %d times within a minute", limit)
	}
}

func TestRefusalsGetAnAnswerOfTheirOwn(t *testing.T) {
	for _, tt := range []struct {
		code           int
		status, reason string
		want           error
		detail         string
	}{
		{403, "PERMISSION_DENIED", "", source.ErrSheetNotShared, "atrium@tests.iam.gserviceaccount.com"},
		{403, "PERMISSION_DENIED", "SERVICE_DISABLED", source.ErrSheetNotShared, "turned off"},
		{401, "UNAUTHENTICATED", "", source.ErrSheetNotShared, ""},
		{404, "NOT_FOUND", "", source.ErrSheetNotFound, ""},
		{400, "FAILED_PRECONDITION", "", source.ErrUnsupportedFormat, ""},
		{429, "RESOURCE_EXHAUSTED", "", source.ErrSheetRateLimited, ""},
		{500, "INTERNAL", "", source.ErrSheetFailed, ""},
		{503, "UNAVAILABLE", "", source.ErrSheetFailed, ""},
		{504, "DEADLINE_EXCEEDED", "", source.ErrSheetTimeout, ""},
		{302, "", "", source.ErrSheetFailed, ""},
	} {
		t.Run(fmt.Sprint(tt.code, tt.status, tt.reason), func(t *testing.T) {
			g, _, s, target := harness(t)
			g.Answer(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/token" {
					return false
				}
				w.Header().Set("Location", "https://example.com/")
				g.Fail(w, tt.code, tt.status, tt.reason)
				return true
			})
			_, err := s.Preview(t.Context(), "wsp_1", target)
			if !errors.Is(err, tt.want) || !strings.Contains(fmt.Sprint(err), tt.detail) {
				t.Errorf("err = %v, want %v with %q", err, tt.want, tt.detail)
			}
			if strings.Contains(fmt.Sprintf("%+v", err), "canary") {
				t.Errorf("it quotes: %v", err)
			}
		})
	}
	for name, extraCall := range map[string]func(w http.ResponseWriter){
		"no JSON":       func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") },
		"cut JSON":      func(w http.ResponseWriter) { fmt.Fprint(w, `{"values": [["a"`) },
		"another shape": func(w http.ResponseWriter) { fmt.Fprint(w, `{"values": {}, "sheets": 1}`) },
		"an endless value": func(w http.ResponseWriter) {
			// the client hangs up before the end
			_, _ = io.WriteString(w, `{"values": [["`+strings.Repeat("a", maxAnswer)+`"]]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, _, s, target := harness(t)
			g.Answer(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "/values/") {
					return false
				}
				extraCall(w)
				return true
			})
			want := source.ErrSheetFailed
			if name == "an endless value" {
				want = source.ErrFileTooLarge
			}
			if _, err := s.Preview(t.Context(), "wsp_1", target); !errors.Is(err, want) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestWhoeverHasNoKeyIsToldHowToGetOne(t *testing.T) {
	g, _, s, target := harness(t)
	target.Account = connection.Credential{}
	if _, err := s.Preview(t.Context(), "wsp_1", target); !errors.Is(err, source.ErrSheetNotShared) ||
		!strings.Contains(err.Error(), "google_sheets") {
		t.Errorf("err = %v", err)
	}
	asked(t, g)
	t.Run("but an org's API key reads what is shared by its link", func(t *testing.T) {
		target.Offer.GoogleAPIKey = secret.New(g.APIKey)
		preview(t, s, target)
		asked(t, g, "tabs", "values A1:GR52")
		target.Offer.GoogleAPIKey = secret.New("another")
		if _, err := s.Preview(t.Context(), "wsp_1", target); !errors.Is(err, source.ErrSheetNotShared) {
			t.Errorf("with another key: %v", err)
		}
	})
}

func TestAKeyDoesNotSayWhereToSignIn(t *testing.T) {
	g := fixture.NewGoogle(t)
	text, err := json.Marshal(map[string]string{"client_email": g.Email, "private_key": g.PrivateKey,
		"token_uri": "https://attacker.example/token"})
	require.NoError(t, err)
	if _, err := connection.ParseCredential(connection.GoogleSheets, text); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("err = %v", err)
	}
}

func TestLocationsOfGoogleAreKnown(t *testing.T) {
	const sheet = "https://docs.google.com/spreadsheets/d/"
	for url, want := range map[string]bool{
		"https://docs.google.com/spreadsheets/d/1abcdefghijklmnop/edit#gid=0": true,
		"https://docs.google.com/spreadsheets/d/1abcdefghijklmnop":            true,
		"https://docs.google.com/spreadsheets/u/1/d/1abcdefghijklmnop/edit":   true,
		sheet + "abcdefghij/edit":                                            true,
		sheet + "abcdefghi/edit":                                             false,
		sheet + strings.Repeat("a", 128) + "/":                               true,
		sheet + strings.Repeat("a", 129) + "/":                               false,
		"https://docs.google.com/spreadsheets/d/1abcdefghijklmnop/export":    false,
		"https://docs.google.com/spreadsheets/d/e/2PACX-abcdefghij/pub":      false,
		"http://docs.google.com/spreadsheets/d/1abcdefghijklmnop/edit":       false,
		"https://docs.google.com.evil.test/spreadsheets/d/1abcdefghijklmnop": false,
		"https://user@docs.google.com/spreadsheets/d/1abcdefghijklmnop":      false,
		"https://docs.google.com:8443/spreadsheets/d/1abcdefghijklmnop":      false,
		"https://docs.google.com/spreadsheets/d/../../v1/secret":             false,
		"https://docs.google.com/document/d/1abcdefghijklmnop/edit":          false,
		"https://example.com/spreadsheets/d/1abcdefghijklmnop/edit":          false,
		"file:a.csv": false,
		"":           false,
	} {
		if got := Owns(url); got != want {
			t.Errorf("Owns(%q) = %v", url, got)
		}
	}
}

func TestAProbeSignsIn(t *testing.T) {
	g := fixture.NewGoogle(t)
	a := NewAccounts(config(g))
	target := ports.Target{Credential: credential(t, g, nil), Limits: ports.DefaultLimits()}
	report := a.Probe(t.Context(), target)
	if report.Failure() != "" || len(report.Checks) != len(connection.Steps()) {
		t.Errorf("%+v", report)
	}
	for name, tt := range map[string]struct {
		change map[string]string
		answer int
		want   connection.Code
	}{
		"as nobody": {map[string]string{"client_email": "nobody@tests.iam.gserviceaccount.com"}, 0,
			connection.AuthFailed},
		"without a key": {map[string]string{"private_key": "-----BEGIN PRIVATE KEY-----\nnone"}, 0,
			connection.AuthFailed},
		"where all is out": {nil, 503, connection.HostUnreachable},
		"too often":        {nil, 429, connection.QuotaExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			g.Answer(nil)
			if tt.answer > 0 {
				g.Answer(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(tt.answer); return true })
			}
			target := ports.Target{Credential: credential(t, g, tt.change), Limits: ports.DefaultLimits()}
			assert.Equal(t, "failure", a.Probe(t.Context(), target).Failure(), tt.want)
		})
	}
}
