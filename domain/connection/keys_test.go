package connection_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/test/support/require"
)

func pemOf(t *testing.T, kind string, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if k, ok := key.(*rsa.PrivateKey); ok && kind == "RSA PRIVATE KEY" {
		der, err = x509.MarshalPKCS1PrivateKey(k), nil
	}
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func TestPrivateKeys(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	elliptic, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	good := pemOf(t, "PRIVATE KEY", key)
	long := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: make([]byte, 1<<20)}))
	for name, tt := range map[string]struct {
		text string
		ok   bool
	}{
		"of PKCS #8":                   {good, true},
		"of PKCS #1":                   {pemOf(t, "RSA PRIVATE KEY", key), true},
		"with white space around":      {"\n" + good + " \n", true},
		"with a passphrase":            {pemOf(t, "ENCRYPTED PRIVATE KEY", key), false},
		"of another kind":              {pemOf(t, "PRIVATE KEY", elliptic), false},
		"with something behind":        {good + "secret", false},
		"that is public":               {strings.ReplaceAll(good, "PRIVATE", "PUBLIC"), false},
		"that is cut":                  {good[:200] + "\n-----END PRIVATE KEY-----\n", false},
		"that takes too long to parse": {long, false},
		"that is none":                 {"secret", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := connection.ParseRSAKey(tt.text)
			if (err == nil) != tt.ok || (tt.ok && !got.Equal(key)) {
				t.Errorf("error = %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("it quotes: %v", err)
			}
		})
	}
	t.Run("that a test's short key would be", func(t *testing.T) {
		t.Setenv("GODEBUG", "rsa1024min=0")
		short, err := rsa.GenerateKey(rand.Reader, 1024)
		require.NoError(t, err)
		if _, err := connection.ParseRSAKey(pemOf(t, "PRIVATE KEY", short)); err == nil {
			t.Error("1024 bits are enough")
		}
	})
	t.Run("of service accounts", func(t *testing.T) {
		file := func(changes map[string]any) string {
			fields := map[string]any{"type": "service_account", "client_email": "a@b", "private_key_id": "1",
				"private_key": good, "token_uri": "https://evil.example.com"}
			for name, v := range changes {
				fields[name] = v
			}
			text, err := json.Marshal(fields)
			require.NoError(t, err)
			return string(text)
		}
		if a, err := connection.ParseServiceAccount(file(nil)); err != nil || a.Email != "a@b" || a.KeyID != "1" ||
			!a.Key.Equal(key) {
			t.Errorf("%+v, %v", a, err)
		}
		for name, text := range map[string]string{
			"of a person":             file(map[string]any{"type": "authorized_user"}),
			"without an address":      file(map[string]any{"client_email": ""}),
			"without a key":           file(map[string]any{"private_key": ""}),
			"with a number for a key": file(map[string]any{"private_key": 1}), "that are no JSON": "secret",
		} {
			if _, err := connection.ParseServiceAccount(text); err == nil {
				t.Errorf("those %s are taken", name)
			}
			credential, err := json.Marshal(map[string]string{"project": "acme-analytics", "dataset": "shop",
				"service_account_key": text})
			require.NoError(t, err)
			_, err = connection.ParseCredential("bigquery", credential)
			invalid, ok := errors.AsType[*fault.Error](err)
			if !ok || len(invalid.Fields) != 1 || invalid.Fields[0].Code != "invalid_format" ||
				invalid.Fields[0].Pointer != "/credential/service_account_key" ||
				strings.Contains(invalid.Fields[0].Detail, "secret") {
				t.Errorf("those %s: %+v", name, err)
			}
		}
	})
}
