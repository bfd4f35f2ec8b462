package connections_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/connections"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// sheets is a warehouse that takes consents.
type sheets struct {
	*mocks.MockWarehouse
	*mocks.MockConsents
}

// consenting is an env whose org has an OAuth client for Google Sheets.
func consenting(t *testing.T) (*env, sheets) {
	t.Helper()
	s := newEnv(t)
	c := gomock.NewController(t)
	google := sheets{mocks.NewMockWarehouse(c), mocks.NewMockConsents(c)}
	s.sealer.EXPECT().Digest("consent state", gomock.Any()).AnyTimes().DoAndReturn(fixture.Digester{}.Digest)
	s.sealer.EXPECT().Digest("consent verifier", gomock.Any()).AnyTimes().DoAndReturn(fixture.Digester{}.Digest)
	s.offer = connections.Offer{Kinds: []connection.Kind{connection.GoogleSheets, connection.Postgres},
		Google: connection.OAuthClient{ID: "client", RedirectURI: "https://atrium.example.com/console/consent"}}
	s.warehouses[connection.GoogleSheets] = google
	google.MockConsents.EXPECT().Address(s.offer.Google, gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ connection.OAuthClient, state, verifier string) string {
			return "https://google.test/?" + url.Values{"state": {state}, "verifier": {verifier}}.Encode()
		})
	return s, google
}

// inSession is a caller in a browser.
func inSession(by identity.Actor) identity.Actor {
	by.Session = "ses_1"
	return by
}

// requested is the state and the verifier of a consent that by requested.
func requested(t *testing.T, s *env, by identity.Actor) (state, verifier string) {
	t.Helper()
	r, err := s.RequestConsent(s.ctx, by, connection.GoogleSheets)
	require.NoError(t, err)
	u, err := url.Parse(r.URL)
	require.NoError(t, err)
	if !r.ExpiresAt.Equal(by.At.Add(10 * time.Minute)) {
		t.Errorf("it expires at %s", r.ExpiresAt)
	}
	return u.Query().Get("state"), u.Query().Get("verifier")
}

func consented() connection.Credential {
	return connection.Consented(connection.GoogleSheets, "ada@example.com", connection.OAuthClient{ID: "client"},
		secret.New(canary))
}

func TestConsentRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		by     identity.Actor
		change func(*env)
		kind   connection.Kind
		want   error
	}{
		"a viewer requests none": {
			inSession(viewer), nil, connection.GoogleSheets, connection.ErrForbidden,
		},
		"an API key requests none": {maker, nil, connection.GoogleSheets, connection.ErrConsentSession},
		"a kind that takes none": {
			inSession(maker), nil, connection.Postgres, connection.ErrConsentNotOffered,
		},
		"a kind that the org does not offer": {inSession(maker), nil, connection.MySQL, connection.ErrKindNotOffered},
		"without a client of the org there is none": {inSession(maker), func(s *env) { s.offer.Google.ID = "" },
			connection.GoogleSheets, connection.ErrConsentNotOffered},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := consenting(t)
			if tt.change != nil {
				tt.change(s)
			}
			_, err := s.RequestConsent(s.ctx, tt.by, tt.kind)
			require.ErrorIs(t, err, tt.want)
		})
	}
	t.Run("two requests have nothing in common", func(t *testing.T) {
		s, _ := consenting(t)
		state, verifier := requested(t, s, inSession(maker))
		other, otherVerifier := requested(t, s, inSession(maker))
		if state == other || verifier == otherVerifier || strings.Contains(state, verifier) || len(verifier) < 43 {
			t.Errorf("states %q and %q, verifiers %q and %q", state, other, verifier, otherVerifier)
		}
	})
}

