package presence_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestARecordIsRevivedByHeartbeatsAfterItsDeletion(t *testing.T) {
	hasBegun := func() *presence.Record {
		r := annsOwn()
		require.NoError(t, r.Beat(ann, saying(claiming(presence.ManualDND), "secret"), start))
		require.NoError(t, r.Beat(ann, beat("a", true), start))
		return r
	}
	deletedRecord := hasBegun()
	require.NoError(t, deletedRecord.Delete(ann, after(10)))
	heard := func(index int, device string, idle bool) *presence.Record {
		r := hasBegun()
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
		"a device in use":                  {heard(11, "a", false), deletedRecord, 12, presence.Online, "a"},
		"an idle one":                      {heard(11, "a", true), deletedRecord, 12, presence.Away, "a"},
		"a device that is new":             {heard(11, "b", false), deletedRecord, 12, presence.Online, "b"},
		"not what was heard of before":     {heard(9, "a", false), deletedRecord, 12, "", ""},
		"not what was at the same moment":  {heard(10, "a", false), deletedRecord, 12, "", ""},
		"not what has ended meanwhile":     {heard(11, "a", false), deletedRecord, 12 + 90, "", ""},
		"nothing of another generation":    {next, deletedRecord, 21, "", ""},
		"nothing of what is deleted too":   {deletedRecord.Copy(), deletedRecord, 12, "", ""},
		"nothing, if there is no deletion": {heard(11, "a", false), hasBegun(), 12, "", ""},
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
				got.Generation != deletedRecord.Generation+1 || got.Default != (presence.Claim{}) || got.Deleted ||
				got.Seq != deletedRecord.Seq {
				t.Errorf("%+v", got)
			}
			keptRecord := deletedRecord.Copy()
			keptRecord.MergeDevices(got)
			if keptRecord.Settle(after(tt.now)); !keptRecord.EqualVisible(got) || keptRecord.Shown != tt.shown {
				t.Errorf("the store would keep %+v, want %+v", keptRecord, got)
			}
		})
	}
	t.Run("a deleted record is revived only by a heartbeat", func(t *testing.T) {
		old := deletedRecord.Copy()
		old.Since = presence.Record{}.Since
		if got := heard(11, "a", false).Revive(old, after(12)); got != nil {
			t.Errorf("%+v", got)
		}
	})
}
