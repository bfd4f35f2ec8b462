package postgres_test

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
	"github.com/atrium-hq/atrium/test/fixture"
)

// rdsPostgres is in front of the server of these tests, as Amazon RDS is in front of PostgreSQL: it requires TLS, asks
// for the password in the clear, and accepts a token as r checks it. Then it signs in to the server, and passes
// everything on. It returns its port.
func rdsPostgres(t *testing.T, r *fixture.RDS) uint16 {
	t.Helper()
	s := shared(t)
	config := s.authority.ServerTLS(t, "127.0.0.1")
	behind := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(s.port)))
	return fixture.Listener(t, func(c net.Conn) {
		var request [8]byte
		const sslRequest = 80877103
		if _, err := io.ReadFull(c, request[:]); err != nil || binary.BigEndian.Uint32(request[4:]) != sslRequest {
			return
		}
		if _, err := c.Write([]byte{'S'}); err != nil {
			return
		}
		secured := tls.Server(c, config)
		client := pgproto3.NewBackend(secured, secured)
		startup, err := client.ReceiveStartupMessage()
		start, ok := startup.(*pgproto3.StartupMessage)
		if err != nil || !ok {
			return
		}
		client.Send(&pgproto3.AuthenticationCleartextPassword{})
		if client.Flush() != nil || client.SetAuthType(pgproto3.AuthTypeCleartextPassword) != nil {
			return
		}
		answer, err := client.Receive()
		password, ok := answer.(*pgproto3.PasswordMessage)
		if err != nil || !ok {
			return
		}
		if err := r.Check(password.Password, c.LocalAddr().String(), start.Parameters["user"]); err != nil {
			client.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28000",
				Message: "PAM authentication failed for user \"" + start.Parameters["user"] + "\""})
			_ = client.Flush()
			return
		}
		server, err := net.Dial("tcp", behind)
		if err != nil {
			return
		}
		defer server.Close()
		frontend := pgproto3.NewFrontend(server, server)
		frontend.Send(start)
		if frontend.Flush() != nil {
			return
		}
		go func() {
			_, _ = io.Copy(server, secured)
			server.Close()
		}()
		_, _ = io.Copy(secured, server)
	})
}

// iamTarget is a target at rdsPostgres with the key of r, some of whose fields are changed. PostgreSQL trusts its user.
func iamTarget(t *testing.T, r *fixture.RDS, port uint16, changes map[string]any) ports.Target {
	t.Helper()
	s := shared(t)
	to := contract.HostTarget(t, connection.Postgres, map[string]any{
		"host": "127.0.0.1", "port": port, "database": "postgres", "username": "with_token",
		"aws_access_key_id": r.KeyID, "aws_secret_access_key": r.Secret, "aws_region": r.Region,
		"tls_ca": s.authority.PEM,
	}, changes)
	to.Limits.Connect, to.Limits.Total = 20*time.Second, 30*time.Second
	return to
}

func TestAUserOfRDSSignsInWithAToken(t *testing.T) {
	for name, open := range map[string]func(*testing.T) ports.Warehouse{
		"directly": direct, "through the child": fixture.ConfinedWarehouse[*testing.T],
	} {
		t.Run(name, func(t *testing.T) {
			r := fixture.NewRDS()
			w, to := open(t), iamTarget(t, r, rdsPostgres(t, r), nil)
			if report := w.Probe(t.Context(), to); report.Failure() != "" {
				t.Errorf("the probe failed: %+v", report.Checks)
			}
			p, err := w.Preview(t.Context(), to, connection.PreviewQuery{Table: ref("kinds"), Rows: 1})
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
		"another secret":                 {changes: map[string]any{"aws_secret_access_key": contract.WarehouseCanary}},
		"another region":                 {changes: map[string]any{"aws_region": "us-east-1"}},
		"a clock that is 16 minutes off": {ahead: 16 * time.Minute},
		"a clock that is ahead":          {ahead: -6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			r := fixture.NewRDS()
			r.Ahead = tt.ahead
			to := iamTarget(t, r, rdsPostgres(t, r), tt.changes)
			trial := connection.Trial{Report: direct(t).Probe(t.Context(), to), At: time.Unix(1, 0)}
			failed, ok := errors.AsType[*connection.ProbeError](trial.Failure(to.Credential))
			if !ok || failed.Failure.Code != connection.AuthRejected {
				t.Fatalf("failure %+v", failed)
			}
			if !strings.Contains(failed.Failure.Hint, "clock") || !strings.Contains(failed.Failure.Hint, "rds_iam") {
				t.Errorf("hint: %s", failed.Failure.Hint)
			}
		})
	}
}
