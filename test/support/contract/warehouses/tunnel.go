package warehouses

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// Tunnel is the suite for kinds that are reached through an SSH server. That server is OpenSSH's.
func Tunnel(t *testing.T, harness Harness) {
	w := harness.Open(t)
	harness.Reader(t) // starts the warehouse
	server := services.SSHForwarding(t)
	throughProxy := func(t *testing.T, changes map[string]any) ports.Target {
		t.Helper()
		return throughSSH(t, harness.Kind, server, harness.Reader(t), changes)
	}
	t.Run("a probe and a list of tables are as without it", func(t *testing.T) {
		quiet(t, harness)
		for name, changes := range map[string]map[string]any{
			"with a key": nil,
			"with a key in a passphrase": {"ssh_private_key": server.LockedKey,
				"ssh_passphrase": services.SSHPassphrase},
		} {
			r := w.Probe(t.Context(), throughProxy(t, changes))
			if wantSteps(t, r); r.Failure() != "" || r.Server.Version == "" {
				t.Errorf("%s: %+v", name, r)
			}
			tellsNothing(t, r)
		}
		got, err := w.Tables(t.Context(), throughProxy(t, nil), connection.TableQuery{Limit: 100})
		want, failure := w.Tables(t.Context(), harness.Reader(t), connection.TableQuery{Limit: 100})
		if diff := cmp.Diff(want, got); err != nil || failure != nil || diff != "" {
			t.Errorf("%v %v: %s", err, failure, diff)
		}
	})
	t.Run("a table is previewed as without it", func(t *testing.T) {
		for table, want := range harness.Previews {
			got, err := w.Preview(t.Context(), throughProxy(t, nil), connection.PreviewQuery{Table: table, Rows: 3})
			if diff := cmp.Diff(want.Rows, got.Rows, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("%v: %v %s", table, err, diff)
			}
		}
	})
	t.Run("an answer that is larger than allowed", func(t *testing.T) {
		target := throughProxy(t, nil)
		target.Limits.Bytes = 24 << 10
		for table, wide := range harness.Previews {
			if !wide.Truncated {
				continue // the others may be smaller
			}
			if err := Previewing(table)(t.Context(), w, target); err == nil {
				t.Error("it was read")
			}
		}
	})
	other := services.SSHForwarding(t)
	for name, tt := range map[string]struct {
		changes map[string]any
		code    connection.Code
	}{
		"another host key": {map[string]any{"ssh_host_key": other.HostKey}, connection.SSHHostKeyMismatch},
		"a key of no user": {map[string]any{"ssh_private_key": server.Stranger}, connection.SSHAuthFailed},
		"a wrong passphrase": {map[string]any{"ssh_private_key": server.LockedKey, "ssh_passphrase": Canary},
			connection.SSHAuthFailed},
		"a password of no user": {map[string]any{"ssh_private_key": nil, "ssh_password": Canary},
			connection.SSHAuthFailed},
		"a user without the right": {map[string]any{"ssh_private_key": server.IdleKey},
			connection.SSHForwardingRefused},
		"a database that is not there": {map[string]any{"port": fixture.ClosedPort(t)},
			connection.SSHTargetUnreachable},
		"a server that is not there": {map[string]any{"ssh_port": fixture.ClosedPort(t)}, connection.PortClosed},
		"another service":            {map[string]any{"ssh_port": httpPort(t)}, connection.SSHUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.Probe(t.Context(), throughProxy(t, tt.changes))
			wantSteps(t, r)
			if i := slices.Index(connection.Steps(), connection.Connect); r.Checks[i].Code != tt.code {
				t.Errorf("%+v, want %s at connect", r.Checks, tt.code)
			}
			tellsNothing(t, r)
		})
	}
	t.Run("an SSH server in a network that the org does not allow", func(t *testing.T) {
		target := throughProxy(t, nil)
		target.Egress = identity.Egress{}
		if r := w.Probe(t.Context(), target); r.Checks[1].Code != connection.NetworkNotAllowed {
			t.Errorf("%+v", r.Checks)
		}
	})
	t.Run("a context that has ended ends the call", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := w.Tables(ctx, throughProxy(t, nil), connection.TableQuery{Limit: 1})
		wantErr(t, err, context.Canceled)
	})
}

// throughSSH returns a target as it is reached through an SSH server, with some fields changed.
func throughSSH(
	t *testing.T, kind connection.Kind, server services.SSHForwarder, target ports.Target, changes map[string]any,
) ports.Target {
	t.Helper()
	text, err := target.Credential.Reveal()
	must(t, err)
	var fields map[string]any
	must(t, json.Unmarshal(text, &fields))
	for name, v := range map[string]any{
		"ssh_host": "127.0.0.1", "ssh_port": server.Port, "ssh_username": server.Username,
		"ssh_host_key": server.HostKey, "ssh_private_key": server.Key,
	} {
		fields[name] = v
	}
	limits := target.Limits
	target = HostTarget(t, kind, fields, changes)
	target.Limits = limits
	return target
}

// httpPort returns the port of a server that answers everything as a web server does.
func httpPort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			_ = c.Close()
		}
	}()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}
