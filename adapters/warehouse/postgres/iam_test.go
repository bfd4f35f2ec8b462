package postgres_test

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// rdsPostgres is Amazon RDS before the server of these tests. It returns its port.
func rdsPostgres(t *testing.T, r *fixture.RDS) uint16 {
	t.Helper()
	s := shared(t)
	return fixture.PostgresFront(t, s.authority.ServerTLS(t, "127.0.0.1"),
		net.JoinHostPort("127.0.0.1", strconv.Itoa(int(s.port))), r.Check)
}

// iamTarget is a target at rdsPostgres with the key of r, some of whose fields are changed. PostgreSQL trusts its user.
func iamTarget(t *testing.T, r *fixture.RDS, port uint16, changes map[string]any) ports.Target {
	t.Helper()
	s := shared(t)
	target := warehouses.HostTarget(t, connection.Postgres, map[string]any{
		"host": "127.0.0.1", "port": port, "database": "postgres", "username": "with_token",
		"aws_access_key_id": r.KeyID, "aws_secret_access_key": r.Secret, "aws_region": r.Region,
		"tls_ca": s.authority.PEM,
	}, changes)
	target.Limits.Connect, target.Limits.Total = 20*time.Second, 30*time.Second
	return target
}

func TestAUserOfRDSSignsInWithAToken(t *testing.T) {
	for name, open := range map[string]func(*testing.T) ports.Warehouse{
		"directly": direct, "through the child": warehouses.Confined[*testing.T],
	} {
		t.Run(name, func(t *testing.T) {
			r := fixture.NewRDS()
			w, target := open(t), iamTarget(t, r, rdsPostgres(t, r), nil)
			if report := w.Probe(t.Context(), target); report.Failure() != "" {
				t.Errorf("the probe failed: %+v", report.Checks)
			}
			p, err := w.Preview(t.Context(), target, connection.PreviewQuery{Table: ref("kinds"), Rows: 1})
			if err != nil || len(p.Rows) != 1 {
				t.Errorf("%d rows, %v", len(p.Rows), err)
			}
		})
	}
}

func TestARefusedTokenSaysWhatToCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		changes map[string]any
		ahead   time.Duration
	}{
		"another key":                    {changes: map[string]any{"aws_access_key_id": "AKIAI44QH8DHBEXAMPLE"}},
		"another secret":                 {changes: map[string]any{"aws_secret_access_key": warehouses.Canary}},
		"another region":                 {changes: map[string]any{"aws_region": "us-east-1"}},
		"a clock that is 16 minutes off": {ahead: 16 * time.Minute},
		"a clock that is ahead":          {ahead: -6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			r := fixture.NewRDS()
			r.Ahead = tt.ahead
			target := iamTarget(t, r, rdsPostgres(t, r), tt.changes)
			trial := connection.Trial{Report: direct(t).Probe(t.Context(), target), At: time.Unix(1, 0)}
			failure, ok := errors.AsType[*connection.ProbeError](trial.Failure(target.Credential))
			if !ok || failure.Failure.Code != connection.AuthRejected {
				t.Fatalf("failure %+v", failure)
			}
			if !strings.Contains(failure.Failure.Hint, "clock") || !strings.Contains(failure.Failure.Hint, "rds_iam") {
				t.Errorf("hint: %s", failure.Failure.Hint)
			}
		})
	}
}
