package session_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestOpen(t *testing.T) {
	t.Run("by a link: two secrets, in the trail of each workspace", func(t *testing.T) {
		p := inWorkspaces("w1", "w2")
		agent := "Mozilla/5.0\x00\u202e" + strings.Repeat("x", 300)
		s, secrets, err := session.Open(browser(sessionAt), p, session.ByLink, nil, agent, nil)
		require.NoError(t, err)
		if s.Cookie != secrets.Cookie.Hash() || s.Proof != secrets.Proof.Hash() || s.Cookie == s.Proof {
			t.Error("the session does not hold the hashes of its secrets")
		}
		if s.User != "ann" || s.Org != "org" || s.Key != "" || s.Workspace != "" || s.Address != "192.0.2.1" ||
			!strings.HasPrefix(s.Agent, "Mozilla/5.0xxx") || len(s.Agent) != 200 {
			t.Errorf("the session is %+v", s)
		}
		if want := sessionAt.Add(7 * 24 * time.Hour); !s.ExpiresAt.Equal(want) {
			t.Errorf("it ends at %v, want %v", s.ExpiresAt, want)
		}
		events := s.Recorded()
		if len(events) != 2 || events[0].Workspace != "w2" || events[1].Workspace != "w1" {
			t.Fatalf("events %+v", events)
		}
		e := events[0]
		if e.Type != "session.started" || e.Actor != "ann" || e.Session != s.ID ||
			e.Subject != string(s.ID) || e.Data["source"] != "link" {
			t.Errorf("the event is %+v", e)
		}
	})
	t.Run("by a key: in its workspace, and at most as long as the key", func(t *testing.T) {
		key := &account.Key{ID: "key", Workspace: "w1", ExpiresAt: sessionAt.Add(time.Hour)}
		s, _, err := session.Open(browser(sessionAt), inWorkspaces("w1", "w2"), session.ByAPIKey, key, "", nil)
		require.NoError(t, err)
		if s.Key != "key" || s.Workspace != "w1" || !s.ExpiresAt.Equal(key.ExpiresAt) {
			t.Errorf("the session is %+v", s)
		}
		if e := s.Recorded(); len(e) != 1 || e[0].Workspace != "w1" || e[0].Key != "key" {
			t.Errorf("events %+v", e)
		}
	})
	t.Run("a person without a workspace is recorded in the trail of none", func(t *testing.T) {
		s, _, err := session.Open(browser(sessionAt), inWorkspaces(), session.ByLink, nil, "", nil)
		if err != nil || len(s.Recorded()) != 1 || s.Recorded()[0].Workspace != "" {
			t.Errorf("%+v, %v", s, err)
		}
	})
	t.Run("one too many ends the one that was not used for longest", func(t *testing.T) {
		var live []*session.Session
		for i := range session.MaxPerUser {
			seen := sessionAt.Add(-time.Duration(i%10) * time.Minute)
			id := identity.SessionID(fmt.Sprintf("ses_%02d", i))
			live = append(live, &session.Session{ID: id, Org: "org", User: "ann", LastSeenAt: seen})
		}
		p := inWorkspaces("w1")
		if _, _, err := session.Open(browser(sessionAt), p, session.ByLink, nil, "", live[1:]); err != nil {
			t.Fatal(err)
		}
		for _, s := range live {
			if !s.EndedAt.IsZero() {
				t.Fatalf("%s ended although there was room", s.ID)
			}
		}
		if _, _, err := session.Open(browser(sessionAt), p, session.ByLink, nil, "", live); err != nil {
			t.Fatal(err)
		}
		for _, s := range live {
			if s.EndedAt.IsZero() == (s.ID == "ses_09") {
				t.Errorf("%s ended at %v", s.ID, s.EndedAt)
			}
		}
		if e := live[9].Recorded(); len(e) != 1 || e[0].Type != "session.ended" || e[0].Data["reason"] != "replaced" {
			t.Errorf("events %+v", e)
		}
	})
	t.Run("a key's sessions end only that key's sessions", func(t *testing.T) {
		var live []*session.Session
		open := func(key *account.Key) {
			source := session.ByLink
			if key != nil {
				source = session.ByAPIKey
			}
			instant := sessionAt.Add(time.Duration(len(live)) * time.Second)
			opened, _, err := session.Open(browser(instant), inWorkspaces("w1"), source, key, "", live)
			require.NoError(t, err)
			live = slices.DeleteFunc(append(live, opened), func(s *session.Session) bool { return !s.EndedAt.IsZero() })
		}
		open(nil)
		open(&account.Key{ID: "other", Workspace: "w1"})
		for range session.MaxPerUser + 1 {
			open(&account.Key{ID: "leaked", Workspace: "w1"})
		}
		counts := map[identity.KeyID]int{}
		for _, s := range live {
			counts[s.Key]++
		}
		want := map[identity.KeyID]int{"": 1, "other": 1, "leaked": session.MaxPerKey}
		assert.That(t, maps.Equal(counts, want), "sessions by key: %v, want %v", counts, want)
	})
	for name, tt := range map[string]struct {
		by     identity.Actor
		person func(*account.Person)
	}{
		"of a disabled account": {browser(sessionAt), func(p *account.Person) { p.User.DisabledAt = sessionAt }},
		"of another org":        {browser(sessionAt), func(p *account.Person) { p.User.Org = "other" }},
		"by a user":             {identity.Actor{Org: "org", User: "ann", At: sessionAt}, func(*account.Person) {}},
	} {
		t.Run("none "+name, func(t *testing.T) {
			p := inWorkspaces("w1")
			tt.person(p)
			s, _, err := session.Open(tt.by, p, session.ByLink, nil, "", nil)
			if s != nil || !errors.Is(err, identity.ErrUnauthenticated) {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

func TestASessionLives(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*session.Session)
		after  time.Duration
		want   bool
	}{
		"at first":                   {func(*session.Session) {}, 0, true},
		"until it was idle too long": {func(*session.Session) {}, 12*time.Hour - 1, true},
		"not after":                  {func(*session.Session) {}, 12 * time.Hour, false},
		"longer if it is used": {
			func(s *session.Session) { s.LastSeenAt = sessionAt.Add(11 * time.Hour) }, 22 * time.Hour, true,
		},
		"a week at most":         {func(s *session.Session) { s.LastSeenAt = s.ExpiresAt }, 7 * 24 * time.Hour, false},
		"not after it was ended": {func(s *session.Session) { s.EndedAt = sessionAt }, 0, false},
		"not longer than its own end": {
			func(s *session.Session) { s.ExpiresAt = sessionAt.Add(time.Hour) }, time.Hour, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := session.Session{LastSeenAt: sessionAt, ExpiresAt: sessionAt.Add(session.Life)}
			tt.change(&s)
			assert.Equal(t, "it lives", s.Live(identity.SessionPolicy{}, sessionAt.Add(tt.after)), tt.want)
		})
	}
}

func TestAPolicyEndsSessionsEarlier(t *testing.T) {
	const idle, life = 15 * time.Minute, 8 * time.Hour
	policy := identity.SessionPolicy{Idle: idle, Life: life}
	for name, tt := range map[string]struct {
		lastSeen time.Duration
		after    time.Duration
		want     bool
	}{
		"until it was idle too long":      {0, idle - 1, true},
		"not after":                       {0, idle, false},
		"longer if it is used":            {7 * time.Hour, 7*time.Hour + idle - 1, true},
		"not longer than it may, if used": {life - 1, life, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := session.Session{
				CreatedAt: sessionAt, LastSeenAt: sessionAt.Add(tt.lastSeen), ExpiresAt: sessionAt.Add(session.Life),
			}
			moment := sessionAt.Add(tt.after)
			assert.Equal(t, "it lives", s.Live(policy, moment), tt.want)
			p := session.Person{Session: s}
			assert.Equal(t, "its credential works", p.Principal().LiveSession(&identity.Org{Sessions: policy}, moment),
				tt.want)
			assert.Equal(t, "it lives without a policy", s.Live(identity.SessionPolicy{}, moment), true)
		})
	}
	t.Run("not later than it would end without one", func(t *testing.T) {
		s := session.Session{CreatedAt: sessionAt, LastSeenAt: sessionAt, ExpiresAt: sessionAt.Add(time.Minute)}
		assert.Equal(t, "it ends", s.EndsAt(policy), s.ExpiresAt)
	})
}

func TestWhatASessionShowed(t *testing.T) {
	opened := func(source session.Source) session.Session {
		return session.Session{Source: source, CreatedAt: sessionAt}
	}
	confirmed, proven, old := opened(session.ByLink), opened(session.ByOIDC), opened(session.ByOIDC)
	confirmed.ConfirmedAt = sessionAt.Add(time.Minute)
	proven.From = session.ProviderSession{SecondFactor: true, AuthenticatedAt: sessionAt.Add(time.Second)}
	old.From.AuthenticatedAt = sessionAt.Add(-time.Hour)
	oldConfirmed := old
	oldConfirmed.ConfirmedAt = sessionAt.Add(time.Minute)
	for name, tt := range map[string]struct {
		s        session.Session
		factor   bool
		signedIn time.Time
	}{
		"opened by a link":                      {opened(session.ByLink), false, sessionAt},
		"opened by an API key":                  {opened(session.ByAPIKey), false, sessionAt},
		"opened by a passkey":                   {opened(session.ByPasskey), true, sessionAt},
		"confirmed by a passkey":                {confirmed, true, sessionAt.Add(time.Minute)},
		"at a provider":                         {opened(session.ByOIDC), false, sessionAt},
		"at a provider with a second factor":    {proven, true, sessionAt},
		"at a provider, long before":            {old, false, sessionAt.Add(-time.Hour)},
		"at a provider, and confirmed later on": {oldConfirmed, true, sessionAt.Add(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "a second factor", tt.s.HasSecondFactor(), tt.factor)
			assert.Equal(t, "signed in at", tt.s.SignedInAt(), tt.signedIn)
		})
	}
}

