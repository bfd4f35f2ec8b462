package server

import (
	"bytes"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/domain/identity"
)

func TestTheLogLineOfARequestNeedsNoAllocation(t *testing.T) {
	var out bytes.Buffer
	a := &API{Deps: Deps{Log: slog.New(slog.NewTextHandler(&out, nil))}}
	a.Measures = newMeasures(prometheus.NewRegistry(), func() int { return 0 })
	r := httptest.NewRequest(http.MethodGet, "/api/me", nil)
	x := &exchange{begun: time.Now(), observed: Observation{
		ID: "req_1", Route: "/api/me", Address: "192.0.2.1", status: http.StatusOK, bytes: 10, User: "usr_1",
		Key: "key_1", session: "ses_1", Workspace: "wsp_1", Org: &identity.Org{Slug: "default"}, Code: "code",
		trace: "trace",
	}}
	least := math.Inf(1) // with the race detector, pools forget some of their contents
	for range 50 {
		least = min(least, testing.AllocsPerRun(1, func() { out.Reset(); a.logRequest(r, x) }))
	}
	if least > 0 {
		t.Errorf("%.0f allocations", least)
	}
	if !bytes.Contains(out.Bytes(), []byte("workspace_id=wsp_1 code=code trace_id=trace\n")) {
		t.Errorf("the line is %s", out.Bytes())
	}
}
