package google

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func TestCallersAtTheSameTimeShareTheQuestions(t *testing.T) {
	g, _, s, target := harness(t)
	all, joinedSignal := sync.WaitGroup{}, make(chan struct{})
	g.Answer(func(http.ResponseWriter, *http.Request) bool { <-joinedSignal; return false })
	for range 20 {
		all.Go(func() {
			if _, err := s.Preview(t.Context(), "wsp_1", target); err != nil {
				t.Error(err)
			}
		})
	}
	proof.Eventually(t, "20 callers wait", func() bool { return callers(s.books) >= 20 && callers(s.heads) >= 20 })
	close(joinedSignal)
	all.Wait()
	asked(t, g, "token", "tabs", "values A1:GR52")
}

// callers returns how many callers wait for answers.
func callers[K comparable, V any](c *cache[K, V]) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.requests {
		n += f.callers
	}
	return n
}

func TestNobodySeesWhatWasKeptForAnother(t *testing.T) {
	g, _, s, target := harness(t)
	preview(t, s, target)
	g.Requests()
	if _, err := s.Preview(t.Context(), "wsp_2", target); err != nil {
		t.Fatal(err)
	}
	asked(t, g, "tabs", "values A1:GR52")
	t.Run("nor one whose credential was not let in", func(t *testing.T) {
		target.Account = credential(t, g, map[string]string{"client_email": "other@tests.iam.gserviceaccount.com"})
		if _, err := s.Preview(t.Context(), "wsp_1", target); !errors.Is(err, source.ErrSheetNotShared) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestACallerWhoGoesAwayLeavesTheAnswerToTheOthers(t *testing.T) {
	g, _, s, target := harness(t)
	start, goOn := make(chan struct{}, 8), make(chan struct{})
	g.Answer(func(http.ResponseWriter, *http.Request) bool { start <- struct{}{}; <-goOn; return false })
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error), make(chan error)
	go func() { _, err := s.Preview(ctx, "wsp_1", target); first <- err }()
	<-start
	go func() { _, err := s.Preview(t.Context(), "wsp_1", target); second <- err }()
	cancel()
	assert.ErrorIs(t, <-first, context.Canceled)
	close(goOn)
	if err := <-second; err != nil {
		t.Errorf("the other is told %v", err)
	}
}

func TestTheLastCallerWhoGoesAwayTakesTheQuestionBack(t *testing.T) {
	g, _, s, target := harness(t)
	start, cut := make(chan struct{}, 8), make(chan struct{}, 8)
	g.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			return false
		}
		start <- struct{}{}
		<-r.Context().Done()
		cut <- struct{}{}
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := s.Preview(ctx, "wsp_1", target); done <- err }()
	<-start
	<-start
	cancel()
	assert.ErrorIs(t, <-done, context.Canceled)
	for range 2 {
		select {
		case <-cut:
		case <-time.After(proof.Patience):
			t.Fatal("Google is still asked, although no caller waits")
		}
	}
	g.Answer(nil)
	if _, err := s.Preview(t.Context(), "wsp_1", target); err != nil {
		t.Errorf("who asks afterwards is told %v", err)
	}
}

func TestWhatIsKeptIsShownWhileGoogleTakesNoMoreRequests(t *testing.T) {
	g, c, s, target := harness(t)
	preview(t, s, target)
	g.Answer(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "17")
		g.Fail(w, 429, "RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED")
		return true
	})
	c.advance(fresh + time.Second)
	if got := preview(t, s, target); got.Preview.Headers[0].Name != "Name" {
		t.Errorf("%+v", got)
	}
	c.advance(stale)
	_, err := s.Preview(t.Context(), "wsp_1", target)
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.RateLimited || f.RetryAfter != 17*time.Second {
		t.Errorf("err = %+v", err)
	}
	t.Run("but not once it is shared no more", func(t *testing.T) {
		quiet(s)
		g.Answer(nil)
		preview(t, s, target)
		c.advance(fresh + time.Second)
		g.Answer(func(w http.ResponseWriter, _ *http.Request) bool {
			g.Fail(w, 403, "PERMISSION_DENIED", "")
			return true
		})
		if _, err := s.Preview(t.Context(), "wsp_1", target); !errors.Is(err, source.ErrSheetNotShared) {
			t.Errorf("err = %v", err)
		}
		g.Answer(func(w http.ResponseWriter, _ *http.Request) bool {
			g.Fail(w, 429, "RESOURCE_EXHAUSTED", "")
			return true
		})
		if _, err := s.Preview(t.Context(), "wsp_1", target); !errors.Is(err, source.ErrSheetRateLimited) {
			t.Errorf("err = %v", err)
		}
	})
}
