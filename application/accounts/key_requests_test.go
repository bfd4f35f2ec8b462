package accounts_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestRequestsWithKeysAreCounted(t *testing.T) {
	today := account.DayOf(now)
	key := func(id identity.KeyID, org identity.OrgID) *account.Key {
		return &account.Key{ID: id, Org: org, LastUsedAt: now.Add(time.Hour)} // so that only requests are stored
	}
	// stores returns what a call got: it may be changed later.
	type storing = func(context.Context, identity.OrgID, account.KeyRequests) error
	stores := func(target *[]account.KeyRequests) storing {
		return func(_ context.Context, _ identity.OrgID, r account.KeyRequests) error {
			*target = append(*target, maps.Clone(r))
			return nil
		}
	}
	want := func(t *testing.T, got []account.KeyRequests, all ...account.KeyRequests) {
		t.Helper()
		if len(got) != len(all) {
			t.Fatalf("stored %v, want %v", got, all)
		}
		for i := range all {
			if !maps.Equal(got[i], all[i]) {
				t.Errorf("stored %v, want %v", got[i], all[i])
			}
		}
	}
	t.Run("every request counts, by key and day, and is stored once", func(t *testing.T) {
		keys := mocks.NewMockKeyRequests(gomock.NewController(t))
		u := accounts.NewKeyUsage(mocks.NewMockKeys(gomock.NewController(t)), keys)
		var org, other []account.KeyRequests
		keys.EXPECT().AddRequests(t.Context(), identity.OrgID("org"), gomock.Any()).DoAndReturn(stores(&org))
		keys.EXPECT().AddRequests(t.Context(), identity.OrgID("other"), gomock.Any()).DoAndReturn(stores(&other))
		for range 3 {
			u.Record(key("a", "org"), now, "192.0.2.1")
		}
		u.Record(key("a", "org"), now.Add(-24*time.Hour), "192.0.2.1")
		u.Record(key("b", "org"), now, "192.0.2.1")
		u.Record(key("c", "other"), now, "192.0.2.1")
		require.NoError(t, u.Flush(t.Context()))
		require.ErrorIs(t, u.Flush(t.Context()), nil) // the mock would fail a second call
		want(t, org, account.KeyRequests{{Key: "a", Day: today}: 3, {Key: "a", Day: today - 1}: 1,
			{Key: "b", Day: today}: 1})
		want(t, other, account.KeyRequests{{Key: "c", Day: today}: 1})
	})
	t.Run("what could not be stored is stored the next time, with what came since", func(t *testing.T) {
		keys := mocks.NewMockKeyRequests(gomock.NewController(t))
		u := accounts.NewKeyUsage(mocks.NewMockKeys(gomock.NewController(t)), keys)
		var got []account.KeyRequests
		u.Record(key("a", "org"), now, "192.0.2.1")
		u.Record(key("b", "org"), now, "192.0.2.1")
		keys.EXPECT().AddRequests(t.Context(), identity.OrgID("org"), gomock.Any()).DoAndReturn(
			func(_ context.Context, _ identity.OrgID, r account.KeyRequests) error {
				delete(r, account.KeyDay{Key: "b", Day: today}) // stored before the failure
				u.Record(key("a", "org"), now, "192.0.2.1")
				return errOutage
			})
		require.ErrorIs(t, u.Flush(t.Context()), errOutage)
		keys.EXPECT().AddRequests(t.Context(), identity.OrgID("org"), gomock.Any()).DoAndReturn(stores(&got))
		require.NoError(t, u.Flush(t.Context()))
		want(t, got, account.KeyRequests{{Key: "a", Day: today}: 2})
	})
	t.Run("a key tells those of the last days, oldest first", func(t *testing.T) {
		requests := mocks.NewMockKeyRequests(gomock.NewController(t))
		u := accounts.NewKeyUsage(mocks.NewMockKeys(gomock.NewController(t)), requests)
		a, b := key("a", "org"), key("b", "org")
		requests.EXPECT().Requests(t.Context(), member.Workspace, []identity.KeyID{"a", "b"}, now).Return(
			account.KeyRequests{{Key: "a", Day: today}: 7, {Key: "a", Day: today - account.RequestDays + 1}: 5}, nil)
		require.NoError(t, u.Count(t.Context(), member, a, b))
		days := make([]int64, account.RequestDays)
		assert.EqualSlice(t, "requests of an unused key", b.Requests, days)
		days[0], days[account.RequestDays-1] = 5, 7
		assert.EqualSlice(t, "requests", a.Requests, days)
	})
}
