package rest

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func TestEqualRequestsAtTheSameTimeReadTheirAnswerOnce(t *testing.T) {
	const path = promptsPath + "/ptpl_01jb4rqnx1e5btz2s1v2j9k3mn/versions/active"
	for _, tt := range []struct {
		name      string
		meanwhile func(h *env) // while the first request reads
		failing   bool         // its read fails
		headers   []string     // of the other requests
		reads     int64        // 0 if the others may share one
	}{
		{"nothing changes", func(*env) {}, false, nil, 1},
		{"a change is stored meanwhile", func(h *env) { h.changes.generation++ }, false, nil, 2},
		{"the read of the first one fails", func(*env) {}, true, nil, 0},
		{"no-cache does not wait", func(*env) {}, false, []string{"Cache-Control: no-cache"}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newEnv(t)
				h.unchecked = true
				var reads atomic.Int64
				goOn := make(chan struct{})
				a := gomock.Any()
				h.prompts.EXPECT().GetVersion(a, a, a, a).AnyTimes().DoAndReturn(
					func(context.Context, identity.Actor, prompt.ID, prompt.Ref) (
						*prompt.Reading, *prompt.Version, error,
					) {
						first := reads.Add(1) == 1
						<-goOn
						if first && tt.failing {
							return nil, nil, errors.New("the database has gone")
						}
						t := &prompt.Reading{ID: "ptpl_01jb4rqnx1e5btz2s1v2j9k3mn", Type: prompt.Text,
							Subject: access.Subject{Workspace: "wsp_1", Owner: "usr_1"}}
						v := &prompt.Version{}
						v.ID, v.Template, v.Number, v.Revision = "pver_1", t.ID, 1, 1
						v.Content = prompt.Content{Text: "Hello"}
						return t, v, nil
					})
				var requests sync.WaitGroup
				var answeredCount atomic.Int64
				get := func(headers ...string) {
					requests.Go(func() {
						if w := h.call("GET", path, "", headers...); w.Code == http.StatusOK {
							answeredCount.Add(1)
						}
					})
				}
				get()
				synctest.Wait()
				tt.meanwhile(h)
				for range 3 {
					get(tt.headers...)
				}
				synctest.Wait()
				close(goOn)
				requests.Wait()
				want := int64(4)
				if tt.failing {
					want = 3
				}
				if n := reads.Load(); (n != tt.reads && tt.reads != 0) || answeredCount.Load() != want {
					t.Errorf("%d reads, want %d; %d answers", n, tt.reads, answeredCount.Load())
				}
				if w := h.call("GET", path, ""); w.Code != http.StatusOK { // it waits for no other
					t.Errorf("a later request: %d", w.Code)
				}
			})
		})
	}
}
