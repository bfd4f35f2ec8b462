package presences_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestSeats(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	by := identity.Actor{Org: "org", User: "ann", Workspace: "acme", Role: identity.Member, At: now}
	errOutage := errors.New("the store is away")
	seats := func(t *testing.T, limit int64) (*presences.Seats, *mocks.MockStreamSeats) {
		store := mocks.NewMockStreamSeats(gomock.NewController(t))
		return presences.NewSeats(store, func(context.Context, identity.Actor) (quota.Limits, error) {
			return quota.Limits{Amounts: quota.Amounts{Streams: limit},
				Limited: map[quota.Kind]bool{quota.Streams: true}}, nil
		}), store
	}
	take := func(store *mocks.MockStreamSeats, uses int64) *gomock.Call {
		return store.EXPECT().Take(gomock.Any(), by.Workspace, gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
			func(_ context.Context, _ identity.WorkspaceID, _ string, _ time.Time,
				check func(quota.Amounts) error) error {
				return check(quota.Amounts{Streams: uses})
			})
	}
	t.Run("a stream is counted until it ends, and the node says that it is alive", func(t *testing.T) {
		s, store := seats(t, 1)
		store.EXPECT().Keep(gomock.Any(), gomock.Any(), now, now.Add(time.Minute)).Return(nil)
		take(store, 1)
		free, err := s.Take(t.Context(), by)
		require.NoError(t, err)
		assert.NoError(t, s.Keep(t.Context(), now.Add(9*time.Second)))
		store.EXPECT().Keep(gomock.Any(), gomock.Any(), now.Add(10*time.Second), now.Add(70*time.Second)).Return(nil)
		assert.NoError(t, s.Keep(t.Context(), now.Add(10*time.Second)))
		store.EXPECT().Free(gomock.Any(), by.Workspace, gomock.Any()).Return(nil)
		assert.NoError(t, free())
		if err := s.Keep(t.Context(), now.Add(time.Hour)); err != nil { // without streams nothing is stored
			t.Error(err)
		}
	})
	t.Run("a stream beyond the limit is refused", func(t *testing.T) {
		s, store := seats(t, 1)
		store.EXPECT().Keep(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil)
		take(store, 2)
		if _, err := s.Take(t.Context(), by); !errors.Is(err, quota.ErrPlanLimit) {
			t.Error(err)
		}
	})
	t.Run("without a limit or a workspace nothing is stored", func(t *testing.T) {
		s, _ := seats(t, quota.Unlimited)
		limitedSeats, _ := seats(t, 1)
		foreign := by
		foreign.Workspace = ""
		for _, take := range []func() (func() error, error){
			func() (func() error, error) { return s.Take(t.Context(), by) },
			func() (func() error, error) { return limitedSeats.Take(t.Context(), foreign) },
		} {
			free, err := take()
			if err != nil || free() != nil {
				t.Error(err)
			}
		}
	})
	t.Run("an error of the store is returned", func(t *testing.T) {
		s, store := seats(t, 1)
		store.EXPECT().Keep(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(errOutage)
		if _, err := s.Take(t.Context(), by); !errors.Is(err, errOutage) {
			t.Error(err)
		}
		store.EXPECT().Keep(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil)
		store.EXPECT().Take(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(errOutage)
		if _, err := s.Take(t.Context(), by); !errors.Is(err, errOutage) {
			t.Error(err)
		}
	})
}