func TestConsentsAreTried(t *testing.T) {
	draft := func(state string) connection.Draft {
		return connection.Draft{Kind: connection.GoogleSheets,
			Entry: connection.Entry{Consent: &connection.Consent{State: state, Code: "code"}}}
	}
	// open expects what precedes the exchange.
	open := func(s *env) {
		s.connections.EXPECT().Live(s.ctx, gomock.Any()).AnyTimes().Return(0, nil)
		s.connections.EXPECT().Attempt(s.ctx, gomock.Any(), connection.Probing, gomock.Any(), gomock.Any()).AnyTimes()
	}
	t.Run("the credential of a consent is probed and sealed, and the state is used up", func(t *testing.T) {
		s, google := consenting(t)
		open(s)
		state, verifier := requested(t, s, inSession(maker))
		s.states.EXPECT().Use(s.ctx, identity.OrgID("org"), gomock.Any(), now.Add(10*time.Minute))
		google.MockConsents.EXPECT().Exchange(s.ctx, s.offer.Google, "code", verifier).Return(consented(), nil)
		google.MockWarehouse.EXPECT().Probe(gomock.Any(), gomock.Any()).DoAndReturn(
			func(_ context.Context, target ports.Target) connection.Report {
				if !target.Credential.IsConsent() || target.OAuth.ID != "client" {
					t.Errorf("probed %+v", target)
				}
				return passed()
			})
		s.sealer.EXPECT().Seal(gomock.Any(), gomock.Any()).DoAndReturn(func(plain, _ []byte) ([]byte, error) {
			row, err := connection.ParseStored(connection.GoogleSheets, plain)
			if err != nil || row.Secret(connection.FieldRefreshToken).Reveal() != canary || !row.IsConsent() {
				t.Errorf("sealed %s: %v", plain, err)
			}
			return []byte("sealed"), nil
		})
		s.sealer.EXPECT().Fingerprint(gomock.Any(), gomock.Any()).Return("f")
		got, err := s.Probe(s.ctx, inSession(maker), draft(state), nil)
		require.NoError(t, err)
		if got.New.Credential.Text(connection.FieldGoogleAccount) != "ada@example.com" {
			t.Errorf("config %s", got.New.Credential.Config())
		}
	})
	ownActor := inSession(maker)
	laterActor, elsewhere, another := ownActor, ownActor, ownActor
	laterActor.At = now.Add(connection.ConsentWithin)
	elsewhere.Workspace = "other"
	another.Session = "ses_2"
	for name, by := range map[string]identity.Actor{
		"too late": laterActor, "in another workspace": elsewhere, "in another session": another,
		"by someone else": inSession(peer),
	} {
		t.Run("a consent is refused "+name+", before Google gets its code", func(t *testing.T) {
			s, _ := consenting(t)
			open(s)
			state, _ := requested(t, s, ownActor)
			_, err := s.Probe(s.ctx, by, draft(state), nil)
			require.ErrorIs(t, err, connection.ErrConsentInvalid)
		})
	}
	for name, change := range map[string]func(string) string{
		"changed": func(s string) string { return "A" + s[1:] },
		"cut":     func(s string) string { return s[:len(s)-1] },
		"longer":  func(s string) string { return s + "AAAA" },
		"empty":   func(string) string { return "" },
		"made up": func(string) string { return "x+/=" },
	} {
		t.Run("a state that is "+name+" is refused", func(t *testing.T) {
			s, _ := consenting(t)
			open(s)
			state, _ := requested(t, s, ownActor)
			if changedText := change(state); changedText != state {
				_, err := s.Probe(s.ctx, ownActor, draft(changedText), nil)
				require.ErrorIs(t, err, connection.ErrConsentInvalid)
			}
		})
	}
	t.Run("a state that was used is refused", func(t *testing.T) {
		s, _ := consenting(t)
		open(s)
		state, _ := requested(t, s, ownActor)
		s.states.EXPECT().Use(s.ctx, gomock.Any(), gomock.Any(), gomock.Any()).Return(
			connection.ErrConsentInvalid)
		_, err := s.Probe(s.ctx, ownActor, draft(state), nil)
		require.ErrorIs(t, err, connection.ErrConsentInvalid)
	})
	t.Run("if Google does not respond, the step authenticate has failed, and no field is wrong", func(t *testing.T) {
		s, google := consenting(t)
		open(s)
		state, _ := requested(t, s, ownActor)
		s.states.EXPECT().Use(s.ctx, gomock.Any(), gomock.Any(), gomock.Any())
		google.MockConsents.EXPECT().Exchange(s.ctx, gomock.Any(), gomock.Any(), gomock.Any()).Return(
			connection.Credential{}, connection.AuthFailed)
		_, err := s.Probe(s.ctx, ownActor, draft(state), nil)
		failedFault, ok := errors.AsType[*connection.ProbeError](err)
		if !ok || failedFault.Failure.Code != connection.AuthFailed || failedFault.Failure.Fields != nil {
			t.Errorf("error %+v", err)
		}
	})
	for name, e := range map[string]connection.Entry{
		"neither a credential nor a consent": {},
		"both a credential and a consent":    {Credential: []byte(`{}`), Consent: &connection.Consent{}},
		"a refresh token": entered(
			`{"google_account":"ada@example.com","client_id":"client","refresh_token":"` + canary + `"}`),
	} {
		t.Run("a caller cannot enter "+name, func(t *testing.T) {
			s, _ := consenting(t)
			_, err := s.Probe(s.ctx, ownActor, connection.Draft{Kind: connection.GoogleSheets, Entry: e}, nil)
			require.ErrorIs(t, err, fault.ErrInvalid)
			if strings.Contains(err.Error(), canary) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestRevocationsOfConsents(t *testing.T) {
	grants := func(t *testing.T) *connection.Connection {
		t.Helper()
		c, err := connection.New(maker, connection.Trial{ID: "con", Report: passed(), At: now,
			New: &connection.NewCredential{Credential: consented(), Sealed: []byte("sealed"), Bound: true}}, 0)
		require.NoError(t, err)
		return c
	}
	plain, err := consented().Reveal()
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		opened   error
		withdraw error
		want     bool
	}{
		"a consent that Google ends is withdrawn":                            {nil, nil, true},
		"a consent that Google does not end leaves the connection revoked":   {nil, errOutage, false},
		"a credential that does not open does not keep the connection alive": {errOutage, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, google := consenting(t)
				s.expectAtomic()
				s.expectUpdate(func() *connection.Connection { return grants(t) }, 0)
				s.connections.EXPECT().Sealed(s.ctx, gomock.Any(), connection.ID("con")).AnyTimes().Return(
					connection.Stored{Sealed: []byte("sealed"), Revision: 1, Bound: true}, nil)
				s.sealer.EXPECT().Open([]byte("sealed"), gomock.Any()).AnyTimes().Return(plain, tt.opened)
				s.expectThrough()
				s.jobs.EXPECT().Cancel(s.ctx, gomock.Any(), "con")
				if tt.opened == nil {
					google.MockConsents.EXPECT().Withdraw(gomock.Any(), gomock.Any()).DoAndReturn(
						func(_ context.Context, c connection.Credential) error {
							if c.Secret(connection.FieldRefreshToken).Reveal() != canary {
								t.Errorf("withdrawn %s", c.Config())
							}
							return tt.withdraw
						})
				}
				got, err := s.Revoke(s.ctx, maker, "con", nil)
				require.NoError(t, err)
				if got.Connection.Status != connection.Revoked || got.Withdrawn == nil || *got.Withdrawn != tt.want {
					t.Errorf("Revoke = %+v", got)
				}
			})
		})
	}
	t.Run("a caller who may not revoke withdraws nothing", func(t *testing.T) {
		s, _ := consenting(t)
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return grants(t) }, 0)
		_, err := s.Revoke(s.ctx, peer, "con", nil)
		require.ErrorIs(t, err, connection.ErrForbidden)
	})
}
