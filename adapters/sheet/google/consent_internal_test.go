package google

import (
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

const verifier = "a-verifier-of-at-least-43-characters-000000000000"

// consents is Google with an org's client, and the adapter.
func consents(t *testing.T) (*fixture.Google, *Accounts, connection.OAuthClient) {
	t.Helper()
	g := fixture.NewGoogle(t)
	c := config(g)
	c.RevokeURL = g.URL + "/revoke"
	client := connection.OAuthClient{ID: g.Consents.ClientID, Secret: secret.New(g.Consents.ClientSecret),
		RedirectURI: "https://atrium.example.com/console/consent"}
	g.Consents.RedirectURIs = []string{client.RedirectURI}
	return g, NewAccounts(c), client
}

// code gives consent and returns the code of it.
func code(t *testing.T, g *fixture.Google, a *Accounts, client connection.OAuthClient, scopes ...string) string {
	t.Helper()
	reply := g.Decide(t, a.Address(client, "the state", verifier), "ada@example.com", scopes...)
	if reply.Query().Get("state") != "the state" {
		t.Fatalf("sent back to %s", reply)
	}
	return reply.Query().Get("code")
}

func given(t *testing.T, g *fixture.Google, a *Accounts, client connection.OAuthClient) connection.Credential {
	t.Helper()
	c, err := a.Exchange(t.Context(), client, code(t, g, a, client, scope), verifier)
	require.NoError(t, err)
	return c
}

func TestConsentsOfPeople(t *testing.T) {
	t.Run("the address asks for offline access to spreadsheets, and for the e-mail address", func(t *testing.T) {
		_, a, client := consents(t)
		u, err := url.Parse(a.Address(client, "s", verifier))
		require.NoError(t, err)
		q := u.Query()
		if u.Host != "accounts.google.com" || q.Get("access_type") != "offline" || q.Get("prompt") != "consent" ||
			q.Get("scope") != "openid email "+scope || strings.Contains(u.String(), verifier) ||
			strings.Contains(u.String(), client.Secret.Reveal()) {
			t.Errorf("address %s", u)
		}
	})
	t.Run("a code is exchanged for the credential of the person", func(t *testing.T) {
		g, a, client := consents(t)
		c := given(t, g, a, client)
		if !c.IsConsent() || c.Text(connection.FieldGoogleAccount) != "ada@example.com" ||
			!strings.HasPrefix(c.Secret(connection.FieldRefreshToken).Reveal(), fixture.GoogleRefresh) {
			t.Errorf("credential %s", c.Config())
		}
		if r := a.Probe(t.Context(), ports.Target{Credential: c, OAuth: client,
			Limits: ports.DefaultLimits()}); r.Failure() != "" {
			t.Errorf("probe %+v", r)
		}
	})
	for name, tt := range map[string]struct {
		change func(g *fixture.Google, code, verifier *string, client *connection.OAuthClient)
		scopes []string
		want   error
	}{
		"another verifier": {func(_ *fixture.Google, _, verifier *string, _ *connection.OAuthClient) {
			*verifier = strings.Repeat("x", 43)
		}, []string{scope}, connection.ErrConsentInvalid},
		"a code that does not exist": {func(_ *fixture.Google, code, _ *string, _ *connection.OAuthClient) {
			*code = "4/other"
		}, []string{scope}, connection.ErrConsentInvalid},
		"a wrong client secret": {func(_ *fixture.Google, _, _ *string, client *connection.OAuthClient) {
			client.Secret = secret.New("wrong")
		}, []string{scope}, connection.Internal},
		"another redirect URI": {func(_ *fixture.Google, _, _ *string, client *connection.OAuthClient) {
			client.RedirectURI += "/"
		}, []string{scope}, connection.AuthFailed},
		"Google that is away": {func(g *fixture.Google, _, _ *string, _ *connection.OAuthClient) {
			g.Consents.Down(true)
		}, []string{scope}, connection.HostUnreachable},
		"a permission that was left out": {func(*fixture.Google, *string, *string, *connection.OAuthClient) {}, nil,
			connection.ErrConsentIncomplete},
	} {
		t.Run("no credential is given for "+name, func(t *testing.T) {
			g, a, client := consents(t)
			code, v := code(t, g, a, client, tt.scopes...), verifier
			tt.change(g, &code, &v, &client)
			_, err := a.Exchange(t.Context(), client, code, v)
			assert.ErrorIs(t, err, tt.want)
		})
	}
	t.Run("a code works once", func(t *testing.T) {
		g, a, client := consents(t)
		code := code(t, g, a, client, scope)
		if _, err := a.Exchange(t.Context(), client, code, verifier); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Exchange(t.Context(), client, code, verifier); !errors.Is(err, connection.ErrConsentInvalid) {
			t.Errorf("error %v", err)
		}
	})
	claims := func(text string) string { return "e30." + base64.RawURLEncoding.EncodeToString([]byte(text)) + ".x" }
	t.Run("an ID token for another client, of another issuer or an old one names no one", func(t *testing.T) {
		for _, token := range []string{"", "a.b", "e30.e30.x",
			claims(`{"iss":"https://accounts.google.com","aud":"other","email":"a@b.c","exp":9999999999}`),
			claims(`{"iss":"https://other.test","aud":"c","email":"a@b.c","exp":9999999999}`),
			claims(`{"iss":"accounts.google.com","aud":"c","email":"a@b.c","exp":1}`),
			claims(`{"iss":"accounts.google.com","aud":"c","exp":9999999999}`)} {
			if email, ok := person(token, "c", time.Now()); ok {
				t.Errorf("%q names %q", token, email)
			}
		}
	})
}

// ended is the source of a token that Google no longer accepts.
type ended struct{}

func (ended) Token() (*oauth2.Token, error) {
	return &oauth2.Token{AccessToken: fixture.GoogleAccess + "x"}, nil
}

func TestSheetsOfPeople(t *testing.T) {
	googleOf := func(t *testing.T) (*fixture.Google, *Accounts, *Sheets, ports.SheetTarget) {
		g, a, client := consents(t)
		url := g.Put(team())
		g.Consents.Share(url, "ada@example.com")
		return g, a, newSheets(a.config, newClock().now), ports.SheetTarget{
			Location: source.SheetLocation{URL: url}, Account: given(t, g, a, client),
			Offer: ports.SheetOffer{GoogleClient: client},
		}
	}
	t.Run("a person's consent reads what is shared with them", func(t *testing.T) {
		_, _, s, target := googleOf(t)
		if sheet := preview(t, s, target); sheet.Title != "Team" {
			t.Errorf("sheet %+v", sheet)
		}
	})
	t.Run("and nothing else", func(t *testing.T) {
		g, _, s, target := googleOf(t)
		target.Location.URL = g.Put(team())
		_, err := s.Preview(t.Context(), "wsp_1", target)
		if !errors.Is(err, source.ErrSheetNotShared) || !strings.Contains(err.Error(), "ada@example.com") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a withdrawn consent ends reads at once, although the access token has not expired", func(t *testing.T) {
		g, a, s, target := googleOf(t)
		preview(t, s, target)
		require.NoError(t, a.Withdraw(t.Context(), target.Account))
		target.Location.Tab = "It's more" // which is not cached
		_, err := s.Preview(t.Context(), "wsp_1", target)
		assert.ErrorIs(t, err, source.ErrSheetConsentEnded)
		if r := a.Probe(t.Context(), ports.Target{Credential: target.Account, OAuth: target.Offer.GoogleClient,
			Limits: ports.DefaultLimits()}); r.Failure() != connection.ConsentEnded {
			t.Errorf("probe %+v", r)
		}
		assert.EqualSlice(t, "Google refused", g.Consents.Refusals(), []string{"invalid_grant", "invalid_grant"})
	})
	t.Run("an access token that Google ended early is replaced", func(t *testing.T) {
		_, _, s, target := googleOf(t)
		preview(t, s, target)
		account, err := s.accounts.forTarget(target)
		require.NoError(t, err)
		account.tokens.current = ended{}
		target.Location.Tab = "It's more"
		if sheet := preview(t, s, target); sheet.Tab.Title != "It's more" {
			t.Errorf("sheet %+v", sheet)
		}
	})
	t.Run("a consent to a client that the org no longer has is over", func(t *testing.T) {
		g, _, s, target := googleOf(t)
		target.Offer.GoogleClient.ID = "other"
		if _, err := s.Preview(t.Context(), "wsp_1", target); !errors.Is(err, source.ErrSheetConsentEnded) {
			t.Errorf("error %v", err)
		}
		if said := g.Consents.Refusals(); said != nil {
			t.Errorf("Google refused %q", said)
		}
	})
	t.Run("a withdrawal has worked if Google did it before, and not if Google is away", func(t *testing.T) {
		g, a, _, target := googleOf(t)
		g.Consents.Down(true)
		if err := a.Withdraw(t.Context(), target.Account); err == nil {
			t.Error("no error")
		}
		g.Consents.Down(false)
		for range 2 {
			assert.NoError(t, a.Withdraw(t.Context(), target.Account))
		}
		if live, revokedCount := g.Consents.Live(); live != 0 || revokedCount != 1 {
			t.Errorf("%d tokens, %d revocations", live, revokedCount)
		}
	})
}
