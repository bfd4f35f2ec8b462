package accounts_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/require"
)

// uncounted stores no counts of requests.
func uncounted(t *testing.T) ports.KeyRequests {
	requests := mocks.NewMockKeyRequests(gomock.NewController(t))
	requests.EXPECT().AddRequests(gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes()
	return requests
}

func TestKeyUsage(t *testing.T) {
	type uses = map[identity.KeyID]account.KeyUse
	use := func(now time.Time) account.KeyUse { return account.KeyUse{At: now, Address: "192.0.2.1"} }
	key := func(id identity.KeyID, last time.Time) *account.Key {
		return &account.Key{ID: id, Org: "org", LastUsedAt: last}
	}
	for name, tt := range map[string]struct {
		last  time.Time
		noted bool
	}{
		"the first use is noted":             {time.Time{}, true},
		"a use after a minute is noted":      {now.Add(-time.Minute), true},
		"one within the minute is not":       {now.Add(-time.Minute + 1), false},
		"nor one that another node noted so": {now.Add(time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			keys := mocks.NewMockKeys(gomock.NewController(t))
			u := accounts.NewKeyUsage(keys, uncounted(t))
			if tt.noted {
				keys.EXPECT().Used(t.Context(), identity.OrgID("org"), uses{"k": use(now)})
			}
			u.Record(key("k", tt.last), now, "192.0.2.1")
			require.NoError(t, u.Flush(t.Context()))
		})
	}
	t.Run("many are stored together, by their orgs, each as first noted", func(t *testing.T) {
		keys := mocks.NewMockKeys(gomock.NewController(t))
		u := accounts.NewKeyUsage(keys, uncounted(t))
		keys.EXPECT().Used(t.Context(), identity.OrgID("org"), uses{"a": use(now), "b": use(now)})
		keys.EXPECT().Used(t.Context(), identity.OrgID("other"), uses{"c": use(now)})
		u.Record(key("a", time.Time{}), now, "192.0.2.1")
		u.Record(key("a", time.Time{}), now.Add(time.Second), "192.0.2.1")
		u.Record(key("b", time.Time{}), now, "192.0.2.1")
		u.Record(&account.Key{ID: "c", Org: "other"}, now, "192.0.2.1")
		require.NoError(t, u.Flush(t.Context()))
		require.ErrorIs(t, u.Flush(t.Context()), nil) // the mock would fail a second call
	})
	t.Run("what could not be stored is stored the next time, with what came since", func(t *testing.T) {
		keys := mocks.NewMockKeys(gomock.NewController(t))
		u := accounts.NewKeyUsage(keys, uncounted(t))
		u.Record(key("a", time.Time{}), now, "192.0.2.1")
		keys.EXPECT().Used(t.Context(), identity.OrgID("org"),
			uses{"a": use(now)}).DoAndReturn(func(context.Context, identity.OrgID, uses) error {
			u.Record(key("a", time.Time{}), now.Add(time.Minute), "192.0.2.1")
			u.Record(key("b", time.Time{}), now, "192.0.2.1")
			return errOutage
		})
		require.ErrorIs(t, u.Flush(t.Context()), errOutage)
		keys.EXPECT().Used(t.Context(), identity.OrgID("org"), uses{"a": use(now.Add(time.Minute)), "b": use(now)})
		require.NoError(t, u.Flush(t.Context()))
	})
	t.Run("they are kept until the node ends, and a failure is told", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			keys := mocks.NewMockKeys(gomock.NewController(t))
			u := accounts.NewKeyUsage(keys, uncounted(t))
			ctx, end := context.WithCancel(t.Context())
			defer end()
			rows := 0
			keys.EXPECT().Used(gomock.Any(), gomock.Any(), gomock.Any()).Times(2).DoAndReturn(func(context.Context,
				identity.OrgID, uses) error {
				if rows++; rows == 1 {
					return errOutage
				}
				return nil
			})
			var reports []error
			go u.Run(ctx, func(err error) { reports = append(reports, err) })
			u.Record(key("a", time.Time{}), now, "192.0.2.1")
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if rows != 2 || len(reports) != 1 {
				t.Errorf("stored %d times, reported %v", rows, reports)
			}
			end()
			synctest.Wait()
		})
	})
}
