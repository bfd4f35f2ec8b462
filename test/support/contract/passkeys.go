package contract

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

const passkeyHost = "acme.example.com"

// Passkeys is the suite for ports.Passkeys.
func Passkeys(t *testing.T, open Opener) {
	a := open(t)
	t.Run("Update, List and Find", func(t *testing.T) { passkeysKept(t, a) })
	t.Run("Update at once", func(t *testing.T) { passkeysAtOnce(t, a) })
	t.Run("UseChallenge", func(t *testing.T) { challengesUsed(t, a) })
}

// inSession is a user in a session of their own.
func inSession(by identity.Actor) identity.Actor {
	by.Session, by.SignedInAt, by.Key = "ses_1", by.At, ""
	return by
}

// addPasskey adds a passkey of by's with a credential.
func addPasskey(t testing.TB, s ports.Stores, by identity.Actor, credential string) (*account.Passkey, error) {
	t.Helper()
	var passkey *account.Passkey
	err := s.Passkeys.Update(t.Context(), by, by.User,
		func(p *account.Person, existing []*account.Passkey) (_ *account.Passkey, err error) {
			passkey, err = p.AddPasskey(by, existing, account.PasskeyDraft{
				PasskeyCredential: account.PasskeyCredential{
					Credential: []byte(credential), PublicKey: []byte("key of " + credential), SignCount: 7,
					Synced: true,
				},
				Host: passkeyHost, Name: credential,
			})
			return passkey, err
		})
	return passkey, err
}

func passkeysKept(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by, peer := inSession(team.Member), inSession(team.Peer)
	add := func(by identity.Actor, credential string) *account.Passkey {
		t.Helper()
		k, err := addPasskey(t, a.Stores, by, credential)
		must(t, err)
		return k
	}
	list := func() (ids []account.PasskeyID) {
		t.Helper()
		for _, limit := range []int{100, 1} {
			ids = nil
			for _, k := range fixture.Pages(t, limit, func(q page.Query) (account.PasskeyPage, error) {
				return a.Passkeys.List(ctx, team.Org, by.User, q)
			}) {
				ids = append(ids, k.ID)
			}
		}
		return ids
	}
	first, second := add(by, "one"), add(by, "two")
	theirs := add(peer, "three")

	t.Run("List returns the passkeys of a user, newest first", func(t *testing.T) {
		same(t, "the passkeys", list(), []account.PasskeyID{second.ID, first.ID})
		found, err := a.Passkeys.List(ctx, a.Orgs[1], by.User, page.Query{Limit: 10})
		must(t, err)
		if len(found.Items) > 0 {
			t.Errorf("another org sees %+v", found)
		}
	})
	t.Run("Find returns the passkey of a credential on its host", func(t *testing.T) {
		got, err := a.Passkeys.Find(ctx, team.Org, passkeyHost, []byte("one"))
		must(t, err)
		same(t, "what was stored", got, first)
		for _, absent := range []struct {
			org              identity.OrgID
			host, credential string
		}{
			{a.Orgs[1], passkeyHost, "one"}, {team.Org, "example.com", "one"}, {team.Org, passkeyHost, "four"},
		} {
			_, err := a.Passkeys.Find(ctx, absent.org, absent.host, []byte(absent.credential))
			wantErr(t, err, account.ErrPasskeyInvalid)
		}
	})
	t.Run("a credential that the org has is refused", func(t *testing.T) {
		_, err := addPasskey(t, a.Stores, by, "three")
		wantErr(t, err, account.ErrPasskeyExists)
		other := fixture.NewTeam(t, a.Stores, a.Orgs[1])
		if _, err := addPasskey(t, a.Stores, inSession(other.Member), "three"); err != nil {
			t.Errorf("in another org: %v", err)
		}
	})
	t.Run("Update loads the passkeys, oldest first, and stores nothing after an error", func(t *testing.T) {
		err := a.Passkeys.Update(ctx, by, by.User, func(
			p *account.Person, existing []*account.Passkey,
		) (*account.Passkey, error) {
			same(t, "the passkeys", existing, []*account.Passkey{first, second})
			if p.User.ID != by.User || len(p.Memberships) != 1 {
				t.Errorf("the person is %+v", p)
			}
			must(t, p.RemovePasskey(by, nil, existing, first.ID, false))
			return nil, errBoom
		})
		wantErr(t, err, errBoom)
		same(t, "the passkeys", list(), []account.PasskeyID{second.ID, first.ID})
		wantErr(t, a.Passkeys.Update(ctx, by, "usr_none", nil), account.ErrUserNotFound)
		elsewhere := by
		elsewhere.Org = a.Orgs[1]
		wantErr(t, a.Passkeys.Update(ctx, elsewhere, by.User, nil), account.ErrUserNotFound)
	})
	t.Run("changes, uses and removals are stored, with their events", func(t *testing.T) {
		actor := by
		actor.At = by.At.Add(time.Minute)
		must(t, a.Passkeys.Update(ctx, actor, by.User,
			func(p *account.Person, existing []*account.Passkey) (*account.Passkey, error) {
				if _, err := p.RenamePasskey(actor, nil, existing, first.ID, "Laptop"); err != nil {
					return nil, err
				}
				if _, err := p.UsePasskey(actor, existing, first.ID, 9); err != nil {
					return nil, err
				}
				return nil, p.RemovePasskey(actor, nil, existing, second.ID, false)
			}))
		same(t, "the passkeys", list(), []account.PasskeyID{first.ID})
		got, err := a.Passkeys.Find(ctx, team.Org, passkeyHost, []byte("one"))
		must(t, err)
		want := *first
		want.Name, want.SignCount, want.LastUsedAt, want.Revision, want.UpdatedAt = "Laptop", 9, actor.At, 2, actor.At
		same(t, "the passkey", got, &want)
		same(t, "the events", kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(first.ID))),
			[]string{"passkey.renamed", "passkey.added"})
		same(t, "the events", kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(second.ID))),
			[]string{"passkey.removed", "passkey.added"})
		if _, err := a.Passkeys.Find(ctx, team.Org, passkeyHost, theirs.Credential); err != nil {
			t.Errorf("that of another user: %v", err)
		}
	})
}

