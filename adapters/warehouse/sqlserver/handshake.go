package sqlserver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"

	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// fieldEncrypt is the credential field for how a connection is encrypted: "mandatory" by TLS within TDS 7.4, "strict"
// by TLS around TDS 8.0.
const fieldEncrypt = "encrypt"

// handshake opens the connections of one sign-in for the driver, and remembers what the driver's errors hide.
type handshake struct {
	ctx     context.Context // the sign-in's
	network warehouse.Network
	to      ports.Target
	name    string // of the server, for its certificate
	wire    *wire  // the current connection
	opened  int    // connections that the driver got

	encrypted bool  // the server's certificate has been accepted
	untrusted error // why it has not
	refused   error // why the driver was refused a connection
}

// HostName makes the driver leave the resolution of names to DialContext.
func (h *handshake) HostName() string { return h.name }

// DialContext returns the connection that is already open, and later a connection to the server that this one names:
// Azure and listeners of availability groups route clients to another server (MS-TDS, ENVCHANGE type 20). The rules of
// the network apply to that server too. A child process can only connect to the port of the credential.
func (h *handshake) DialContext(_ context.Context, network, address string) (net.Conn, error) {
	h.opened++
	switch {
	case h.opened == 1:
		return h.wire, nil
	case h.opened > 2, network != "tcp": // it routes in circles, or asks for an instance's port
		h.refused = connection.NotThisDatabase
		return nil, h.refused
	}
	host, text, err := net.SplitHostPort(address)
	port, invalid := strconv.ParseUint(text, 10, 16)
	switch {
	case err != nil || invalid != nil:
		h.refused = connection.NotThisDatabase
	case !h.to.Credential.HasTunnel() && uint16(port) != h.to.Credential.Port():
		h.refused = connection.NetworkNotAllowed
	default:
		h.refused = h.open(host, uint16(port), nil)
	}
	if h.refused != nil {
		return nil, h.refused
	}
	return h.wire, nil
}

// open connects to a server.
func (h *handshake) open(host string, port uint16, trace *warehouse.Trace) error {
	r, err := warehouse.OpenAt(h.ctx, h.network, host, port, trace)
	if err != nil {
		return err
	}
	if h.wire != nil {
		h.wire.release()
		_ = h.wire.Close()
	}
	h.name = host
	h.wire = &wire{Recorder: r, plain: h.to.Credential.TLSMode() == connection.Disable}
	h.wire.release = warehouse.Limit(h.ctx, r)
	return nil
}

// strict reports whether TLS comes before the first packet.
func (h *handshake) strict() bool { return h.to.Credential.Text(fieldEncrypt) == "strict" }

// encryption returns the driver's settings of TLS. The driver returns a handshake's errors as texts, so the certificate
// is verified here.
func (h *handshake) encryption() (msdsn.Encryption, *tls.Config, error) {
	config, err := warehouse.TLSConfig(h.to.Credential)
	if config == nil || err != nil {
		return msdsn.EncryptionDisabled, nil, err
	}
	verify := config.VerifyConnection
	if !config.InsecureSkipVerify {
		verify = func(state tls.ConnectionState) error { return warehouse.VerifyChain(state, config.RootCAs, h.name) }
	}
	config.InsecureSkipVerify = true // and verify in VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if verify != nil {
			h.untrusted = verify(state)
		}
		h.encrypted = h.untrusted == nil
		return h.untrusted
	}
	if h.strict() {
		return msdsn.EncryptionStrict, config, nil
	}
	return msdsn.EncryptionRequired, config, nil
}

// wire is a connection that the driver uses.
type wire struct {
	*warehouse.Recorder
	plain   bool   // it must not be encrypted
	begun   bool   // the first packet was sent
	refused bool   // the server requires TLS
	release func() // ends the limit of the sign-in
}

// packetPrelogin is the type of the packets that negotiate encryption (MS-TDS, section 2.2.3.1.1).
const packetPrelogin = 0x12

// Write refuses a handshake on a connection that is not to be encrypted: the driver would begin one if the server
// requires it, and then accept any certificate.
func (w *wire) Write(b []byte) (int, error) {
	if w.plain && w.begun && len(b) > 0 && b[0] == packetPrelogin {
		w.refused = true
		return 0, errors.New("the server requires TLS")
	}
	w.begun = true
	return w.Recorder.Write(b)
}

// speaksTDS reports whether the server's first packet has a response's header (MS-TDS, section 2.2.3.1).
func (w *wire) speaksTDS() bool {
	const response, last = 0x04, 0x01
	first := w.First()
	return len(first) >= 2 && first[0] == response && first[1]&^last == 0
}
