package sessions_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sessions"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	errSealed = errors.New("sealed for something else")
	response  = []byte("response")
	rp        = account.RelyingParty{Host: "acme.example.com", Name: "Acme", Origin: "https://acme.example.com"}

	anyone = identity.SessionPolicy{} // which requires nothing
)

// withPasskeys is a Passkeys on mocked ports, of ann, who has the passkey psk_1.
type withPasskeys struct {
	*sessions.Passkeys
	store    *mocks.MockPasskeys
	sessions *mocks.MockSessions
	auth     *mocks.MockAuthenticators
	mailer   *mocks.MockMailer
	notes    *noting
	person   account.Person
	passkey  *account.Passkey
	live     []*session.Session
	stored   *account.Passkey // what was added
	opened   *session.Session
}

func newWithPasskeys(t *testing.T) *withPasskeys {
	c := gomock.NewController(t)
	s := &withPasskeys{
		store: mocks.NewMockPasskeys(c), sessions: mocks.NewMockSessions(c), auth: mocks.NewMockAuthenticators(c),
		mailer:  mocks.NewMockMailer(c),
		person:  account.Person{User: account.User{ID: "ann", Org: "org"}},
		passkey: &account.Passkey{ID: "psk_1", Org: "org", User: "ann", Host: rp.Host, SignCount: 1, Revision: 1},
		live:    []*session.Session{{ID: "ses_1", Org: "org", User: "ann"}},
	}
	sealer := mocks.NewMockSealer(c) // it writes in front of the content what the content is bound to
	sealer.EXPECT().Seal(gomock.Any(), gomock.Any()).DoAndReturn(func(plain, context []byte) ([]byte, error) {
		return append(append([]byte{}, context...), plain...), nil
	}).AnyTimes()
	sealer.EXPECT().Open(gomock.Any(), gomock.Any()).DoAndReturn(func(ciphertext, context []byte) ([]byte, error) {
		if len(ciphertext) < len(context) || string(ciphertext[:len(context)]) != string(context) {
			return nil, errSealed
		}
		return ciphertext[len(context):], nil
	}).AnyTimes()
	atomic := mocks.NewMockAtomic(c)
	atomic.EXPECT().Atomically(gomock.Any(), gomock.Any()).DoAndReturn(
		func(_ context.Context, fn func(ports.Stores) error) error {
			return fn(ports.Stores{SessionStores: ports.SessionStores{Sessions: s.sessions, Passkeys: s.store}})
		}).AnyTimes()
	s.store.EXPECT().Update(gomock.Any(), gomock.Any(), identity.UserID("ann"), gomock.Any()).DoAndReturn(
		func(
			_ context.Context, _ identity.Actor, _ identity.UserID,
			change func(*account.Person, []*account.Passkey) (*account.Passkey, error),
		) (err error) {
			s.stored, err = change(&s.person, []*account.Passkey{s.passkey})
			return err
		}).AnyTimes()
	s.sessions.EXPECT().Update(gomock.Any(), gomock.Any(), identity.UserID("ann"), gomock.Any()).DoAndReturn(
		func(
			_ context.Context, _ identity.Actor, _ identity.UserID,
			change func(*account.Person, []*session.Session) (*session.Session, error),
		) (err error) {
			s.opened, err = change(&s.person, s.live)
			return err
		}).AnyTimes()
	s.store.EXPECT().List(gomock.Any(), identity.OrgID("org"), identity.UserID("ann"), gomock.Any()).DoAndReturn(
		func(context.Context, identity.OrgID, identity.UserID, page.Query) (account.PasskeyPage, error) {
			return account.PasskeyPage{Items: []account.Passkey{*s.passkey, {ID: "psk_2", Host: "other.example.com"}}},
				nil
		}).AnyTimes()
	s.notes = newNoting(c)
	s.Passkeys = sessions.NewPasskeys(atomic, s.store, sealer, s.auth, s.mailer, s.notes)
	return s
}