func TestALiveSessionNeedsItsUserAndItsKey(t *testing.T) {
	live := session.Session{LastSeenAt: sessionAt, ExpiresAt: sessionAt.Add(time.Hour)}
	ofKey := live
	ofKey.Key = "key"
	key := account.Key{ID: "key"}
	empty, member := account.Person{}, account.Person{
		Memberships: []account.Membership{{Role: identity.Viewer}},
	}
	disabledPerson := account.Person{User: account.User{DisabledAt: sessionAt}}
	noPersonal := identity.KeyPolicy{NoPersonal: true}
	for name, tt := range map[string]struct {
		person session.Person
		policy identity.KeyPolicy
		want   bool
	}{
		"without a key, in no workspace": {session.Person{Person: empty, Session: live},
			identity.KeyPolicy{}, true},
		"personal keys are forbidden": {session.Person{Session: live}, noPersonal, true},
		"its user is disabled": {session.Person{Person: disabledPerson, Session: live},
			identity.KeyPolicy{}, false},
		"of a key": {session.Person{Person: member, Session: ofKey, Key: key},
			identity.KeyPolicy{}, true},
		"of a key whose bearer left": {session.Person{Session: ofKey, Key: key}, identity.KeyPolicy{}, false},
		"of a key that was revoked": {
			session.Person{Person: member, Session: ofKey, Key: account.Key{ID: "key", RevokedAt: sessionAt}},
			identity.KeyPolicy{}, false,
		},
		"of a key that is not there, whose ceiling is unknown": {
			session.Person{Person: member, Session: ofKey}, identity.KeyPolicy{}, false,
		},
		"of a key that is forbidden now": {
			session.Person{Person: member, Session: ofKey, Key: key}, noPersonal, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			org := &identity.Org{Keys: tt.policy}
			if got := tt.person.Principal().LiveSession(&identity.Org{Keys: tt.policy}, sessionAt); got != tt.want {
				t.Errorf("it lives: %v", got)
			}
			proof := session.Proof{Session: account.Hash{1}}
			assert.Equal(t, "its proof is valid", proof.Valid(org, tt.person.Principal(), sessionAt), tt.want)
		})
	}
}

