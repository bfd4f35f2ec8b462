package e2e

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestTraces has a server send its traces to a collector of the test, configured with OpenTelemetry's environment
// variables.
func TestTraces(t *testing.T) {
	t.Parallel()
	backend, sentMessages := collector(t)
	d := deployMigrated(t, sqlite)
	d.env = append(d.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+backend, "OTEL_BSP_SCHEDULE_DELAY=50")
	s := d.start(t)
	ann := s.user(t, "owner")
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	template := ann.template(t, "traced")
	e := ann.embeds(t, nil)
	e.visit(t, fromShop).is(t, 200)
	e.page(t, "Referer: "+shop).is(t, 200)
	e.page(t).is(t, 403)
	ann.get(t, template, "traceparent: 00-"+trace+"-00f067aa0ba902b7-01")

	proof.Eventually(t, "a span of the request", func() bool {
		return strings.Contains(sentMessages(), "GET /api/prompt-templates/{prompt_template_id}")
	})
	s.stop(t)
	all := sentMessages()
	for name, want := range map[string]string{
		"the path of OTLP over HTTP": "/v1/traces", "the service's name": "atrium", "a statement's span": "sql.",
		"the caller's own trace": string([]byte{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6}),
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not there", name)
		}
	}
	if anyToken.MatchString(all) {
		t.Error("a token is in a trace")
	}
}

// metrics scrapes a server whose metrics.addr is set.
func (s *server) metrics(t *testing.T) string {
	t.Helper()
	addr := s.stderr.await(t, s, regexp.MustCompile(`"serving metrics","addr":"([^"]+)"`))[1]
	resp, err := http.Get("http://" + addr + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

// TestMetrics scrapes the second listener.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, set("metrics.addr", "127.0.0.1:0"))
	ann := s.user(t, "owner")
	ann.get(t, ann.template(t, "measured"))
	ann.do(t, "BREW", "/api/me", nil)
	text := s.metrics(t)
	for _, want := range []string{
		`http_server_request_duration_seconds_count{method="GET",route="/api/prompt-templates/{prompt_template_id}",status="200"} 1`,
		`http_server_request_duration_seconds_count{method="other",route="unmatched",status="405"} 1`,
		`atrium_build_info{engine="sqlite"`, `go_sql_open_connections{db_name="atrium"}`, "go_goroutines",
		"go_gc_gogc_percent 400", "go_gc_gomemlimit_bytes 5.36870912e+08",
		`atrium_presence_streams 0`, `atrium_people_online{org="default"} 0`, "atrium_job_queue_age_seconds",
		"atrium_jobs_queued", "atrium_database_size_bytes", `atrium_removals_overdue{kind="workspace"} 0`,
		"atrium_authentications_total", "atrium_clock_offset_seconds",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not there", want)
		}
	}
	if strings.Contains(text, "ptpl_") {
		t.Error("an identifier is in a label")
	}
	if resp, err := http.Get(s.url + "/metrics"); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("the API's own listener answers %v, %v", resp, err)
	}
}
