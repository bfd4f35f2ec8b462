package accounts_test

import (
	"context"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestCreateServiceKey(t *testing.T) {
	t.Run("its user is stored with it", func(t *testing.T) {
		s := newEnv(t)
		var u *account.User
		var row *account.Key
		s.expectAddKey(admin, "", &u, &row)
		k, token, err := s.CreateServiceKey(s.ctx, admin, open,
			account.KeyDraft{Name: "deploys", Ceiling: identity.Member})
		require.NoError(t, err)
		if k != row || k.Hash != token.Hash() || k.User != u.ID || !k.Service || !u.Service || k.CreatedBy != "ada" {
			t.Errorf("CreateServiceKey = %+v of %+v", k, u)
		}
	})
	t.Run("what breaks a rule is not stored", func(t *testing.T) {
		s := newEnv(t)
		var u *account.User
		var storedKey *account.Key
		s.expectAddKey(member, "", &u, &storedKey)
		k, token, err := s.CreateServiceKey(s.ctx, member, open,
			account.KeyDraft{Name: "deploys", Ceiling: identity.Viewer})
		require.ErrorIs(t, err, identity.ErrForbidden)
		if k != nil || !token.IsZero() {
			t.Error("there is a key all the same")
		}
	})
}

func TestRotateKey(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		want error
	}{
		"whose it is rotates it":         {member, revision.Match{1}, nil},
		"another revision was meant":     {member, revision.Match{9}, revision.ErrMismatch},
		"an admin may not":               {admin, nil, identity.ErrForbidden},
		"another member is told nothing": {actor("mia", identity.Member), nil, account.ErrKeyNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			var old, row *account.Key
			s.keys.EXPECT().Rotate(s.ctx, tt.by, identity.KeyID("k"), gomock.Any()).DoAndReturn(
				func(_ context.Context, by identity.Actor, _ identity.KeyID,
					change func(*account.Workspace, *account.Key) (*account.Key, error)) (err error) {
					for range 2 { // the second run must not depend on the first
						old = key(by.Workspace)
						if row, err = change(acme(), old); err != nil {
							return err
						}
					}
					return nil
				})
			next, token, err := s.RotateKey(s.ctx, tt.by, open, "k", tt.at, time.Minute)
			require.ErrorIs(t, err, tt.want)
			if tt.want != nil {
				if next != nil || !token.IsZero() || !old.ExpiresAt.IsZero() {
					t.Errorf("RotateKey = %+v", next)
				}
				return
			}
			if next != row || next.Hash != token.Hash() || next.ID == "k" || old.ExpiresAt != now.Add(time.Minute) {
				t.Errorf("RotateKey = %+v: not what was stored last", next)
			}
		})
	}
}
