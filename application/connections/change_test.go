package connections_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/revision"
)

func TestRename(t *testing.T) {
	t.Run("the connection has another name", func(t *testing.T) {
		s := newEnv(t)
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		got, err := s.Rename(s.ctx, maker, "con", revision.Match{1}, "The shop")
		wantErr(t, err, nil)
		if got.Name != "The shop" || got.Revision != 2 {
			t.Errorf("Rename = %q, revision %d", got.Name, got.Revision)
		}
	})
	t.Run("another member changes nothing", func(t *testing.T) {
		s := newEnv(t)
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		_, err := s.Rename(s.ctx, peer, "con", nil, "Mine")
		wantErr(t, err, connection.ErrForbidden)
	})
	t.Run("with an older revision nothing changes", func(t *testing.T) {
		s := newEnv(t)
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		_, err := s.Rename(s.ctx, maker, "con", revision.Match{7}, "The shop")
		wantErr(t, err, revision.ErrMismatch)
	})
}

func TestErase(t *testing.T) {
	revoked := func() *connection.Connection {
		c := stored(t)
		wantErr(t, c.Revoke(maker, nil), nil)
		return c
	}
	t.Run("nothing is left of the server of a revoked connection", func(t *testing.T) {
		s := newEnv(t)
		s.expectUpdate(revoked, 0)
		got, err := s.Erase(s.ctx, maker, "con")
		wantErr(t, err, nil)
		if string(got.Config) != "{}" || got.Name != "Erased" {
			t.Errorf("Erase = %+v", got)
		}
	})
	t.Run("a live one stays as it is", func(t *testing.T) {
		s := newEnv(t)
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		_, err := s.Erase(s.ctx, maker, "con")
		wantErr(t, err, connection.ErrNotRevoked)
	})
}
