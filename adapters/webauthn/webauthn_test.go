package webauthn_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/adapters/webauthn"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	acme      = account.RelyingParty{Host: "acme.example.com", Name: "Acme", Origin: "https://acme.example.com"}
	challenge = bytes.Repeat([]byte{7}, 40)
)

// options are for a challenge, and to create a credential of the user ann.
func options(challenge []byte) map[string]any {
	encode := base64.RawURLEncoding.EncodeToString
	return map[string]any{"challenge": encode(challenge), "user": map[string]any{"id": encode([]byte("ann"))}}
}

func body(t *testing.T, response map[string]any) []byte {
	t.Helper()
	b, err := json.Marshal(response)
	require.NoError(t, err)
	return b
}

// lies are what an authenticator or a page can do wrong. Each takes the authenticator and the options of a response.
var lies = map[string]func(a *fixture.Authenticator, o map[string]any){
	"another challenge": func(_ *fixture.Authenticator, o map[string]any) {
		o["challenge"] = base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{8}, 40))
	},
	"a page of another origin": func(a *fixture.Authenticator, _ map[string]any) { a.Origin = "https://evil.example.com" },
	"a page of another port":   func(a *fixture.Authenticator, _ map[string]any) { a.Origin += ":8443" },
	"a page over plain http":   func(a *fixture.Authenticator, _ map[string]any) { a.Origin = "http://acme.example.com" },
	"another relying party":    func(a *fixture.Authenticator, _ map[string]any) { a.RP = "example.com" },
	"no user verification":     func(a *fixture.Authenticator, _ map[string]any) { a.Flags = fixture.UserPresent },
	"no user presence":         func(a *fixture.Authenticator, _ map[string]any) { a.Flags = fixture.UserVerified },
	"another purpose":          func(a *fixture.Authenticator, _ map[string]any) { a.Purpose = "payment.get" },
}

func TestCreated(t *testing.T) {
	t.Run("a credential that was created here", func(t *testing.T) {
		a := fixture.NewAuthenticator(t, acme.Host, acme.Origin)
		a.Flags |= fixture.BackupReady
		response := body(t, a.Create(t, options(challenge)))
		credential, clientData, err := webauthn.Verifier{}.Read(response)
		if err != nil || !bytes.Equal(credential, a.ID) || !json.Valid(clientData) {
			t.Fatalf("it reads %x, %s, %v", credential, clientData, err)
		}
		newValue, err := webauthn.Verifier{}.Created(acme, "ann", challenge, response)
		if err != nil || !bytes.Equal(newValue.Credential, a.ID) || len(newValue.PublicKey) == 0 || !newValue.Synced {
			t.Errorf("it made %+v, %v", newValue, err)
		}
	})
	for name, lie := range lies {
		t.Run("not with "+name, func(t *testing.T) {
			a, o := fixture.NewAuthenticator(t, acme.Host, acme.Origin), options(challenge)
			lie(a, o)
			_, err := webauthn.Verifier{}.Created(acme, "ann", challenge, body(t, a.Create(t, o)))
			assert.ErrorIs(t, err, account.ErrPasskeyInvalid)
		})
	}
	t.Run("not what is no response", func(t *testing.T) {
		a := fixture.NewAuthenticator(t, acme.Host, acme.Origin)
		for _, response := range []string{"", "{}", "null", `{"id":"AA"}`, `{"id":"AA","rawId":"AA","type":"public-key"}`,
			string(body(t, a.Sign(t, options(challenge))))} {
			if _, err := (webauthn.Verifier{}).Created(acme, "ann", challenge, []byte(response)); !errors.Is(err,
				account.ErrPasskeyInvalid) {
				t.Errorf("%s: error %v", response, err)
			}
		}
	})
}

func TestSigned(t *testing.T) {
	passkeyOf := func(t *testing.T) (*fixture.Authenticator, *account.Passkey) {
		t.Helper()
		a := fixture.NewAuthenticator(t, acme.Host, acme.Origin)
		item, err := webauthn.Verifier{}.Created(acme, "ann", challenge, body(t, a.Create(t, options(challenge))))
		require.NoError(t, err)
		return a, &account.Passkey{User: "ann", Host: acme.Host, Credential: item.Credential, PublicKey: item.PublicKey}
	}
	t.Run("a signature of the passkey, with its counter", func(t *testing.T) {
		a, k := passkeyOf(t)
		a.Counts, a.Count = true, 41
		response := body(t, a.Sign(t, options(challenge)))
		count, err := webauthn.Verifier{}.Signed(acme, k, challenge, response, false)
		if err != nil || count != 42 {
			t.Errorf("%d, %v", count, err)
		}
	})
	t.Run("a counter that goes back is not the adapter's to judge", func(t *testing.T) {
		a, k := passkeyOf(t)
		k.SignCount, a.Count = 9, 3
		count, err := webauthn.Verifier{}.Signed(acme, k, challenge, body(t, a.Sign(t, options(challenge))), true)
		if err != nil || count != 3 {
			t.Errorf("%d, %v", count, err)
		}
	})
	t.Run("without a user only if someone has said who it is", func(t *testing.T) {
		a, k := passkeyOf(t)
		for _, handle := range []any{nil, ""} {
			response := a.Sign(t, options(challenge))
			response["response"].(map[string]any)["userHandle"] = handle
			for isNamed, want := range map[bool]error{true: nil, false: account.ErrPasskeyInvalid} {
				_, err := webauthn.Verifier{}.Signed(acme, k, challenge, body(t, response), isNamed)
				assert.ErrorIs(t, err, want)
			}
		}
	})
	for name, lie := range lies {
		t.Run("not with "+name, func(t *testing.T) {
			a, k := passkeyOf(t)
			o := options(challenge)
			lie(a, o)
			_, err := webauthn.Verifier{}.Signed(acme, k, challenge, body(t, a.Sign(t, o)), true)
			assert.ErrorIs(t, err, account.ErrPasskeyInvalid)
		})
	}
	t.Run("not by another key, for another user, or changed", func(t *testing.T) {
		a, k := passkeyOf(t)
		other, _ := passkeyOf(t)
		other.ID, other.Handle = a.ID, a.Handle
		changedValues := a.Sign(t, options(challenge))
		changedValues["response"].(map[string]any)["authenticatorData"] =
			other.Sign(t, options(challenge))["response"].(map[string]any)["signature"]
		stranger := *a
		stranger.Handle = []byte("bob")
		for name, response := range map[string]map[string]any{
			"another key": other.Sign(t, options(challenge)), "changed": changedValues,
			"another user": stranger.Sign(t, options(challenge)), "nothing": {},
		} {
			_, err := webauthn.Verifier{}.Signed(acme, k, challenge, body(t, response), true)
			if !errors.Is(err, account.ErrPasskeyInvalid) {
				t.Errorf("%s: error %v", name, err)
			}
		}
	})
}
