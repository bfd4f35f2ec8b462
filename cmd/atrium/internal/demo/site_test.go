package demo

import (
	"io"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestTheSampleProgramAnswersMessages(t *testing.T) {
	for body, want := range map[string]string{
		`{"type":"chat.message","messages":[{"content":"x"},{"content":"Where is my ORDER?"}]}`: "D-1042",
		`{"type":"chat.message","messages":[{"content":"?"}]}`:                                  "sample program",
		`{"type":"ping"}`: "",
	} {
		w := httptest.NewRecorder()
		answer(w, httptest.NewRequest("POST", "/replies", strings.NewReader(body)))
		var got strings.Builder
		for line := range strings.Lines(w.Body.String()) {
			if _, text, ok := strings.Cut(line, `{"text":"`); ok {
				got.WriteString(strings.TrimSuffix(strings.TrimSpace(text), `"}`))
			}
		}
		if w.Code != 200 || !strings.Contains(got.String(), want) || (want == "" && w.Body.Len() > 0) ||
			(want != "" && !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n")) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	answer(w, httptest.NewRequest("POST", "/replies", io.LimitReader(strings.NewReader("{"), 1)))
	assert.Equal(t, "half a body", w.Code, 400)
}

func TestTheSampleSiteListensOnlyForThisMachine(t *testing.T) {
	c := configs.Config{Data: t.TempDir()}
	c.Server.Addr = "0.0.0.0:8080"
	if s, err := OpenSite(t.Context(), c); s != nil || err != nil || s.URL() != "" {
		t.Errorf("a server that others reach: %v, %v", s, err)
	}
	c.Server.Addr = "127.0.0.1:8080"
	s, err := OpenSite(t.Context(), c)
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	defer func() { _ = s.listener.Close() }()
	if s.URL() != "" || filepath.Dir(s.file) != c.Data {
		t.Errorf("it shows a page without a chat: %+v", s)
	}
}
