package warehouse_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/clickhouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/mysql"
	"github.com/atrium-hq/atrium/adapters/warehouse/postgres"
	"github.com/atrium-hq/atrium/adapters/warehouse/sqlserver"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

func guard(target ports.Target, end time.Time) warehouse.Network {
	return egress.New(egress.Rules{Allow: target.Egress.Allow, Port: func(uint16) bool { return true },
		Connect: target.Limits.Connect, Deadline: end, Bytes: target.Limits.Bytes})
}

var wires = map[connection.Kind]ports.Warehouse{
	connection.Postgres:   postgres.New(guard),
	connection.MySQL:      mysql.New(guard),
	connection.ClickHouse: clickhouse.New(guard),
	connection.SQLServer:  sqlserver.New(guard),
}

// probe tries a connection of a kind to a port, as a person does who has entered the wrong one.
func probe(t *testing.T, kind connection.Kind, port uint16, mode string) connection.Failure {
	t.Helper()
	target := warehouses.HostTarget(t, kind, map[string]any{"host": "127.0.0.1", "port": port, "database": "d",
		"username": "u", "password": "p", "tls": mode}, nil)
	target.Limits.Connect, target.Limits.Total = 4*time.Second, 20*time.Second
	trial := connection.Trial{Report: wires[kind].Probe(t.Context(), target), At: time.Unix(1, 0)}
	failedFault, ok := errors.AsType[*connection.ProbeError](trial.Failure(target.Credential))
	if !ok {
		t.Error("the probe passed")
		return connection.Failure{}
	}
	return failedFault.Failure
}

// wantService checks that each kind of warehouse names the service at a port, with TLS and without.
func wantService(t *testing.T, port uint16, service connection.Service, kinds ...connection.Kind) {
	t.Helper()
	var all sync.WaitGroup // most of the time is waiting for servers that say nothing
	for _, kind := range kinds {
		for _, mode := range []string{"require", "disable"} {
			all.Go(func() {
				f := probe(t, kind, port, mode)
				if f.Code != connection.NotThisDatabase || f.Answered != service {
					t.Errorf("%s with TLS mode %s: %s, answered %q, want %q", kind, mode, f.Code, f.Answered, service)
				}
				if strings.Contains(f.Hint, "TLS mode") || !strings.Contains(f.Hint, "port") {
					t.Errorf("%s with TLS mode %s: %s", kind, mode, f.Hint)
				}
			})
		}
	}
	all.Wait()
}

func portOf(t *testing.T, address string) uint16 {
	t.Helper()
	_, digits, err := net.SplitHostPort(strings.TrimSuffix(address[strings.LastIndexAny(address, "/(")+1:], ")"))
	require.NoError(t, err)
	port, err := strconv.ParseUint(digits, 10, 16)
	require.NoError(t, err)
	return uint16(port)
}

