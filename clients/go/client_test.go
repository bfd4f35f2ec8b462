package atrium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

// respond is a transport that a test answers.
type respond func(*http.Request) (*http.Response, error)

func (f respond) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func response(status int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// clientOf returns a client whose requests f answers, and which does not wait between attempts.
func clientOf(t *testing.T, f respond, options ...ClientOption) *Client {
	t.Helper()
	c, err := New("https://example.com/base/", "atk_secret",
		append(options, WithHTTPClient(&http.Client{Transport: f}))...)
	if err != nil {
		t.Fatal(err)
	}
	c.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return c
}

func TestABasePathIsKeptAndParametersAreEscaped(t *testing.T) {
	var got string
	c := clientOf(t, func(r *http.Request) (*http.Response, error) {
		got = r.URL.String()
		return response(200, "{}"), nil
	})
	if _, err := c.PromptTemplates.Get(t.Context(), "a/b c?"); err != nil {
		t.Fatal(err)
	}
	if want := "https://example.com/base/api/prompt-templates/a%2Fb%20c%3F"; got != want {
		t.Errorf("the URL is %s, want %s", got, want)
	}
}

func TestNoRepresentationShowsTheCredentialOrTheQuery(t *testing.T) {
	c := clientOf(t, func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
		WithMaxRetries(0))
	_, err := c.Presence.ListPage(t.Context(), PresenceListQuery{UserID: "hidden"})
	if err == nil || err.Error() != "atrium: presence.list: connection refused" {
		t.Errorf("the error is %v", err)
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", c, c, c), fmt.Sprintf("%+v %#v", err, err)} {
		if strings.Contains(text, "atk_secret") || strings.Contains(text, "hidden") {
			t.Errorf("it shows a secret: %s", text)
		}
	}
}

func TestAContextCancelsACallThatWaits(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	requests := 0
	c := clientOf(t, func(*http.Request) (*http.Response, error) {
		requests++
		return response(503, "{}", "Retry-After", "60"), nil
	})
	c.wait = func(ctx context.Context, d time.Duration) error {
		cancel(errors.New("enough"))
		return sleep(ctx, d)
	}
	if _, err := c.Me.Get(ctx); err == nil || !strings.Contains(err.Error(), "enough") || requests != 1 {
		t.Errorf("after %d requests the error is %v", requests, err)
	}
}

func TestALoopOverAListReadsNoPageThatItDoesNotNeed(t *testing.T) {
	requests := 0
	c := clientOf(t, func(*http.Request) (*http.Response, error) {
		requests++
		return response(200, `{"data": [{"id": "a"}, {"id": "b"}], "next_cursor": "more"}`), nil
	})
	for event, err := range c.Events.List(t.Context(), EventsListQuery{}) {
		if err != nil || event.ID == "b" {
			break
		}
	}
	if requests != 1 {
		t.Errorf("it read %d pages", requests)
	}
}

func TestALoopOverRowsWithoutANextPageEndsWithAnError(t *testing.T) {
	c := clientOf(t, func(*http.Request) (*http.Response, error) {
		return response(200, `{"data": [{"id": "a"}], "next_cursor": null, "has_more": true}`), nil
	})
	items, failed := 0, error(nil)
	for _, err := range c.Events.List(t.Context(), EventsListQuery{}) {
		if failed = err; err == nil {
			items++
		}
	}
	if items != 1 || !errors.Is(failed, errNoNextPage) {
		t.Errorf("%d items, %v", items, failed)
	}
}

func TestEventsResumeWhereTheyEnded(t *testing.T) {
	var ids []string
	c := clientOf(t, func(r *http.Request) (*http.Response, error) {
		ids = append(ids, r.Header.Get("Last-Event-ID"))
		return response(200, ": comment\n\nid: 1\nevent: snapshot\ndata: {\"more\":\ndata: true}\n\nid: 2\r\nevent: reset"+
			"\r\n\r\nid: 3\nevent: lost\n"), nil
	})
	var got []string
	for event, err := range c.Presence.Stream(t.Context(), PresenceStreamQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, fmt.Sprint(event.ID, event.Name, event.Data.More)); len(got) == 3 {
			break
		}
	}
	if want := "[1snapshottrue 2resetfalse 1snapshottrue]"; fmt.Sprint(got) != want || fmt.Sprint(ids) != "[ 3]" {
		t.Errorf("the events are %v, want %s; the ids were %q", got, want, ids)
	}
}

func TestAttemptsAreLoggedIfTheVariableIsDebug(t *testing.T) {
	for value, want := range map[string]bool{"debug": true, "": false} {
		t.Setenv("ATRIUM_CLIENT_LOG", value)
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		observed := 0
		c := clientOf(t, func(*http.Request) (*http.Response, error) { return response(200, `{}`), nil },
			WithLogger(logger), WithObserver(func(*Attempt) func(*Outcome) { observed++; return nil }))
		if _, err := c.Me.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		isLogged := strings.Contains(log.String(), "call=me.get method=GET path=/base/api/me number=1 status=200")
		if isLogged != want || strings.Contains(log.String(), "atk_secret") || observed != 1 {
			t.Errorf("with %q, the log is %q, and the observer was called %d times", value, log.String(), observed)
		}
	}
}

func TestOptHasThreeStates(t *testing.T) {
	for want, patch := range map[string]PromptTemplatePatch{
		`{}`:                     {},
		`{"description":null}`:   {Description: Null[string]()},
		`{"description":"text"}`: {Description: Set("text")},
	} {
		text, err := json.Marshal(patch)
		if err != nil || string(text) != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
}

func TestAnAddressWithoutASchemeIsToldWhatToWrite(t *testing.T) {
	for _, base := range []string{"example.com", "localhost:8080", "ftp://example.com", ""} {
		if _, err := New(base, ""); err == nil || !strings.Contains(err.Error(), "such as https://atrium.example.com") {
			t.Errorf("New(%s) = %v", base, err)
		}
	}
}

func TestAnAddressWithACredentialIsRefused(t *testing.T) {
	for _, base := range []string{"example.com", "ftp://example.com", "https://user:secret@example.com", "https://",
		"https://example.com?x=y"} {
		if _, err := New(base, ""); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("New(%s) = %v", base, err)
		}
	}
}
