package sources_test

import (
	"context"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestRename(t *testing.T) {
	t.Run("the source has another name", func(t *testing.T) {
		s, src := newEnv(t), stored(t, table)
		s.expectAtomic()
		s.expectUpdate(src)
		got, err := s.Change(s.ctx, owner, "src", revision.Match{1}, sources.Patch{Name: new("Customers")})
		require.NoError(t, err)
		if got.Source.Name != "Customers" || src.Name != "Customers" {
			t.Errorf("Change = %q, stored %q", got.Source.Name, src.Name)
		}
	})
	t.Run("with a key, its rows are compared now", func(t *testing.T) {
		s, src := newEnv(t), stored(t, table)
		s.expectAtomic()
		s.expectUpdate(src)
		s.jobs.EXPECT().Enqueue(gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context, j job.Job) error {
			if j.Kind != source.CompareJob || !j.Due.Equal(now) {
				t.Errorf("%+v", j)
			}
			return nil
		})
		got, err := s.Change(s.ctx, owner, "src", revision.Match{1},
			sources.Patch{Name: new("Customers"), ChangeKey: new("email")})
		require.NoError(t, err)
		if got.ChangeKey != "email" || got.Source.Name != "Customers" {
			t.Errorf("%+v", got.Source)
		}
	})
	t.Run("in another locale, it is read again", func(t *testing.T) {
		s, src := newEnv(t), stored(t, sheetAt)
		src.LastRefreshedAt = now.Add(-time.Second)
		s.expectAtomic()
		s.expectUpdate(src)
		s.expectQueued(time.Minute - time.Second) // as a refresh that is requested
		got, err := s.Change(s.ctx, owner, "src", revision.Match{1},
			sources.Patch{Name: new("Dates"), Locale: new("de-DE")})
		require.NoError(t, err)
		if got.Location.Sheet.Locale != "de-DE" || got.Source.Name != "Dates" {
			t.Errorf("%+v", got.Source)
		}
	})
	t.Run("in another locale, it is not read while it is paused", func(t *testing.T) {
		s, src := newEnv(t), stored(t, sheetAt)
		src.Paused = source.BreakingDrift
		s.expectAtomic()
		s.expectUpdate(src)
		got, err := s.Change(s.ctx, owner, "src", nil, sources.Patch{Locale: new("de-DE")})
		require.NoError(t, err)
		if got.Location.Sheet.Locale != "de-DE" {
			t.Errorf("%+v", got.Source)
		}
	})
	t.Run("another member changes nothing", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectUpdate(stored(t, table))
		_, err := s.Change(s.ctx, peer, "src", nil, sources.Patch{Name: new("Mine")})
		require.ErrorIs(t, err, source.ErrForbidden)
	})
}
