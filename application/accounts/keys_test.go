package accounts_test

import (
	"context"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

func TestCreateServiceKey(t *testing.T) {
	t.Run("its user is stored with it, as a member whose role is the key's ceiling", func(t *testing.T) {
		s := newStage(t)
		tx := s.expectAtomically(t, 1)
		var u *account.User
		var m []account.Membership
		var stored *account.Key
		tx.users.EXPECT().Add(s.ctx, gomock.Any(), gomock.Any()).Do(func(_ context.Context, user *account.User, memberships []account.Membership) {
			u, m = user, memberships
		})
		tx.keys.EXPECT().Add(s.ctx, gomock.Any()).Do(func(_ context.Context, k *account.Key) { stored = k })
		k, token, err := s.CreateServiceKey(s.ctx, admin, account.KeyDraft{Name: "deploys", Ceiling: identity.Member})
		wantErr(t, err, nil)
		if k != stored || k.Hash != token.Hash() || k.User != u.ID || !k.Service || !u.Service || k.CreatedBy != "ada" {
			t.Errorf("CreateServiceKey = %+v of %+v", k, u)
		}
		if len(m) != 1 || m[0].Workspace.ID != "acme" || m[0].Role != identity.Member {
			t.Errorf("memberships %+v", m)
		}
	})
	t.Run("what breaks a rule is not stored", func(t *testing.T) {
		s := newStage(t)
		k, token, err := s.CreateServiceKey(s.ctx, member, account.KeyDraft{Name: "deploys", Ceiling: identity.Viewer})
		wantErr(t, err, identity.ErrForbidden)
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
			s := newStage(t)
			var old, stored *account.Key
			s.keys.EXPECT().Rotate(s.ctx, identity.WorkspaceID("acme"), identity.KeyID("k"), gomock.Any()).DoAndReturn(
				func(_ context.Context, ws identity.WorkspaceID, _ identity.KeyID, change func(*account.Key) (*account.Key, error)) (err error) {
					for range 2 { // the second run must not stand on what the first one left
						old = key(ws)
						if stored, err = change(old); err != nil {
							return err
						}
					}
					return nil
				})
			next, token, err := s.RotateKey(s.ctx, tt.by, "k", tt.at, time.Minute)
			wantErr(t, err, tt.want)
			if tt.want != nil {
				if next != nil || !token.IsZero() || !old.ExpiresAt.IsZero() {
					t.Errorf("RotateKey = %+v", next)
				}
				return
			}
			if next != stored || next.Hash != token.Hash() || next.ID == "k" || old.ExpiresAt != now.Add(time.Minute) {
				t.Errorf("RotateKey = %+v: not what was stored last", next)
			}
		})
	}
}