func TestEnd(t *testing.T) {
	ann := identity.Actor{Org: "org", User: "ann", Session: "ses_1", At: sessionAt}
	byKey := identity.Actor{Org: "org", User: "ann", Key: "key", Workspace: "w1", At: sessionAt}
	open := func() []*session.Session {
		return []*session.Session{
			{ID: "ses_1", Org: "org", User: "ann"}, {ID: "ses_2", Org: "org", User: "ann"},
			{ID: "ses_3", Org: "org", User: "ann", Key: "key", Workspace: "w1"},
		}
	}
	for name, tt := range map[string]struct {
		by     identity.Actor
		id     identity.SessionID
		reason string // empty: it is not found
	}{
		"one's own":                  {ann, "ses_1", "signed_out"},
		"another of the same person": {ann, "ses_2", "ended"},
		"one of a key":               {ann, "ses_3", "ended"},
		"by the key that opened it":  {byKey, "ses_3", "ended"},
		"by a key that did not":      {byKey, "ses_2", ""},
		"one that does not exist":    {ann, "ses_9", ""},
		"one of another person":      {identity.Actor{Org: "org", User: "bob", At: sessionAt}, "ses_1", ""},
		"one of the same id, abroad": {identity.Actor{Org: "other", User: "ann", At: sessionAt}, "ses_1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			live := open()
			err := session.End(tt.by, inWorkspaces("w1", "w2"), live, tt.id)
			if (tt.reason == "") != errors.Is(err, session.ErrNotFound) {
				t.Fatalf("error %v", err)
			}
			for _, s := range live {
				hasEnded := tt.reason != "" && s.ID == tt.id
				if s.EndedAt.IsZero() == hasEnded || (hasEnded && s.Recorded()[0].Data["reason"] != tt.reason) {
					t.Errorf("%s: ended at %v, %+v", s.ID, s.EndedAt, s.Recorded())
				}
			}
		})
	}
	t.Run("all of them", func(t *testing.T) {
		for by, want := range map[string]int{"": 3, "key": 1} {
			live, caller, ends := open(), ann, 0
			caller.Key = identity.KeyID(by)
			session.EndAll(caller, inWorkspaces("w1"), live)
			for _, s := range live {
				if !s.EndedAt.IsZero() {
					ends++
				}
			}
			if ends != want {
				t.Errorf("by key %q: %d ended, want %d", by, ends, want)
			}
		}
	})
}

