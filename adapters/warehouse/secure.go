package warehouse

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"

	"github.com/atrium-hq/atrium/domain/connection"
)

// TLSConfig returns a credential's TLS configuration: nil if it uses none. It depends only on the credential's fields;
// authorities are its own, or the machine's if it has none.
func TLSConfig(c connection.Credential) (*tls.Config, error) {
	mode := c.TLSMode()
	if mode == connection.Disable {
		return nil, nil
	}
	name := strings.TrimSuffix(c.Text(connection.FieldHost), ".")
	config := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
	if ca := c.Text(connection.FieldTLSCA); ca != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return nil, errors.New("authorities that the credential should have refused")
		}
	}
	certificate, err := c.ClientCertificate()
	if err != nil {
		return nil, errors.New("a client certificate that the credential should have refused")
	}
	if certificate != nil {
		config.Certificates = []tls.Certificate{{Certificate: certificate.Chain, PrivateKey: certificate.Key}}
	}
	switch mode {
	case connection.VerifyFull:
	case connection.VerifyCA:
		config.InsecureSkipVerify = true // and verify all but the name
		config.VerifyConnection = func(s tls.ConnectionState) error { return VerifyChain(s, config.RootCAs, "") }
	case connection.Require:
		config.InsecureSkipVerify = true // as the credential asks
	default:
		return nil, errors.New("a mode of TLS that the credential should have refused")
	}
	return config, nil
}

// SignInError returns the sign-in's error: AuthRejected if the server closed the connection to a client with a
// certificate. In TLS 1.3 the handshake ends before the server has seen the certificate, and the alert with which it
// refuses it can be lost when it closes the connection.
func SignInError(c connection.Credential, err error) error {
	if c.Text(connection.FieldTLSCert) == "" {
		return err
	}
	for _, code := range []connection.Code{connection.PortClosed, connection.HostUnreachable,
		connection.NotThisDatabase} {
		if errors.Is(err, code) {
			return connection.AuthRejected
		}
	}
	return err
}

// Unverified returns the TLS configuration with which a server is asked whether it speaks TLS: it accepts any
// certificate, so nothing may be sent that was not already sent unencrypted. name is the server's; "" for an address.
func Unverified(name string) *tls.Config {
	return &tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // as said
}

// VerifyChain verifies a server's certificate: that an authority of roots signed it, and that it is for name, if there
// is one.
func VerifyChain(s tls.ConnectionState, roots *x509.CertPool, name string) error {
	intermediates := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates,
		DNSName: name})
	return err
}

// Secure starts TLS on a connection whose server is ready for it. It returns TLSUnsupported if the server closes the
// connection without an answer, as servers do that do not support TLS.
func Secure(ctx context.Context, r *Recorder, config *tls.Config) (*tls.Conn, error) {
	start := r.Count()
	c := tls.Client(r, config)
	if err := c.HandshakeContext(ctx); err != nil {
		if ctx.Err() != nil { // which closes the connection
			return nil, Classify(ctx, ctx.Err())
		}
		if r.Count() == start && r.Ended() {
			return nil, connection.TLSUnsupported
		}
		err = Classify(ctx, err)
		if errors.Is(err, connection.Internal) || errors.Is(err, connection.PortClosed) {
			return nil, connection.TLSUnsupported
		}
		return nil, err
	}
	return c, nil
}
