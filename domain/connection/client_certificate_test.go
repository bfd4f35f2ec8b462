package connection_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	_ "embed"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// A key that OpenSSL has locked by AES-256 with the passphrase "passphrase", and its certificate.
var (
	//go:embed testdata/client.key
	lockedKey string
	//go:embed testdata/client.crt
	lockedCertificate string
)

// certificateFor returns a certificate for a key in PEM.
func certificateFor(t *testing.T, key crypto.Signer) string {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestAClientCertificateIsCheckedWithItsKey(t *testing.T) {
	first, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(first)
	require.NoError(t, err)
	sec1 := string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	certificate := certificateFor(t, first)
	for name, tt := range map[string]struct {
		certificate, key, passphrase string // empty for none
		want                         string // pointer and code
		chain                        int
	}{
		"none":                           {},
		"an ECDSA key in PKCS #8":        {certificate, pemOf(t, "PRIVATE KEY", first), "", "", 1},
		"an ECDSA key in SEC 1":          {certificate, sec1, "", "", 1},
		"an RSA key in PKCS #1":          {certificateFor(t, other), pemOf(t, "RSA PRIVATE KEY", other), "", "", 1},
		"an Ed25519 key":                 {certificateFor(t, edwards), pemOf(t, "PRIVATE KEY", edwards), "", "", 1},
		"with an intermediate":           {certificate + certificateFor(t, other), sec1, "", "", 2},
		"a key with its passphrase":      {lockedCertificate, lockedKey, "passphrase", "", 1},
		"a key without its passphrase":   {lockedCertificate, lockedKey, "", "tls_key_passphrase required", 0},
		"a key with another passphrase":  {lockedCertificate, lockedKey, "x", "tls_key_passphrase invalid_format", 0},
		"a passphrase that no key needs": {certificate, sec1, "x", "tls_key_passphrase invalid_format", 0},
		"the key of another certificate": {certificate, pemOf(t, "PRIVATE KEY", other), "", "tls_key invalid_format", 0},
		"a broken key":                   {certificate, "-----BEGIN " + canary, "", "tls_key invalid_format", 0},
		"a key instead of a certificate": {sec1, sec1, "", "tls_cert invalid_format", 0},
		"what is no certificate":         {canary, sec1, "", "tls_cert invalid_format", 0},
		"a certificate without a key":    {certificate, "", "", "tls_key required", 0},
		"a key without a certificate":    {"", sec1, "", "tls_cert required", 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []connection.Kind{connection.Postgres, connection.MySQL} {
				c, got := certified(t, kind, connection.VerifyFull, tt.certificate, tt.key, tt.passphrase)
				if assert.Equal(t, string(kind), got, tt.want); got != "" {
					continue
				}
				pair, err := c.ClientCertificate()
				if err != nil || (pair == nil) != (tt.chain == 0) || (pair != nil && len(pair.Chain) != tt.chain) {
					t.Errorf("%s: %+v, %v", kind, pair, err)
				}
			}
		})
	}
}

func TestAClientCertificateIsOnlyForTLS(t *testing.T) {
	_, got := certified(t, connection.Postgres, connection.Disable, lockedCertificate, lockedKey, "passphrase")
	assert.Equal(t, "without TLS", got, "tls_cert not_allowed_value")
}

// certified parses a credential with a client certificate. It returns the first field that is wrong and its code.
func certified(
	t *testing.T, kind connection.Kind, mode connection.TLSMode, certificate, key, passphrase string,
) (connection.Credential, string) {
	t.Helper()
	fields := map[string]any{"host": "db.example.com", "database": "d", "username": "u", "tls": mode}
	for name, value := range map[string]string{"tls_cert": certificate, "tls_key": key,
		"tls_key_passphrase": passphrase} {
		if value != "" {
			fields[name] = value
		}
	}
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	c, err := connection.ParseCredential(kind, text)
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return c, strings.TrimPrefix(f.Fields[0].Pointer, "/credential/") + " " + f.Fields[0].Code
	}
	require.NoError(t, err)
	return c, ""
}
