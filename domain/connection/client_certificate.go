package connection

import (
	"crypto"
	"crypto/x509"
	_ "embed"
	"encoding/pem"
	"errors"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
)

// The client certificate's fields, which every kind has whose descriptor says "client_certificate".
const (
	FieldTLSCert          = "tls_cert"
	FieldTLSKey           = "tls_key"
	fieldTLSKeyPassphrase = "tls_key_passphrase" //nolint:gosec // a field's name
)

//go:embed client_certificate.json
var clientCertificateProperties []byte

// ClientCertificate is a certificate that shows a server who connects.
type ClientCertificate struct {
	Chain [][]byte // in DER, the certificate first
	Key   crypto.Signer
}

// ClientCertificate returns c's client certificate; nil if it has none. Its form was checked by ParseCredential.
func (c Credential) ClientCertificate() (*ClientCertificate, error) {
	if c.Text(FieldTLSCert) == "" {
		return nil, nil
	}
	chain, certificate, err := parseChain(c.Text(FieldTLSCert))
	if err != nil {
		return nil, err
	}
	key, err := parseSigner(c.secrets[FieldTLSKey].Reveal(), c.secrets[fieldTLSKeyPassphrase].Reveal())
	if err != nil {
		return nil, err
	}
	public, ok := key.Public().(interface {
		Equal(other crypto.PublicKey) bool
	})
	if !ok || !public.Equal(certificate.PublicKey) {
		return nil, errOtherKey
	}
	return &ClientCertificate{Chain: chain, Key: key}, nil
}

var (
	errOtherKey    = errors.New("the key does not belong to the certificate")
	errNoChain     = errors.New("not one or more certificates in PEM")
	errNoSigner    = errors.New("not a private key in PEM")
	errNeedsSecret = errors.New("the private key has a passphrase")
)

// checkClientCertificate finds what is missing or wrong in a client certificate.
func (c Credential) checkClientCertificate() []fault.Field {
	field := func(name, code, detail string) []fault.Field {
		return []fault.Field{{Pointer: "/credential/" + name, Code: code, Detail: detail}}
	}
	hasCertificate, hasKey := c.Text(FieldTLSCert) != "", !c.secrets[FieldTLSKey].IsZero()
	switch {
	case !hasCertificate && !hasKey && c.secrets[fieldTLSKeyPassphrase].IsZero():
		return nil
	case !hasCertificate:
		return field(FieldTLSCert, "required", "Must be given with a key or its passphrase.")
	case !hasKey:
		return field(FieldTLSKey, "required", "Must be given with the certificate.")
	case c.TLSMode() == Disable:
		return field(FieldTLSCert, "not_allowed_value", "Is only for connections that are encrypted.")
	}
	switch _, err := c.ClientCertificate(); {
	case errors.Is(err, errNoChain):
		return field(FieldTLSCert, "invalid_format", "Must be one or more certificates in PEM.")
	case errors.Is(err, errNeedsSecret):
		return field(fieldTLSKeyPassphrase, "required", "Must be given, because the key has a passphrase.")
	case errors.Is(err, errLocked):
		return field(fieldTLSKeyPassphrase, "invalid_format",
			"Does not open the key. Leave it empty if the key has no passphrase.")
	case errors.Is(err, errOtherKey):
		return field(FieldTLSKey, "invalid_format", "Does not belong to the certificate.")
	case err != nil:
		return field(FieldTLSKey, "invalid_format", "Must be a private key in PEM: RSA, ECDSA or Ed25519.")
	}
	return nil
}

// parseChain reads certificates in PEM, and returns the first one.
func parseChain(text string) (chain [][]byte, first *x509.Certificate, err error) {
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			return nil, nil, errNoChain
		}
		if first == nil {
			first = certificate
		}
		chain = append(chain, block.Bytes)
	}
	if first == nil {
		return nil, nil, errNoChain
	}
	return chain, first, nil
}

// parseSigner reads a private key in PEM: PKCS #8 with or without a passphrase, PKCS #1, or SEC 1. Its errors quote
// nothing of the key.
func parseSigner(text, passphrase string) (crypto.Signer, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || strings.TrimSpace(string(rest)) != "" || len(block.Bytes) > maxRSA {
		return nil, errNoSigner
	}
	der := block.Bytes
	switch isLocked := block.Type == lockedKey; {
	case isLocked && passphrase == "":
		return nil, errNeedsSecret
	case !isLocked && passphrase != "":
		return nil, errLocked
	case isLocked:
		var err error
		if der, err = unlock(der, passphrase); err != nil {
			return nil, errLocked
		}
	}
	var parsed any
	var err error
	switch block.Type {
	case "PRIVATE KEY", lockedKey:
		parsed, err = x509.ParsePKCS8PrivateKey(der)
	case "RSA PRIVATE KEY":
		parsed, err = x509.ParsePKCS1PrivateKey(der)
	case "EC PRIVATE KEY":
		parsed, err = x509.ParseECPrivateKey(der)
	}
	key, ok := parsed.(crypto.Signer)
	switch {
	case block.Type == lockedKey && (err != nil || !ok):
		return nil, errLocked // the padding of a wrong key may fit
	case err != nil || !ok:
		return nil, errNoSigner
	}
	return key, nil
}
