package mysql_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
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

// rdsMySQL is in front of the server of these tests, as Amazon RDS is in front of MySQL: it requires TLS, asks for the
// password in the clear (mysql_clear_password), and accepts a token as r checks it. Then it signs in to the server, and
// passes everything on. It returns its port.
func rdsMySQL(t *testing.T, r *fixture.RDS) uint16 {
	t.Helper()
	s := shared(t)
	config := s.authority.ServerTLS(t, "127.0.0.1")
	backend := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(s.port)))
	return fixture.Listener(t, func(c net.Conn) {
		server, err := net.Dial("tcp", backend)
		if err != nil {
			return
		}
		defer server.Close()
		greeting := readPacket(server)
		if _, err := c.Write(packet(0, greeting)); err != nil {
			return
		}
		const size, withTLS, withDatabase, withAttributes = 32, 1 << 11, 1 << 3, 1 << 20
		if request := readPacket(c); len(request) != size || binary.LittleEndian.Uint32(request)&withTLS == 0 {
			return // without TLS there is no sign-in
		}
		tlsConn := tls.Server(c, config)
		response := readPacket(tlsConn)
		if len(response) <= size {
			return
		}
		user, rest, _ := bytes.Cut(response[size:], []byte{0})
		flags := binary.LittleEndian.Uint32(response)
		if len(rest) == 0 || len(rest) <= int(rest[0]) || flags&withDatabase == 0 {
			return
		}
		database, _, _ := bytes.Cut(rest[1+int(rest[0]):], []byte{0})
		if _, err := tlsConn.Write(packet(3, []byte("\xfemysql_clear_password\x00"))); err != nil {
			return
		}
		token := strings.TrimSuffix(string(readPacket(tlsConn)), "\x00")
		if err := r.Check(token, c.LocalAddr().String(), string(user)); err != nil {
			_, _ = tlsConn.Write(packet(5, []byte("\xff\x15\x04#28000Access denied for user")))
			return
		}
		login := binary.LittleEndian.AppendUint32(nil, flags&^(withTLS|withAttributes))
		login = append(append(login, response[4:size]...), user...)
		login = append(append(append(login, 0, 0), database...), "\x00mysql_native_password\x00"...)
		if _, err := server.Write(packet(1, login)); err != nil {
			return
		}
		if _, err := tlsConn.Write(packet(5, readPacket(server))); err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(server, tlsConn)
			server.Close()
		}()
		_, _ = io.Copy(tlsConn, server)
	})
}

// readPacket returns the body of a packet; nil if none came.
func readPacket(c net.Conn) []byte {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil
	}
	body := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	if _, err := io.ReadFull(c, body); err != nil {
		return nil
	}
	return body
}

// iamTarget is a target at rdsMySQL with the key of r, some of whose fields are changed. MariaDB lets its user in
// without a password.
func iamTarget(t *testing.T, r *fixture.RDS, changes map[string]any) ports.Target {
	t.Helper()
	target := warehouses.HostTarget(t, connection.MySQL, map[string]any{
		"host": "127.0.0.1", "port": rdsMySQL(t, r), "database": "shop", "username": "with_token",
		"aws_access_key_id": r.KeyID, "aws_secret_access_key": r.Secret, "aws_region": r.Region,
		"tls_ca": shared(t).authority.PEM,
	}, changes)
	target.Limits.Connect, target.Limits.Total = 20*time.Second, 30*time.Second
	return target
}

func TestAUserOfRDSSignsInWithAToken(t *testing.T) {
	for name, open := range map[string]func(*testing.T) ports.Warehouse{
		"directly": direct, "through the child": warehouses.Confined[*testing.T],
	} {
		t.Run(name, func(t *testing.T) {
			w, target := open(t), iamTarget(t, fixture.NewRDS(), nil)
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
	r := fixture.NewRDS()
	r.Ahead = 16 * time.Minute
	target := iamTarget(t, r, nil)
	trial := connection.Trial{Report: direct(t).Probe(t.Context(), target), At: time.Unix(1, 0)}
	fault, ok := errors.AsType[*connection.ProbeError](trial.Failure(target.Credential))
	if !ok || fault.Failure.Code != connection.AuthFailed || !strings.Contains(fault.Failure.Hint, "clock") {
		t.Errorf("failure %+v", fault)
	}
}
