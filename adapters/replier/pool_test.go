package replier_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/replier"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/ports"
)

// opening starts an endpoint that counts the connections to it.
func opening(t *testing.T, handler http.HandlerFunc) (endpoint ports.Target, count *atomic.Int32) {
	t.Helper()
	count = &atomic.Int32{}
	s := httptest.NewUnstartedServer(handler)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			count.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	endpoint, _ = at(t, s.URL)
	return endpoint, count
}

func TestAConnectionServesManyAnswers(t *testing.T) {
	item, count := opening(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, `{"text":"Yes."}`, `[DONE]`) })
	e := replier.NewEndpoint(guard, limits)
	for range 5 {
		if text, err := collect(t.Context(), e, item); text != "Yes." || err != nil {
			t.Fatalf("%q, %v", text, err)
		}
	}
	if n := count.Load(); n != 1 {
		t.Errorf("five answers took %d connections", n)
	}
	other := item
	other.Workspace = "another"
	if _, err := collect(t.Context(), e, other); err != nil || count.Load() != 2 {
		t.Errorf("another workspace uses the same connection: %d, %v", count.Load(), err)
	}
}

func TestAnAnswerAfterALostConnection(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stream(w, `{"text":"Yes."}`, `[DONE]`)
	}))
	defer server.Close()
	target, _ := at(t, server.URL)
	e := replier.NewEndpoint(guard, limits)
	for range 20 {
		if text, err := collect(t.Context(), e, target); text != "Yes." || err != nil {
			t.Fatalf("%q, %v", text, err)
		}
		server.CloseClientConnections() // the next answer finds a connection that is closed, or about to be
	}
}

func TestAnEndpointThatGoesOnAfterTheAnswerIsLeft(t *testing.T) {
	target, count := opening(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w, `{"text":"Yes."}`, `[DONE]`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	e := replier.NewEndpoint(guard, limits)
	start := time.Now()
	for range 2 {
		if text, err := collect(t.Context(), e, target); text != "Yes." || err != nil {
			t.Fatalf("%q, %v", text, err)
		}
	}
	if took := time.Since(start); count.Load() != 2 || took > limits.Silence {
		t.Errorf("%d connections, %s", count.Load(), took)
	}
}

func TestTheLimitOfBytesIsOfOneAnswer(t *testing.T) {
	piece := fmt.Sprintf(`{"ignored":%q,"text":"x"}`, strings.Repeat("y", 600<<10))
	to, _ := opening(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, piece, piece, `[DONE]`) })
	e := replier.NewEndpoint(guard, limits) // 2 MiB
	for range 3 {
		if text, err := collect(t.Context(), e, to); text != "xx" || err != nil {
			t.Fatalf("%q, %v", text, err)
		}
	}
	to, _ = opening(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, piece, piece, piece, piece, `[DONE]`) })
	if _, err := collect(t.Context(), e, to); !errors.Is(err, embed.ReplyTooLarge) {
		t.Errorf("error = %v", err)
	}
}
