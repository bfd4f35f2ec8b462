package presence_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestARecordIsRevivedByHeartbeatsAfterItsDeletion(t *testing.T) {
	begun := func() *presence.Record {
		r := annsOwn()
		require.NoError(t, r.Beat(ann, saying(claiming(presence.ManualDND), "secret"), start))
		require.NoError(t, r.Beat(ann, beat("a", true), start))
		return r
	}
	deleted := begun()
	require.NoError(t, deleted.Delete(ann, after(10)))
	heard := func(index int, device string, idle bool) *presence.Record {
		r := begun()
		require.NoError(t, r.Beat(ann, beat(device, idle), after(index)))
		return r
	}
	next := heard(20, "a", true)
	next.Generation++
	for name, tt := range map[string]struct {
		r      *presence.Record
		gone   *presence.Record // as it was deleted
		now    int
		shown  presence.Status
		device string // empty if r does not continue
	}{
		"a device in use":                  {heard(11, "a", false), deleted, 12, presence.Online, "a"},
		"an idle one":                      {heard(11, "a", true), deleted, 12, presence.Away, "a"},
		"a device that is new":             {heard(11, "b", false), deleted, 12, presence.Online, "b"},
		"not what was heard of before":     {heard(9, "a", false), deleted, 12, "", ""},
		"not what was at the same moment":  {heard(10, "a", false), deleted, 12, "", ""},
		"not what has ended meanwhile":     {heard(11, "a", false), deleted, 12 + 90, "", ""},
		"nothing of another generation":    {next, deleted, 21, "", ""},
		"nothing of what is deleted too":   {deleted.Copy(), deleted, 12, "", ""},
		"nothing, if there is no deletion": {heard(11, "a", false), begun(), 12, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := tt.r.Revive(tt.gone, after(tt.now))
			if got == nil || tt.device == "" {
				if got != nil || tt.device != "" {
					t.Fatalf("%+v", got)
				}
				return
			}
			if got.Shown != tt.shown || len(got.Devices) != 1 || got.Devices[0].ID != tt.device ||
				got.Generation != deleted.Generation+1 || got.Default != (presence.Claim{}) || got.Deleted ||
				got.Seq != deleted.Seq {
				t.Errorf("%+v", got)
			}
			kept := deleted.Copy()
			kept.MergeDevices(got)
			if kept.Settle(after(tt.now)); !kept.EqualVisible(got) || kept.Shown != tt.shown {
				t.Errorf("the store would keep %+v, want %+v", kept, got)
			}
		})
	}
	t.Run("a deleted record is revived only by a heartbeat", func(t *testing.T) {
		old := deleted.Copy()
		old.Since = presence.Record{}.Since
		if got := heard(11, "a", false).Revive(old, after(12)); got != nil {
			t.Errorf("%+v", got)
		}
	})
}
