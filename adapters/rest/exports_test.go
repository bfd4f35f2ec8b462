package rest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func TestDownloadsOfOneCallerTakeTurns(t *testing.T) {
	const all, most, path = 8, 2, "/api/prompt-templates/export"
	h := newEnv(t, func(c *Config) {
		c.Concurrency = Concurrency{PerCaller: most, PerWorkspace: 3, Wait: time.Millisecond}
	})
	begun, release := make(chan struct{}, all+1), make(chan struct{})
	h.lists.EXPECT().Visible(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(context.Context, identity.Actor, prompt.Filter, page.Query) (prompt.Page, error) {
			begun <- struct{}{}
			<-release
			return prompt.Page{}, nil
		})
	answers := make(chan *httptest.ResponseRecorder, all)
	for range all {
		go func() { answers <- h.call(http.MethodGet, path, "") }()
	}
	for range most {
		<-begun
	}
	for range all - most {
		select {
		case w := <-answers:
			if w.Code != http.StatusTooManyRequests || w.Header().Get("Content-Disposition") != "" {
				t.Errorf("%d, %v", w.Code, w.Header())
			}
		case <-begun:
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

func TestAnArchiveIsUnpackedInItsTurn(t *testing.T) {
	h := newEnv(t, func(c *Config) {
		c.Concurrency = Concurrency{PerCaller: 1, PerWorkspace: 3, Wait: time.Millisecond}
	})
	send := func() int {
		return h.call(http.MethodPost, "/api/prompt-templates/import", "no archive", "Content-Type: "+zipType).Code
	}
	caller := identity.Actor{User: "usr_1"}
	if err := h.gates.enter(t.Context(), caller); err != nil {
		t.Fatal(err)
	}
	if got := send(); got != http.StatusTooManyRequests {
		t.Errorf("status %d while another request runs", got)
	}
	h.gates.leave(caller)
	if got := send(); got != http.StatusBadRequest {
		t.Errorf("status %d afterwards", got)
	}
}
