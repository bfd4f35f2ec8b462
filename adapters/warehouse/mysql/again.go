package mysql

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // the protocol's
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// kill ends the session's statement at the server through a second session. Otherwise the server would continue until
// its timeout, since it does not notice that the connection ended. The second session may reach another server behind
// the same address, so it ends only a session that runs the same statement.
func (s *session) kill() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), warehouse.CancelTimeout)
	defer cancel()
	encryption, err := warehouse.TLSConfig(s.to.Credential)
	if err != nil {
		return
	}
	trace := warehouse.NewTrace()
	recorder, err := warehouse.Open(ctx, s.network, s.to, trace)
	if err != nil {
		return
	}
	k := &session{ctx: ctx}
	if err := k.start(ctx, recorder, encryption, s.to, trace); err != nil {
		_ = recorder.Close()
		return
	}
	defer k.Close()
	statement, _, _ := strings.Cut(s.running, "?") // up to the first placeholder, which the server shows as a value
	thread := strconv.FormatUint(uint64(s.wire.thread), 10)
	found, err := k.query(`SELECT COUNT(*) FROM information_schema.PROCESSLIST
		WHERE ID = `+thread+` AND LEFT(INFO, CHAR_LENGTH(?)) = ?`, statement, statement)
	if err == nil && isTrue(found) {
		_ = k.run(`KILL ` + thread) // its own timeout remains
	}
}

// wantsTLS reports whether a server that refused a user without TLS accepts the user with TLS: MariaDB's error is the
// same as for a wrong password. It signs in on a second connection, whose certificate is not verified. The server gets
// only what was already sent unencrypted: the response to a challenge that proves the password (mysql_native_password).
func wantsTLS(ctx context.Context, n warehouse.Network, target ports.Target) bool {
	recorder, err := warehouse.Open(ctx, n, target, warehouse.NewTrace())
	if err != nil {
		return false
	}
	defer func() { _ = recorder.Close() }()
	w, err := readGreeting(ctx, recorder)
	if err != nil || w.flags&capTLS == 0 {
		return false
	}
	defer warehouse.Limit(ctx, recorder)()
	if _, err := recorder.Write(packet(1, capabilities())); err != nil {
		return false
	}
	tlsConn := tls.Client(recorder, warehouse.Unverified(""))
	return signIn(tlsConn, w.seed, target.Credential)
}

const nativePassword = "mysql_native_password" //nolint:gosec // a name

// capabilities is the beginning of both the request for TLS and the sign-in: the client's capabilities, the size of its
// packets, and its character set.
func capabilities() []byte {
	const connectWithDB, utf8mb4 = 1 << 3, 45
	flags := uint32(capProtocol41 | capTLS | capSecureAuth | capPluginAuth | connectWithDB)
	head := binary.LittleEndian.AppendUint32(nil, flags)
	head = binary.LittleEndian.AppendUint32(head, maxGreeting)
	return append(append(head, utf8mb4), make([]byte, 23)...)
}

// signIn reports whether a server accepts a credential by mysql_native_password.
func signIn(c net.Conn, seed []byte, credential connection.Credential) bool {
	password := credential.Secret(connection.FieldPassword).Reveal()
	proof := scramble(password, seed)
	body := append(capabilities(), credential.Text(connection.FieldUsername)...)
	body = append(append(body, 0, byte(len(proof))), proof...) //nolint:gosec // 20 bytes at most
	body = append(append(body, credential.Text(connection.FieldDatabase)...), 0)
	body = append(append(body, nativePassword...), 0)
	if _, err := c.Write(packet(2, body)); err != nil {
		return false
	}
	number, answer := readPacket(c)
	const accepted, another = 0, 0xfe
	if len(answer) > 0 && answer[0] == another {
		method, data, _ := bytes.Cut(answer[1:], []byte{0})
		if string(method) != nativePassword || len(data) < len(seed) {
			return false
		}
		if _, err := c.Write(packet(number+1, scramble(password, data[:len(seed)]))); err != nil {
			return false
		}
		_, answer = readPacket(c)
	}
	return len(answer) > 0 && answer[0] == accepted
}

// scramble returns a password's proof that mysql_native_password wants for a seed; empty if there is no password.
func scramble(password string, seed []byte) []byte {
	if password == "" {
		return nil
	}
	hash := sha1.Sum([]byte(password))                             //nolint:gosec // the protocol's
	hashOfHash := sha1.Sum(hash[:])                                //nolint:gosec // as before
	proof := sha1.Sum(append(bytes.Clone(seed), hashOfHash[:]...)) //nolint:gosec // as before
	for i := range proof {
		proof[i] ^= hash[i]
	}
	return proof[:]
}

// packet returns a packet of the protocol with its number.
func packet(number byte, body []byte) []byte {
	n := len(body)
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), number}, body...) //nolint:gosec // its low bytes
}

// readPacket returns a packet and its number; nil if none came, or one that is too large.
func readPacket(c net.Conn) (number byte, body []byte) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil || length(head) > maxGreeting {
		return 0, nil
	}
	body = make([]byte, length(head))
	if _, err := io.ReadFull(c, body); err != nil {
		return 0, nil
	}
	return head[3], body
}