func passkeysAtOnce(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by, second := inSession(team.Member), a.Second()
	for i := range account.MaxPasskeys - 2 {
		_, err := addPasskey(t, a.Stores, by, "at once "+string(rune('a'+i)))
		must(t, err)
	}
	additions := 0
	for _, err := range atOnce(6, func(i int) error {
		s := a.Stores
		if i%2 == 1 {
			s = second
		}
		_, err := addPasskey(t, s, by, "more "+string(rune('a'+i)))
		return err
	}) {
		if err == nil {
			additions++
			continue
		}
		wantErr(t, err, account.ErrTooManyPasskeys)
	}
	assert.Equal(t, "were added", additions, 2)
}

func challengesUsed(t *testing.T, a Adapter) {
	usedOnce(t, a, account.ErrPasskeyInvalid, func(s ports.Stores, h [32]byte, expires time.Time) error {
		return s.Passkeys.UseChallenge(t.Context(), a.Orgs[0], h, expires)
	})
}

// usedOnce checks that use returns nil once for each hash, and want for all other calls.
func usedOnce(
	t *testing.T, a Adapter, want error, use func(s ports.Stores, h [32]byte, expires time.Time) error,
) {
	t.Helper()
	h, second, uses := sha256.Sum256([]byte("used once")), a.Second(), 0
	for _, err := range atOnce(8, func(i int) error {
		s := a.Stores
		if i%2 == 1 {
			s = second
		}
		return use(s, h, fixture.At.Add(time.Minute))
	}) {
		if err == nil {
			uses++
			continue
		}
		wantErr(t, err, want)
	}
	if uses != 1 {
		t.Errorf("it was used %d times", uses)
	}
	must(t, use(a.Stores, sha256.Sum256([]byte("another")), fixture.At))
	undone := sha256.Sum256([]byte("undone"))
	wantErr(t, a.Atomic.Atomically(t.Context(), func(tx ports.Stores) error {
		must(t, use(tx, undone, fixture.At))
		return errBoom
	}), errBoom)
	must(t, use(a.Stores, undone, fixture.At))
}
