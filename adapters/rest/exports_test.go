package rest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestDownloadsOfOneCallerTakeTurns(t *testing.T) {
	const all, most, path = 8, 2, "/api/prompt-templates/export"
	h := newEnv(t, func(c *server.Config) {
		c.Concurrency = server.Concurrency{PerCaller: most, PerWorkspace: 3, Wait: time.Millisecond}
	})
	start, release := make(chan struct{}, all+1), make(chan struct{})
	h.lists.EXPECT().Visible(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(context.Context, identity.Actor, prompt.Filter, page.Query) (prompt.Page, error) {
			start <- struct{}{}
			<-release
			return prompt.Page{}, nil
		})
	answers := make(chan *httptest.ResponseRecorder, all)
	for range all {
		go func() { answers <- h.call(http.MethodGet, path, "") }()
	}
	for range most {
		<-start
	}
	for range all - most {
		select {
		case w := <-answers:
			if w.Code != http.StatusTooManyRequests || w.Header().Get("Content-Disposition") != "" {
				t.Errorf("%d, %v", w.Code, w.Header())
			}
		case <-start:
			t.Error("it runs beside the others")
		}
	}
	close(release)
	for range most {
		if w := <-answers; w.Code != http.StatusOK {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if w := h.call(http.MethodGet, path, ""); w.Code != http.StatusOK {
		t.Errorf("afterwards: %d %s", w.Code, w.Body)
	}
}

func TestDownloadsAreServedWhileTheServerDrains(t *testing.T) {
	h := newEnv(t)
	h.lists.EXPECT().Visible(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
		func(ctx context.Context, _ identity.Actor, _ prompt.Filter, _ page.Query) (prompt.Page, error) {
			return prompt.Page{}, ctx.Err()
		})
	h.Drain()
	if w := h.call(http.MethodGet, "/api/prompt-templates/export", ""); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestStreamsOfRowsWaitForTheGatesOfRequestsAndDownloads(t *testing.T) {
	const path = sourcesPath + "/src_01jb4rqnx1e0g8w5t2m7k4y6zc"
	h := newEnv(t, func(c *server.Config) {
		c.Concurrency = server.Concurrency{PerCaller: 1, PerWorkspace: 3, Wait: time.Millisecond}
	})
	h.sources.EXPECT().Get(gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().Return(nil, source.ErrNotFound)
	caller := identity.Actor{User: "usr_1"}
	for name, full := range map[string]*server.Gates{"requests": h.Gates, "downloads": h.Downloading} {
		for _, call := range []struct{ path, accept string }{
			{path + "/rows", "application/x-ndjson"}, {path + "/rows", "text/csv"}, {
				path + "/validation/failing-rows", "text/csv",
			},
		} {
			require.NoError(t, full.Enter(t.Context(), caller))
			got := h.call(http.MethodGet, call.path, "", "Accept: "+call.accept).Code
			if got != http.StatusTooManyRequests {
				t.Errorf("%s %s: %d while all slots of %s are taken", call.path, call.accept, got, name)
			}
			full.Leave(caller)
			if got := h.call(http.MethodGet, call.path, "", "Accept: "+call.accept).Code; got != http.StatusNotFound {
				t.Errorf("%s %s: %d afterwards", call.path, call.accept, got)
			}
		}
	}
}

func TestAnArchiveIsUnpackedInItsTurn(t *testing.T) {
	h := newEnv(t, func(c *server.Config) {
		c.Concurrency = server.Concurrency{PerCaller: 1, PerWorkspace: 3, Wait: time.Millisecond}
	})
	send := func() int {
		return h.call(
			http.MethodPost, "/api/prompt-templates/import", "no archive", "Content-Type: "+"application/zip",
		).Code
	}
	caller := identity.Actor{User: "usr_1"}
	require.NoError(t, h.Gates.Enter(t.Context(), caller))
	if got := send(); got != http.StatusTooManyRequests {
		t.Errorf("status %d while another request runs", got)
	}
	h.Gates.Leave(caller)
	if got := send(); got != http.StatusBadRequest {
		t.Errorf("status %d afterwards", got)
	}
}
