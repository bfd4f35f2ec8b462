package rest

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const (
	aTemplate  = "ptpl_01jb4rqnx1e5btz2s1v2j9k3mn"
	aWorkspace = "wsp_01jb4rqnx1e5btz2s1v2j9k3mn"
	aTrace     = "4bf92f3577b34da6a3ce929d0e0e4736"
)

// line returns the last line of the log about a request, without its duration.
func (h *env) line() map[string]any {
	h.t.Helper()
	var last map[string]any
	for text := range strings.Lines(h.log.String()) {
		var line map[string]any
		require.NoError(h.t, json.Unmarshal([]byte(text), &line))
		if line["msg"] == "request" {
			last = line
		}
	}
	if ms, ok := last["ms"].(float64); !ok || ms < 0 {
		h.t.Errorf("ms is %v", last["ms"])
	}
	for _, name := range []string{"time", "level", "msg", "ms"} {
		delete(last, name)
	}
	return last
}

// samples returns the values of a metric by their labels; of a histogram how often it was observed.
func (h *env) samples(name string) map[string]float64 {
	h.t.Helper()
	registry, ok := h.Metrics.(*prometheus.Registry)
	if !ok {
		h.t.Fatalf("the metrics are in a %T", h.Metrics)
	}
	families, err := registry.Gather()
	require.NoError(h.t, err)
	out := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			out[strings.Join(labels, " ")] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

func TestBrowsersKeepToTLSThatEndsAtTheServer(t *testing.T) {
	h := newEnv(t)
	for path, protocol := range map[string]*tls.ConnectionState{"/api/health/live": {}, "/no/such/path": {}, "/": nil} {
		want := ""
		if protocol != nil {
			want = "max-age=63072000"
		}
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.TLS = protocol
		h.ServeHTTP(w, r)
		assert.Equal(t, path, w.Header().Get("Strict-Transport-Security"), want)
	}
}

func TestTheLogLineOfARequest(t *testing.T) {
	h := newEnv(t)
	h.prompts.EXPECT().Get(gomock.Any(), gomock.Any(), prompt.ID(aTemplate)).AnyTimes().Return(nil, prompt.ErrNotFound)
	h.lists.EXPECT().Visible(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes()
	const one, route = promptsPath + "/" + aTemplate, promptsPath + "/{prompt_template_id}"
	for name, tt := range map[string]struct {
		path    string
		headers []string
		want    map[string]any // in addition to what every line has
	}{
		"a request that succeeds has no code": {promptsPath, nil, map[string]any{"route": promptsPath, "status": 200.0,
			"workspace_id": "wsp_1"}},
		"a refused one has the code of its problem": {one, nil, map[string]any{"route": route, "status": 404.0,
			"workspace_id": "wsp_1", "code": prompt.ErrNotFound.Code}},
		"it has the trace of the client": {one, []string{"traceparent: 00-" + aTrace + "-00f067aa0ba902b7-01"},
			map[string]any{"route": route, "status": 404.0, "workspace_id": "wsp_1",
				"code": prompt.ErrNotFound.Code, "trace_id": aTrace}},
		"a traceparent of the wrong form is left out": {one, []string{"traceparent: 00-" + aTrace},
			map[string]any{"route": route, "status": 404.0, "workspace_id": "wsp_1",
				"code": prompt.ErrNotFound.Code}},
		"it has the workspace that the path names": {"/api/workspaces/" + aWorkspace, []string{"Accept: text/html"},
			map[string]any{"route": "/api/workspaces/{workspace_id}", "status": 406.0, "workspace_id": aWorkspace,
				"code": "not_acceptable"}},
	} {
		t.Run(name, func(t *testing.T) {
			h.log.Reset()
			w := h.call(http.MethodGet, tt.path, "", append(tt.headers, "Request-Id: r-1")...)
			for name, value := range map[string]any{"request_id": "r-1", "method": "GET", "address": "192.0.2.1",
				"bytes": float64(w.Body.Len()), "org": "default", "user_id": "usr_1", "api_key_id": "key_1"} {
				tt.want[name] = value
			}
			assert.NoDiff(t, "the line", cmp.Diff(tt.want, h.line()))
		})
	}
	t.Run("a caller who is not known has none of their fields", func(t *testing.T) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, one, nil))
		got := h.line()
		want := map[string]any{"request_id": got["request_id"], "method": "GET", "address": "192.0.2.1",
			"bytes": float64(w.Body.Len()), "org": "default", "route": route, "status": 401.0,
			"code": identity.ErrUnauthenticated.Code}
		assert.NoDiff(t, "the line", cmp.Diff(want, got))
	})
}

func TestWhatIsCountedOfRequests(t *testing.T) {
	h := newEnv(t, func(c *server.Config) { c.RateLimit.UnauthenticatedPerMinute = 1 })
	h.unchecked = true
	h.prompts.EXPECT().Get(gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().Return(nil, prompt.ErrNotFound)
	for i := range 3 {
		h.call(http.MethodGet, fmt.Sprintf("%s/ptpl_01jb4rqnx1e5btz2s1v2j9k3m%d", promptsPath, i), "")
		h.call(fmt.Sprint("BREW", i), fmt.Sprint("/nothing/", i), "")
	}
	for range 2 { // the second one is beyond the limit
		stranger := httptest.NewRequestWithContext(t.Context(), http.MethodGet, promptsPath, nil)
		stranger.Header.Set("Authorization", "Bearer atk_unknown")
		h.ServeHTTP(httptest.NewRecorder(), stranger)
	}
	for name, want := range map[string]map[string]float64{
		"atrium_problems_total": {
			"code=" + prompt.ErrNotFound.Code:          3,
			"code=not_found":                           3,
			"code=" + identity.ErrUnauthenticated.Code: 1,
			"code=rate_limited":                        1,
		},
		"atrium_refusals_total": {"reason=address_rate": 1},
		"atrium_authentications_total": {
			"credential=api_key outcome=accepted": 3,
			"credential=api_key outcome=refused":  1,
		},
		"http_server_request_duration_seconds": {
			"method=GET route=" + promptsPath + "/{prompt_template_id} status=404": 3,
			"method=other route=unmatched status=404":                              3,
			"method=GET route=" + promptsPath + " status=401":                      1,
			"method=GET route=" + promptsPath + " status=429":                      1,
		},
	} {
		assert.NoDiff(t, name, cmp.Diff(want, h.samples(name)))
	}
}
