package server

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

// sealer is AES-GCM under a key of this process: a stand-in for the keyring.
type sealer struct{ cipher.AEAD }

func newSealer(f *testing.F) sealer {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	block, err := aes.NewCipher(key)
	require.NoError(f, err)
	aead, err := cipher.NewGCM(block)
	require.NoError(f, err)
	return sealer{aead}
}

func (s sealer) Seal(plain, context []byte) ([]byte, error) {
	nonce := make([]byte, s.NonceSize())
	_, _ = rand.Read(nonce)
	return s.AEAD.Seal(nonce, nonce, plain, context), nil
}

func (s sealer) Open(ciphertext, context []byte) ([]byte, error) {
	if len(ciphertext) < s.NonceSize() {
		return nil, errors.New("too short")
	}
	return s.AEAD.Open(nil, ciphertext[:s.NonceSize()], ciphertext[s.NonceSize():], context)
}

// FuzzCursor looks for forged cursors that a list accepts. It also checks that a list accepts the cursors
// that it made, and that no other list does.
func FuzzCursor(f *testing.F) {
	a := &API{Now: Now, Deps: Deps{Sealer: newSealer(f)}}
	list := func(workspace identity.WorkspaceID, query url.Values) *Call {
		return &Call{Request: httptest.NewRequest(http.MethodGet, "/api/events", nil), API: a,
			By: identity.Actor{Org: "org_1", Workspace: workspace}, Query: query}
	}
	next, err := list("wsp_1", nil).Next("position")
	require.NoError(f, err)
	for _, cursor := range []string{next.MustGet(), "", "A", "AAAA", next.MustGet() + "A", next.MustGet()[1:], "....",
		"\x00", "a=b&c"} {
		f.Add(cursor, "position", "type", "x")
	}
	f.Fuzz(func(t *testing.T, cursor, position, name, value string) {
		if _, err := list("wsp_1", url.Values{"cursor": {cursor}}).Page(); cursor != "" && cursor != next.MustGet() &&
			err == nil {
			t.Errorf("%q, which no list has made, is taken", cursor)
		} else if err != nil && !errors.Is(err, openapi.ErrInvalidCursor) {
			t.Errorf("%q: %v", cursor, err)
		}
		if position == "" || name == "cursor" || name == "limit" {
			return
		}
		filter := url.Values{name: {value}}
		ciphertext, err := list("wsp_1", filter).Next(position)
		require.NoError(t, err)
		item := url.Values{name: {value}, "cursor": {ciphertext.MustGet()}, "limit": {"7"}}
		if q, err := list("wsp_1", item).Page(); err != nil || q.After != position {
			t.Errorf("its own list reads %q as %q, %v", position, q.After, err)
		}
		for _, other := range []*Call{list("wsp_2", item), list("wsp_1", url.Values{"cursor": {ciphertext.MustGet()}}),
			list("wsp_1", url.Values{name: {value + "x"}, "cursor": {ciphertext.MustGet()}})} {
			if q, err := other.Page(); err == nil {
				t.Errorf("another list takes it: %+v", q)
			}
		}
	})
}