// responds makes the authenticator respond to a challenge with the credential of psk_1.
func (s *withPasskeys) responds(challenge []byte) {
	data := []byte(`{"challenge":"` + base64.RawURLEncoding.EncodeToString(challenge) + `"}`)
	s.auth.EXPECT().Read(response).Return([]byte("credential"), data, nil)
	s.store.EXPECT().Find(gomock.Any(), identity.OrgID("org"), rp.Host, []byte("credential")).
		Return(s.passkey, nil).AnyTimes()
}

// inSession is ann in a session of her own, a minute after she signed in.
func inSession() identity.Actor {
	return identity.Actor{Org: "org", User: "ann", Session: "ses_1", SignedInAt: now.Add(-time.Minute), At: now}
}

func TestSignInWithPasskey(t *testing.T) {
	org := &identity.Org{ID: "org"}
	options := func(t *testing.T, s *withPasskeys, now time.Time) []byte {
		t.Helper()
		o, err := s.OptionsToSignIn(org, rp, now)
		require.NoError(t, err)
		if len(o.Have) > 0 {
			t.Errorf("the options name %+v", o.Have)
		}
		return o.Challenge
	}
	t.Run("it uses up the challenge, and opens a session", func(t *testing.T) {
		s := newWithPasskeys(t)
		challenge := options(t, s, now)
		s.responds(challenge)
		s.auth.EXPECT().Signed(rp, s.passkey, challenge, response, false).Return(uint32(2), nil)
		s.store.EXPECT().UseChallenge(
			gomock.Any(), identity.OrgID("org"), account.Hash(sha256.Sum256(challenge)),
			now.Add(5*time.Minute)).Return(nil)
		out, err := s.SignIn(t.Context(), system, org, rp, response,
			sessions.Browser{Agent: "Firefox", People: []identity.UserID{"bob"}})
		require.NoError(t, err)
		if out.Session != s.opened || s.opened.Source != session.ByPasskey || s.opened.Key != "" ||
			out.User.ID != "ann" || s.opened.Passkey != "psk_1" || s.passkey.SignCount != 2 ||
			!s.passkey.LastUsedAt.Equal(now) {
			t.Errorf("%+v, %+v", out, s.passkey)
		}
		last := s.opened.Recorded()[len(s.opened.Recorded())-1]
		assert.Equal(t, "the last event", last.Type, "session.device_added")
	})
	for name, prepare := range map[string]func(t *testing.T, s *withPasskeys){
		"what is no response": func(_ *testing.T, s *withPasskeys) {
			s.auth.EXPECT().Read(response).Return(nil, nil, account.ErrPasskeyInvalid)
		},
		"a passkey that is not known": func(t *testing.T, s *withPasskeys) {
			s.auth.EXPECT().Read(response).Return([]byte("other"), []byte("{}"), nil)
			s.store.EXPECT().Find(gomock.Any(), gomock.Any(), rp.Host, []byte("other")).
				Return(nil, account.ErrPasskeyInvalid)
		},
		"a challenge that was made up": func(_ *testing.T, s *withPasskeys) { s.responds([]byte("made up")) },
		"a challenge that has ended": func(t *testing.T, s *withPasskeys) {
			s.responds(options(t, s, now.Add(-5*time.Minute)))
		},
		"a challenge to step up": func(t *testing.T, s *withPasskeys) {
			o, err := s.OptionsToStepUp(t.Context(), inSession(), rp)
			require.NoError(t, err)
			s.responds(o.Challenge)
		},
		"a signature that does not verify": func(t *testing.T, s *withPasskeys) {
			s.responds(options(t, s, now))
			s.auth.EXPECT().Signed(rp, s.passkey, gomock.Any(), response, false).
				Return(uint32(0), account.ErrPasskeyInvalid)
		},
		"a challenge that was used": func(t *testing.T, s *withPasskeys) {
			s.responds(options(t, s, now))
			s.auth.EXPECT().Signed(rp, s.passkey, gomock.Any(), response, false).Return(uint32(2), nil)
			s.store.EXPECT().UseChallenge(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).
				Return(account.ErrPasskeyInvalid)
		},
		"a person who is disabled": func(t *testing.T, s *withPasskeys) {
			s.person.User.DisabledAt = now
			s.responds(options(t, s, now))
			s.auth.EXPECT().Signed(rp, s.passkey, gomock.Any(), response, false).Return(uint32(2), nil)
			s.store.EXPECT().UseChallenge(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil)
		},
	} {
		t.Run("not by "+name, func(t *testing.T) {
			s := newWithPasskeys(t)
			prepare(t, s)
			_, err := s.SignIn(t.Context(), system, org, rp, response, sessions.Browser{})
			require.ErrorIs(t, err, account.ErrPasskeyInvalid)
			if s.opened != nil {
				t.Errorf("it opened %+v", s.opened)
			}
			var want []string
			if name == "a person who is disabled" {
				want = []string{"user.sign_in_refused passkey"}
			}
			assert.EqualSlice(t, "notes", s.notes.written, want)
		})
	}
	t.Run("not where the org has issuers", func(t *testing.T) {
		s, withIssuer := newWithPasskeys(t),
			&identity.Org{ID: "org", Issuers: []identity.Issuer{{URL: "https://id.example"}}}
		_, err := s.OptionsToSignIn(withIssuer, rp, now)
		require.ErrorIs(t, err, account.ErrPasskeysUnavailable)
		_, err = s.SignIn(t.Context(), system, withIssuer, rp, response, sessions.Browser{})
		require.ErrorIs(t, err, account.ErrPasskeysUnavailable)
	})
}