func TestAProbeNamesTheServiceAtAWrongPort(t *testing.T) {
	const pg, my, ch, ms = connection.Postgres, connection.MySQL, connection.ClickHouse, connection.SQLServer
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		wantService(t, portOf(t, services.Redis(t).URL), connection.ServiceRedis, pg, my, ch, ms)
	})
	t.Run("SSH", func(t *testing.T) {
		t.Parallel()
		port := portOf(t, services.SSH(t))
		wantService(t, port, connection.ServiceSSH, pg, my, ch)
		wantService(t, port, connection.ServiceSSH, ms) // afterwards: the server drops some of many connections at once
	})
	t.Run("a web server", func(t *testing.T) {
		t.Parallel()
		address := services.Nginx(t, "server { listen 127.0.0.1:PORT; location / { return 404; } }", nil)
		wantService(t, portOf(t, address), connection.ServiceHTTP, pg, my, ms)
		if f := probe(t, ch, portOf(t, address), "disable"); f.Answered != connection.ServiceHTTP {
			t.Errorf("ClickHouse: %+v", f)
		}
	})
	t.Run("a web server with TLS", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		server.StartTLS()
		t.Cleanup(server.Close)
		wantService(t, portOf(t, server.URL), connection.ServiceTLS, pg, my, ms)
	})
	t.Run("the native protocol of ClickHouse", func(t *testing.T) {
		t.Parallel()
		native := fixture.FreePort(t)
		server, err := services.StartClickHouse(fmt.Sprintf("<tcp_port>%d</tcp_port>", native), clickHouseUsers, nil)
		require.NoError(t, err)
		t.Cleanup(server.Stop)
		wantService(t, native, connection.ServiceClickHouseNative, pg, my, ch, ms)
		if f := probe(t, ch, native, "require"); !strings.Contains(f.Hint, "8443") {
			t.Errorf("hint: %s", f.Hint)
		}
		wantService(t, portOf(t, strings.Trim(server.URL, "/")), connection.ServiceHTTP, pg, my, ms)
		f := probe(t, ch, portOf(t, strings.Trim(server.URL, "/")), "require")
		if f.Code != connection.TLSUnsupported || !strings.Contains(f.Hint, "TLS mode") {
			t.Errorf("the right port without TLS: %+v", f)
		}
	})
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		server, err := services.StartMariaDB(nil, nil)
		require.NoError(t, err)
		t.Cleanup(server.Stop)
		port := portOf(t, server.URL[:strings.LastIndexByte(server.URL, '/')])
		wantService(t, port, connection.ServiceMySQL, pg, ch, ms)
		if f := probe(t, my, port, "require"); f.Code != connection.TLSUnsupported ||
			f.Answered != connection.ServiceMySQL || !strings.Contains(f.Hint, "TLS mode") {
			t.Errorf("the right port without TLS: %+v", f)
		}
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		u, err := url.Parse(services.Postgres(t))
		require.NoError(t, err)
		port := portOf(t, u.Host)
		wantService(t, port, connection.ServicePostgres, my, ch, ms)
		if f := probe(t, pg, port, "require"); f.Code != connection.TLSUnsupported ||
			f.Answered != connection.ServicePostgres || !strings.Contains(f.Hint, "TLS mode") {
			t.Errorf("the right port without TLS: %+v", f)
		}
	})
	t.Run("SQL Server", func(t *testing.T) {
		t.Parallel()
		config := fixture.NewAuthority(t).ServerTLS(t, "127.0.0.1")
		port := fixture.NewSQLServer(t, fixture.SQLServerMandatory, config).Port
		wantService(t, port, connection.ServiceSQLServer, pg, my, ch)
		wantService(t, fixture.NewSQLServer(t, fixture.SQLServerStrict, config).Port, connection.ServiceTLS, pg, my)
		plain := fixture.NewSQLServer(t, fixture.SQLServerPlain, nil).Port
		if f := probe(t, ms, plain, "require"); f.Code != connection.TLSUnsupported ||
			f.Answered != connection.ServiceSQLServer || !strings.Contains(f.Hint, "TLS mode") {
			t.Errorf("the right port without TLS: %+v", f)
		}
	})
	t.Run("a server that says nothing is not named", func(t *testing.T) {
		t.Parallel()
		f := probe(t, ch, fixture.Listener(t, fixture.Silence), "disable")
		if f.Code != connection.ConnectTimeout || f.Answered != "" {
			t.Errorf("failure %+v", f)
		}
	})
	t.Run("a mail server", func(t *testing.T) {
		t.Parallel()
		wantService(t, fixture.Listener(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "220 mail.example.com ESMTP\r\n")
			_, _ = io.Copy(io.Discard, c)
		}), connection.ServiceMail, pg, my, ch, ms)
	})
}

// clickHouseUsers lets in the user default, as StartClickHouse wants it.
const clickHouseUsers = `<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default>
	<password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
	</default></users></yandex>`

func TestAWebServerThatTakesTLSForTheStartOfARequestHasNoTLS(t *testing.T) {
	t.Parallel()
	port := fixture.Listener(t, func(c net.Conn) {
		first := make([]byte, 4096)
		if n, err := c.Read(first); err != nil || n == 0 || first[0] == 0x16 { // a handshake (RFC 8446, section 5.1)
			fixture.Silence(c)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
	})
	f := probe(t, connection.ClickHouse, port, "require")
	if f.Code != connection.TLSUnsupported || f.Answered != connection.ServiceHTTP {
		t.Errorf("%s, answered %q", f.Code, f.Answered)
	}
}
