package server

import (
	"bufio"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/test/support/require"
)

// slowBody is a stream with long pauses between its parts.
type slowBody struct{ *Stream }

func (s slowBody) Open() error { return nil }

func (s slowBody) Run() error {
	for range 4 {
		s.Out.WriteString("part\n")
		if err := s.Flush(); err != nil {
			return err
		}
		select {
		case <-time.After(20 * time.Second):
		case <-s.Context().Done():
			return s.Context().Err()
		}
	}
	return nil
}

func TestAStreamOutlastsTheTimeoutsOfOtherResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(nil, Config{RequestTimeout: 15 * time.Second},
			Deps{Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
		a.openStreams.all = map[*Stream]bool{{}: true} // no one checks the readers
		h := a.pipeline(&openapi.Operation{Path: "/"}, Streaming{
			Media: Always("text/plain"), Visitors: new(Visitors),
			Open: func(s *Stream) StreamBody { return slowBody{s} },
		})
		client := serveOne(t, func(w http.ResponseWriter, r *http.Request) {
			o := &Observation{}
			h.ServeHTTP(&recorder{ResponseWriter: w, obs: o}, WithObservation(r, o))
		})
		go func() { _, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") }()
		response, err := http.ReadResponse(bufio.NewReader(client), nil)
		require.NoError(t, err)
		if text, err := io.ReadAll(response.Body); err != nil || string(text) != "part\npart\npart\npart\n" {
			t.Errorf("%q, %v", text, err)
		}
	})
}