func TestStepUp(t *testing.T) {
	options := func(t *testing.T, s *withPasskeys, by identity.Actor) []byte {
		t.Helper()
		o, err := s.OptionsToStepUp(t.Context(), by, rp)
		require.NoError(t, err)
		if len(o.Have) != 1 || o.Have[0].ID != "psk_1" {
			t.Errorf("the options name %+v", o.Have)
		}
		return o.Challenge
	}
	t.Run("it confirms the session of the caller", func(t *testing.T) {
		s := newWithPasskeys(t)
		s.responds(options(t, s, inSession()))
		s.auth.EXPECT().Signed(rp, s.passkey, gomock.Any(), response, true).Return(uint32(2), nil)
		s.store.EXPECT().UseChallenge(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil)
		confirmedSession, err := s.StepUp(t.Context(), inSession(), rp, response)
		require.NoError(t, err)
		if confirmedSession != s.live[0] || !confirmedSession.ConfirmedAt.Equal(now) {
			t.Errorf("%+v", confirmedSession)
		}
	})
	t.Run("not by a challenge for another session", func(t *testing.T) {
		s, other := newWithPasskeys(t), inSession()
		other.Session = "ses_2"
		s.responds(options(t, s, other))
		_, err := s.StepUp(t.Context(), inSession(), rp, response)
		require.ErrorIs(t, err, account.ErrPasskeyRefused)
	})
	t.Run("not by the passkey of another person", func(t *testing.T) {
		s := newWithPasskeys(t)
		s.responds(options(t, s, inSession()))
		s.passkey.User = "bob"
		s.auth.EXPECT().Signed(rp, s.passkey, gomock.Any(), response, true).Return(uint32(2), nil)
		_, err := s.StepUp(t.Context(), inSession(), rp, response)
		require.ErrorIs(t, err, account.ErrPasskeyRefused)
	})
	t.Run("not by an API key, and not without a passkey", func(t *testing.T) {
		s, by := newWithPasskeys(t), inSession()
		by.Key = "key"
		_, err := s.StepUp(t.Context(), by, rp, response)
		require.ErrorIs(t, err, account.ErrSessionRequired)
		_, err = s.OptionsToStepUp(t.Context(), inSession(), account.RelyingParty{Host: "new.example.com"})
		require.ErrorIs(t, err, account.ErrPasskeyNotFound)
	})
}

