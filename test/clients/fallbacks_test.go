package clients

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/atrium-hq/atrium/test/support/proof"
)

// TestAFallbackComesSoon has a server that accepts requests and does not answer them. Callers with a fallback do not
// wait for it long, share one request, and do not repeat it at once.
func TestAFallbackComesSoon(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, d driver) {
		requests, end := atomic.Int64{}, make(chan struct{})
		hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			requests.Add(1)
			<-end
		}))
		t.Cleanup(func() { close(end); hung.Close() })
		connect := command{Do: "new", Settings: &settings{Base: hung.URL, TimeoutMS: 30_000}}
		if r := d.do(t, connect, nil); r.Error != nil {
			t.Fatalf("%+v", r.Error)
		}
		prompts := func(name, fallback string, count int, after float64) object {
			t.Helper()
			r := d.do(t, command{Do: "prompts", Name: name, Count: count,
				Prompt: &promptOptions{Fallback: fallback, FallbackAfter: after}}, nil)
			if r.Error != nil {
				t.Fatalf("%+v", r.Error)
			}
			return r.Value.(object)
		}
		got := prompts("one", "Hi", 20, 0.1)
		texts, warnings := got["texts"].([]any), got["warnings"].([]any)
		if slices.ContainsFunc(texts, func(text any) bool { return text != "fallback Hi" }) {
			t.Errorf("%v", texts)
		}
		proof.Eventually(t, "the server gets a request", func() bool { return requests.Load() > 0 })
		if len(warnings) != 1 || !strings.Contains(warnings[0].(string), "one") ||
			!strings.Contains(warnings[0].(string), "no answer") {
			t.Errorf("the log has %q", warnings)
		}
		// For five seconds it is not tried again, however long a call would wait.
		got = prompts("one", "", 1, 3600)
		if texts = got["texts"].([]any); texts[0] != "fallback " || requests.Load() != 1 {
			t.Errorf("%d requests, %q", requests.Load(), texts)
		}
		if warnings := got["warnings"].([]any); len(warnings) != 0 {
			t.Errorf("in the same outage, the log has %q", warnings)
		}
		if !proof.Running() {
			return
		}
		if got := prompts("two", "Hi", 20, 0); got["milliseconds"].(float64) > 2500 {
			t.Errorf("by default, a fallback comes after %.0f ms", got["milliseconds"])
		}
	})
}
