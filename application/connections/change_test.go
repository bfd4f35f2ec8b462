package connections_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestRename(t *testing.T) {
	t.Run("the connection has another name", func(t *testing.T) {
		s := newEnv(t)
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		got, err := s.Rename(s.ctx, maker, "con", revision.Match{1}, "The shop")
		require.NoError(t, err)
		if got.Name != "The shop" || got.Revision != 2 {
			t.Errorf("Rename = %q, revision %d", got.Name, got.Revision)
		}
	})
	t.Run("another member changes nothing", func(t *testing.T) {
		s := newEnv(t)
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		_, err := s.Rename(s.ctx, peer, "con", nil, "Mine")
		require.ErrorIs(t, err, connection.ErrForbidden)
	})
	t.Run("with an older revision nothing changes", func(t *testing.T) {
		s := newEnv(t)
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		_, err := s.Rename(s.ctx, maker, "con", revision.Match{7}, "The shop")
		require.ErrorIs(t, err, revision.ErrMismatch)
	})
}

func TestErase(t *testing.T) {
	revoke := func() *connection.Connection {
		c := stored(t)
		require.NoError(t, c.Revoke(maker, nil))
		return c
	}
	t.Run("nothing is left of the server of a revoked connection", func(t *testing.T) {
		s := newEnv(t)
		s.expectUpdate(revoke, 0)
		got, err := s.Erase(s.ctx, maker, "con")
		require.NoError(t, err)
		if string(got.Config) != "{}" || got.Name != "Erased" {
			t.Errorf("Erase = %+v", got)
		}
	})
	t.Run("a live one stays as it is", func(t *testing.T) {
		s := newEnv(t)
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		_, err := s.Erase(s.ctx, maker, "con")
		require.ErrorIs(t, err, connection.ErrNotRevoked)
	})
}