func TestAddPasskey(t *testing.T) {
	newItem := account.PasskeyCredential{Credential: []byte("new"), PublicKey: []byte("key")}
	t.Run("the credential that the authenticator created", func(t *testing.T) {
		s := newWithPasskeys(t)
		o, err := s.OptionsToAdd(t.Context(), inSession(), anyone, rp)
		require.NoError(t, err)
		s.responds(o.Challenge)
		s.auth.EXPECT().Created(rp, identity.UserID("ann"), o.Challenge, response).Return(newItem, nil)
		s.store.EXPECT().UseChallenge(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil)
		k, err := s.Add(t.Context(), inSession(), anyone, rp, "Laptop", response)
		require.NoError(t, err)
		if k != s.stored || k.Host != rp.Host || string(k.Credential) != "new" || k.Name != "Laptop" {
			t.Errorf("%+v", k)
		}
	})
	for name, prepare := range map[string]func(s *withPasskeys, challenge []byte){
		"what is no response": func(s *withPasskeys, _ []byte) {
			s.auth.EXPECT().Read(response).Return(nil, nil, account.ErrPasskeyInvalid)
		},
		"another challenge": func(s *withPasskeys, _ []byte) { s.responds([]byte("made up")) },
		"what does not verify": func(s *withPasskeys, challenge []byte) {
			s.responds(challenge)
			s.auth.EXPECT().Created(rp, gomock.Any(), gomock.Any(), response).Return(newItem, account.ErrPasskeyInvalid)
		},
		"a challenge that was used": func(s *withPasskeys, challenge []byte) {
			s.responds(challenge)
			s.auth.EXPECT().Created(rp, gomock.Any(), gomock.Any(), response).Return(newItem, nil)
			s.store.EXPECT().UseChallenge(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).
				Return(account.ErrPasskeyInvalid)
		},
	} {
		t.Run("not by "+name, func(t *testing.T) {
			s := newWithPasskeys(t)
			o, err := s.OptionsToAdd(t.Context(), inSession(), anyone, rp)
			require.NoError(t, err)
			prepare(s, o.Challenge)
			_, err = s.Add(t.Context(), inSession(), anyone, rp, "Laptop", response)
			require.ErrorIs(t, err, account.ErrPasskeyRefused)
		})
	}
	t.Run("not by an old session", func(t *testing.T) {
		s, old := newWithPasskeys(t), inSession()
		old.SignedInAt = now.Add(-time.Hour)
		_, err := s.OptionsToAdd(t.Context(), old, anyone, rp)
		require.ErrorIs(t, err, identity.ErrStepUpRequired)
		_, err = s.Add(t.Context(), old, anyone, rp, "Laptop", response)
		require.ErrorIs(t, err, identity.ErrStepUpRequired)
	})
}

func TestPasskeysOfTheCaller(t *testing.T) {
	s := newWithPasskeys(t)
	k, err := s.Get(t.Context(), inSession(), "psk_2")
	require.NoError(t, err)
	if k.ID != "psk_2" {
		t.Errorf("%+v", k)
	}
	_, err = s.Get(t.Context(), inSession(), "psk_9")
	require.ErrorIs(t, err, account.ErrPasskeyNotFound)
	k, err = s.Rename(t.Context(), inSession(), "psk_1", nil, "Phone")
	require.NoError(t, err)
	if k.Name != "Phone" {
		t.Errorf("%+v", k)
	}
	s.mailer.EXPECT().Delivers().Return(false)
	require.ErrorIs(t, s.Remove(t.Context(), inSession(), anyone, "psk_1", nil, false), account.ErrLastPasskey)
	keyedActor := inSession()
	keyedActor.Key = "key"
	_, err = s.List(t.Context(), keyedActor, page.Query{Limit: 1})
	require.ErrorIs(t, err, account.ErrSessionRequired)
}