func TestNewLink(t *testing.T) {
	ann := account.User{ID: "ann", Org: "org"}
	token, l, err := session.NewLink(browser(sessionAt), &ann)
	if err != nil || l.User != "ann" || l.Hash != token.Hash() || !l.ExpiresAt.Equal(sessionAt.Add(15*time.Minute)) {
		t.Fatalf("%+v, %v", l, err)
	}
	if _, ok := session.ParseLink(token.Reveal()); !ok {
		t.Error("its token is not accepted")
	}
	org := &identity.Org{BaseURL: "https://atrium.example/base"}
	want := "https://atrium.example/base/console/sign-in#token=" + token.Reveal()
	assert.Equal(t, "URL", l.URL(org, token), want)
	for name, change := range map[string]func(*account.User){
		"disabled":   func(u *account.User) { u.DisabledAt = sessionAt },
		"a program":  func(u *account.User) { u.Service = true },
		"in another": func(u *account.User) { u.Org = "other" },
	} {
		t.Run("none for a user who is "+name, func(t *testing.T) {
			u := ann
			change(&u)
			if _, _, err := session.NewLink(browser(sessionAt), &u); !errors.Is(err, account.ErrUserNotFound) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestSessionsOfARemovedPasskeyEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		session session.Session
		isEnded bool
	}{
		"opened by it":                    {session.Session{Source: session.ByPasskey, Passkey: "psk_1"}, true},
		"opened by an older release":      {session.Session{Source: session.ByPasskey}, true},
		"opened by another passkey":       {session.Session{Source: session.ByPasskey, Passkey: "psk_2"}, false},
		"opened by a link":                {session.Session{Source: session.ByLink}, false},
		"that makes the request":          {session.Session{ID: "ses_1", Source: session.ByPasskey, Passkey: "psk_1"}, false},
		"of someone else, as a safeguard": {session.Session{User: "eve", Source: session.ByPasskey, Passkey: "psk_1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := tt.session
			s.Org, s.ID, s.User = "org", cmp.Or(s.ID, "ses_2"), cmp.Or(s.User, "ann")
			session.EndOpenedBy(anns(), inWorkspaces("w1"), []*session.Session{&s}, "psk_1")
			if s.EndedAt.IsZero() == tt.isEnded {
				t.Fatalf("ended at %v", s.EndedAt)
			}
			if e := s.Recorded(); tt.isEnded && (len(e) != 1 || e[0].Data["reason"] != "passkey_removed") {
				t.Errorf("events %+v", e)
			}
		})
	}
}
