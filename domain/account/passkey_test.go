package account_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/require"
)

// anns is ann in a session that she opened a minute ago.
func anns() identity.Actor {
	return identity.Actor{
		Org: "org", User: "ann", Session: "ses_1", SignedInAt: sessionAt.Add(-time.Minute), At: sessionAt,
	}
}

func passkeysOf(ids ...account.PasskeyID) (passkeys []*account.Passkey) {
	for _, id := range ids {
		passkeys = append(passkeys, &account.Passkey{ID: id, Org: "org", User: "ann", Name: "Laptop", Revision: 1,
			SignCount: 5})
	}
	return passkeys
}

// notHers are callers who may not change the passkeys of ann, with the error of each.
var notHers = map[string]struct {
	by   func(*identity.Actor)
	want error
}{
	"by an API key": {func(by *identity.Actor) { by.Session, by.Key = "", "key" }, account.ErrSessionRequired},
	"by a session of an API key": {
		func(by *identity.Actor) { by.Key = "key" }, account.ErrSessionRequired,
	},
	"by a token of an issuer": {
		func(by *identity.Actor) { by.Session = "" }, account.ErrSessionRequired,
	},
}

func TestAddPasskey(t *testing.T) {
	draft := account.PasskeyDraft{
		PasskeyCredential: account.PasskeyCredential{
			Credential: []byte("id"), PublicKey: []byte("key"), SignCount: 3, Synced: true,
		},
		Host: "acme.example.com", Name: "Laptop",
	}
	t.Run("with an event in each workspace that names neither person nor passkey", func(t *testing.T) {
		k, err := inWorkspaces("w1", "w2").AddPasskey(anns(), nil, draft)
		require.NoError(t, err)
		if k.User != "ann" || k.Org != "org" || k.Host != draft.Host || string(k.PublicKey) != "key" ||
			k.SignCount != 3 ||
			!k.Synced || k.Name != "Laptop" || k.Revision != 1 {
			t.Errorf("the passkey is %+v", k)
		}
		events := k.Recorded()
		if len(events) != 2 || events[0].Type != "passkey.added" || events[0].Subject != string(k.ID) ||
			events[0].Session != "ses_1" || events[0].Data["name"] != nil {
			t.Errorf("events %+v", events)
		}
	})
	t.Run("not more than 20", func(t *testing.T) {
		passkeys := passkeysOf(make([]account.PasskeyID, account.MaxPasskeys)...)
		if _, err := inWorkspaces("w1").AddPasskey(anns(), passkeys[1:], draft); err != nil {
			t.Error(err)
		}
		if _, err := inWorkspaces("w1").AddPasskey(anns(), passkeys, draft); !errors.Is(err,
			account.ErrTooManyPasskeys) {
			t.Errorf("error %v", err)
		}
	})
	for name, tt := range map[string]struct {
		by   func(*identity.Actor)
		want error
	}{
		"by an API key":              notHers["by an API key"],
		"by a session of an API key": notHers["by a session of an API key"],
		"by a token of an issuer":    notHers["by a token of an issuer"],
		"by another person":          {func(by *identity.Actor) { by.User = "bob" }, account.ErrUserNotFound},
		"in another org":             {func(by *identity.Actor) { by.Org = "other" }, account.ErrUserNotFound},
		"by an old session": {
			func(by *identity.Actor) { by.SignedInAt = by.At.Add(-11 * time.Minute) }, identity.ErrStepUpRequired,
		},
	} {
		t.Run("not "+name, func(t *testing.T) {
			by := anns()
			tt.by(&by)
			if _, err := inWorkspaces("w1").AddPasskey(by, nil, draft); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
	for _, name := range []string{"", strings.Repeat("x", 81), "Lap\u202etop"} {
		draft := draft
		draft.Name = name
		var invalid *fault.Error
		if _, err := inWorkspaces("w1").AddPasskey(anns(), nil, draft); !errors.As(err, &invalid) ||
			invalid.Code != "invalid_fields" {
			t.Errorf("the name %q: error %v", name, err)
		}
	}
}

func TestRenamePasskey(t *testing.T) {
	rename := func(by identity.Actor, match revision.Match, id account.PasskeyID, name string) (*account.Passkey,
		error) {
		return inWorkspaces("w1").RenamePasskey(by, match, passkeysOf("psk_1", "psk_2"), id, name)
	}
	k, err := rename(anns(), revision.Match{1}, "psk_2", "Phone")
	if err != nil || k.Name != "Phone" || k.Revision != 2 || len(k.Recorded()) != 1 ||
		k.Recorded()[0].Type != "passkey.renamed" {
		t.Errorf("%+v, %v", k, err)
	}
	if k, err := rename(anns(), nil, "psk_1", "Laptop"); err != nil || k.Revision != 1 || len(k.Recorded()) > 0 {
		t.Errorf("the same name: %+v, %v", k, err)
	}
	bob, keyedActor := anns(), anns()
	bob.User, keyedActor.Key = "bob", "key"
	for want, call := range map[error]func() (*account.Passkey, error){
		account.ErrPasskeyNotFound: func() (*account.Passkey, error) { return rename(anns(), nil, "psk_9", "x") },
		revision.ErrMismatch: func() (*account.Passkey,
			error) {
			return rename(anns(), revision.Match{7}, "psk_1", "x")
		},
		account.ErrSessionRequired: func() (*account.Passkey, error) { return rename(keyedActor, nil, "psk_1", "x") },
	} {
		if _, err := call(); !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
	}
	if _, err := rename(bob, nil, "psk_1", "x"); !errors.Is(err, account.ErrPasskeyNotFound) {
		t.Errorf("of another person: error %v", err)
	}
}

func TestRemovePasskey(t *testing.T) {
	old, keyedActor := anns(), anns()
	old.SignedInAt, keyedActor.Key = old.At.Add(-time.Hour), "key"
	mailedUser := account.User{ID: "ann", Org: "org", Email: "ann@example.com", EmailVerified: true}
	invitedUser := mailedUser
	invitedUser.EmailVerifiedBy = account.VerifiedByInvitation
	for name, tt := range map[string]struct {
		by    identity.Actor
		user  account.User
		have  []*account.Passkey
		mails bool
		want  error
	}{
		"one of two":                       {anns(), invitedUser, passkeysOf("psk_1", "psk_2"), false, nil},
		"the only one if links are mailed": {anns(), mailedUser, passkeysOf("psk_1"), true, nil},
		"not the only one without a mail server": {
			anns(), mailedUser, passkeysOf("psk_1"), false, account.ErrLastPasskey,
		},
		"the only one of an address that a link will confirm": {anns(), invitedUser, passkeysOf("psk_1"), true, nil},
		"not one that does not exist":                         {anns(), mailedUser, passkeysOf("psk_2"), true, account.ErrPasskeyNotFound},
		"not by an old session":                               {old, mailedUser, passkeysOf("psk_1"), true, identity.ErrStepUpRequired},
		"not by a session of a key":                           {keyedActor, mailedUser, passkeysOf("psk_1"), true, account.ErrSessionRequired},
	} {
		t.Run(name, func(t *testing.T) {
			p := inWorkspaces("w1")
			p.User = tt.user
			err := p.RemovePasskey(tt.by, nil, tt.have, "psk_1", tt.mails)
			require.ErrorIs(t, err, tt.want)
			isRemoved := !tt.have[0].RemovedAt.IsZero()
			if isRemoved != (err == nil) || (isRemoved && tt.have[0].Recorded()[0].Type != "passkey.removed") {
				t.Errorf("the passkey is %+v", tt.have[0])
			}
		})
	}
}

func TestUsePasskey(t *testing.T) {
	for name, tt := range map[string]struct {
		stored, signed, want uint32
		suspected            bool
	}{
		"a counter that grew":             {5, 6, 6, false},
		"an authenticator without one":    {0, 0, 0, false},
		"the first counter":               {0, 1, 1, false},
		"a counter that stayed":           {5, 5, 5, true},
		"a counter that went back":        {5, 2, 5, true},
		"a counter that was used before":  {5, 0, 5, true},
		"the highest counter that exists": {5, 1<<32 - 1, 1<<32 - 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			passkeys := passkeysOf("psk_1")
			passkeys[0].SignCount = tt.stored
			k, err := inWorkspaces("w1").UsePasskey(browser(sessionAt), passkeys, "psk_1", tt.signed)
			if err != nil || k.SignCount != tt.want || !k.LastUsedAt.Equal(sessionAt) {
				t.Fatalf("%+v, %v", k, err)
			}
			events := k.Recorded()
			if isSuspected := len(events) == 1 && events[0].Type == "passkey.clone_suspected" &&
				events[0].Actor == "ann"; isSuspected != tt.suspected {
				t.Errorf("events %+v", events)
			}
		})
	}
	for name, tt := range map[string]struct {
		by     func(*identity.Actor)
		person func(*account.Person)
		id     account.PasskeyID
	}{
		"one that was removed": {id: "psk_9"},
		"one of a disabled person": {
			person: func(p *account.Person) { p.User.DisabledAt = sessionAt }, id: "psk_1",
		},
		"one of another person": {by: func(by *identity.Actor) { by.User = "bob" }, id: "psk_1"},
		"one of another org":    {by: func(by *identity.Actor) { by.Org = "other" }, id: "psk_1"},
	} {
		t.Run("not "+name, func(t *testing.T) {
			p, by := inWorkspaces("w1"), browser(sessionAt)
			if tt.person != nil {
				tt.person(p)
			}
			if tt.by != nil {
				tt.by(&by)
			}
			if _, err := p.UsePasskey(by, passkeysOf("psk_1"), tt.id, 9); !errors.Is(err, account.ErrPasskeyInvalid) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestChallenge(t *testing.T) {
	content := account.NewChallenge(sessionAt)
	if string(content) == string(account.NewChallenge(sessionAt)) {
		t.Error("two challenges are the same")
	}
	if ends, err := account.ChallengeEnd(content, sessionAt.Add(5*time.Minute-1)); err != nil ||
		!ends.Equal(sessionAt.Add(5*time.Minute)) {
		t.Errorf("it ends at %v, %v", ends, err)
	}
	for _, late := range []struct {
		content []byte
		after   time.Duration
	}{{content, 5 * time.Minute}, {nil, 0}, {content[:7], 0}} {
		if _, err := account.ChallengeEnd(late.content, sessionAt.Add(late.after)); !errors.Is(err,
			account.ErrPasskeyInvalid) {
			t.Errorf("%x after %v: error %v", late.content, late.after, err)
		}
	}
	seen := map[string]bool{}
	for _, c := range []account.Challenge{
		{Org: "org", Purpose: account.ToSignIn, Host: "a.example"},
		{Org: "org", Purpose: account.ToSignIn, Host: "b.example"},
		{Org: "two", Purpose: account.ToSignIn, Host: "a.example"},
		{Org: "org", Purpose: account.ToStepUp, Host: "a.example"},
		{Org: "org", Purpose: account.ToStepUp, Host: "a.example", User: "ann"},
		{Org: "org", Purpose: account.ToStepUp, Host: "a.example", User: "ann", Session: "ses_1"},
		{Org: "org", Purpose: account.ToAddPasskey, Host: "a.example", User: "ann", Session: "ses_1"},
	} {
		if b := string(c.Binding()); seen[b] {
			t.Errorf("%+v is bound to %q as another is", c, b)
		}
		seen[string(c.Binding())] = true
	}
	got, err := account.AnsweredChallenge([]byte(`{"type":"webauthn.get","challenge":"AQID"}`))
	if err != nil || string(got) != "\x01\x02\x03" {
		t.Errorf("%x, %v", got, err)
	}
	for _, data := range []string{"", "{}", `{"challenge":""}`, `{"challenge":"!"}`, `{"challenge":7}`, `[]`} {
		if _, err := account.AnsweredChallenge([]byte(data)); !errors.Is(err, account.ErrPasskeyInvalid) {
			t.Errorf("%s: error %v", data, err)
		}
	}
}