func TestSessionsEndWithThePasskeyThatOpenedThem(t *testing.T) {
	for keep, want := range map[sessions.KeepSessions]time.Time{false: now, true: {}} {
		s := newWithPasskeys(t)
		s.mailer.EXPECT().Delivers().Return(true)
		s.person.User.Email, s.person.User.EmailVerified = "ann@example.com", true
		s.live = append(s.live, &session.Session{ID: "ses_2", Org: "org", User: "ann", Source: session.ByPasskey,
			Passkey: "psk_1"})
		require.NoError(t, s.Remove(t.Context(), inSession(), anyone, "psk_1", nil, keep))
		if !s.live[0].EndedAt.IsZero() || !s.live[1].EndedAt.Equal(want) || !s.passkey.RemovedAt.Equal(now) {
			t.Errorf("keep %t: %+v, %+v", keep, s.live[0], s.live[1])
		}
	}
}

func TestPasskeysAreChangedWithASecondFactor(t *testing.T) {
	policy := identity.SessionPolicy{SecondFactorFrom: identity.Admin}
	elsewhere := account.RelyingParty{Host: "new.example.com"}
	proven := inSession()
	proven.SecondFactor = true
	t.Run("a session without one adds none beside another one, and removes none", func(t *testing.T) {
		s := newWithPasskeys(t)
		_, err := s.OptionsToAdd(t.Context(), inSession(), policy, rp)
		require.ErrorIs(t, err, identity.ErrSecondFactorRequired)
		require.ErrorIs(t, s.Remove(t.Context(), inSession(), policy, "psk_1", nil, false),
			identity.ErrSecondFactorRequired)
		o, err := s.OptionsToAdd(t.Context(), proven, policy, rp)
		require.NoError(t, err)
		s.responds(o.Challenge)
		s.auth.EXPECT().Created(rp, gomock.Any(), o.Challenge, response).Return(account.PasskeyCredential{}, nil)
		s.store.EXPECT().UseChallenge(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil)
		_, err = s.Add(t.Context(), inSession(), policy, rp, "Laptop", response)
		require.ErrorIs(t, err, identity.ErrSecondFactorRequired)
	})
	t.Run("it adds the first one for a host", func(t *testing.T) {
		s := newWithPasskeys(t)
		o, err := s.OptionsToAdd(t.Context(), inSession(), policy, elsewhere)
		require.NoError(t, err)
		s.responds(o.Challenge)
		s.auth.EXPECT().Created(elsewhere, gomock.Any(), o.Challenge, response).
			Return(account.PasskeyCredential{Credential: []byte("new")}, nil)
		s.store.EXPECT().UseChallenge(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil)
		_, err = s.Add(t.Context(), inSession(), policy, elsewhere, "Laptop", response)
		require.NoError(t, err)
	})
	t.Run("one with a second factor does", func(t *testing.T) {
		s := newWithPasskeys(t)
		_, err := s.OptionsToAdd(t.Context(), proven, policy, rp)
		require.NoError(t, err)
		s.mailer.EXPECT().Delivers().Return(true)
		s.person.User.Email, s.person.User.EmailVerified = "ann@example.com", true
		require.NoError(t, s.Remove(t.Context(), proven, policy, "psk_1", nil, false))
	})
}

func TestLostPasskeysAreRemoved(t *testing.T) {
	s := newWithPasskeys(t)
	count, err := s.Reset(t.Context(), system, "ann")
	require.NoError(t, err)
	if count != 1 || !s.passkey.RemovedAt.Equal(now) || !s.live[0].EndedAt.Equal(now) {
		t.Errorf("%d removed: %+v, %+v", count, s.passkey, s.live[0])
	}
	_, err = newWithPasskeys(t).Reset(t.Context(), inSession(), "ann")
	require.ErrorIs(t, err, account.ErrUserNotFound)
}
