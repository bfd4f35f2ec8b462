package presence_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	start = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

	ann      = identity.Actor{Org: "org", User: "ann", Ceiling: identity.Owner}
	bob      = identity.Actor{Org: "org", User: "bob", Ceiling: identity.Owner}
	operator = identity.Actor{Org: "org", User: "opa", Ceiling: identity.Owner, Operator: true}
	foreign  = identity.Actor{Org: "other", User: "opa", Ceiling: identity.Owner, Operator: true}
)

func after(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func annsOwn() *presence.Record { return presence.New("org", "ann", "prs_1") }

// beat returns a heartbeat of one device, with the default time to live.
func beat(device string, idle bool) presence.Heartbeat {
	return presence.Heartbeat{Device: device, Kind: presence.Web, Idle: idle, TTL: presence.DefaultTTL}
}

func claiming(s presence.Manual) presence.Heartbeat {
	h := beat("web", false)
	h.Status = &s
	return h
}

func until(h presence.Heartbeat, seconds int) presence.Heartbeat {
	now := after(seconds)
	h.Until = &now
	return h
}

func saying(h presence.Heartbeat, text string) presence.Heartbeat {
	h.Text = &text
	return h
}

// codeOf returns the code of an expected failure.
func codeOf(err error) (string, bool) {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return "", false
	}
	return f.Code, true
}

func TestWhatDevicesAndClaimsAddUpTo(t *testing.T) {
	type step struct {
		at int // seconds after the start
		presence.Heartbeat
	}
	for name, tt := range map[string]struct {
		steps  []step
		at     int
		own    presence.Status
		public presence.Status
		manual bool
		text   string
	}{
		"nothing was heard":                            {nil, 0, presence.Offline, presence.Offline, false, ""},
		"a device in use is online":                    {[]step{{0, beat("a", false)}}, 89, presence.Online, presence.Online, false, ""},
		"it is gone when its time is over":             {[]step{{0, beat("a", false)}}, 90, presence.Offline, presence.Offline, false, ""},
		"another heartbeat keeps it":                   {[]step{{0, beat("a", false)}, {80, beat("a", false)}}, 169, presence.Online, presence.Online, false, ""},
		"idle devices alone are away":                  {[]step{{0, beat("a", true)}, {0, beat("b", true)}}, 1, presence.Away, presence.Away, false, ""},
		"one in use makes up for them":                 {[]step{{0, beat("a", true)}, {0, beat("b", false)}}, 1, presence.Online, presence.Online, false, ""},
		"until it is gone":                             {[]step{{0, beat("b", false)}, {60, beat("a", true)}}, 100, presence.Away, presence.Away, false, ""},
		"a claim counts for more than devices":         {[]step{{0, claiming(presence.ManualDND)}, {1, beat("web", true)}}, 2, presence.DND, presence.DND, true, ""},
		"but no one is online without one":             {[]step{{0, claiming(presence.ManualDND)}}, 90, presence.Offline, presence.Offline, false, ""},
		"it counts again when one is back":             {[]step{{0, claiming(presence.ManualDND)}, {500, beat("b", false)}}, 501, presence.DND, presence.DND, true, ""},
		"auto takes it back":                           {[]step{{0, claiming(presence.ManualDND)}, {1, claiming(presence.Auto)}}, 2, presence.Online, presence.Online, false, ""},
		"a temporary claim ends":                       {[]step{{0, until(claiming(presence.ManualAway), 30)}}, 30, presence.Online, presence.Online, false, ""},
		"and what was before holds again":              {[]step{{0, saying(claiming(presence.ManualDND), "writing")}, {1, until(saying(claiming(presence.ManualAway), "lunch"), 30)}}, 31, presence.DND, presence.DND, true, "writing"},
		"while it lasts, it holds":                     {[]step{{0, saying(claiming(presence.ManualDND), "writing")}, {1, until(saying(claiming(presence.ManualAway), "lunch"), 30)}}, 29, presence.Away, presence.Away, true, "lunch"},
		"a new text goes with it":                      {[]step{{0, until(claiming(presence.ManualAway), 30)}, {1, saying(beat("web", false), "tea")}}, 31, presence.Online, presence.Online, false, ""},
		"a claim for good ends it":                     {[]step{{0, until(claiming(presence.ManualAway), 30)}, {1, claiming(presence.ManualDND)}}, 31, presence.DND, presence.DND, true, ""},
		"a text needs no status":                       {[]step{{0, saying(beat("web", false), "hi")}}, 1, presence.Online, presence.Online, false, "hi"},
		"invisible is so for others alone":             {[]step{{0, claiming(presence.ManualInvisible)}}, 1, presence.Online, presence.Offline, true, ""},
		"the owner sees that an invisible one is idle": {[]step{{0, claiming(presence.ManualInvisible)}, {1, beat("web", true)}}, 2, presence.Away, presence.Offline, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := annsOwn()
			for _, s := range tt.steps {
				require.NoError(t, r.Beat(ann, s.Heartbeat, after(s.at)))
			}
			now := after(tt.at)
			status, manual := r.Actual(now)
			if status != tt.own || manual != tt.manual || r.Public(now) != tt.public || r.Claim(now).Text != tt.text {
				t.Errorf("%s (%v), to others %s, %q; want %+v", status, manual, r.Public(now), r.Claim(now).Text, tt)
			}
			// Removing what has ended makes no visible difference.
			settlement := r.Copy()
			settlement.Settle(now)
			if second, m := settlement.Actual(now); second != status || m != manual || settlement.Shown != tt.public ||
				settlement.Claim(now) != r.Claim(now) {
				t.Errorf("settled it is %s, shown as %s", second, settlement.Shown)
			}
		})
	}
}

func TestHeartbeatsAreRefused(t *testing.T) {
	viewing := ann
	viewing.Ceiling = identity.Viewer
	for name, tt := range map[string]struct {
		by   identity.Actor
		beat presence.Heartbeat
		want string
	}{
		"of somebody else":                   {ann, presence.Heartbeat{User: "bob"}, "presence_not_own"},
		"by a key for viewing":               {viewing, beat("a", false), "forbidden"},
		"a claim that ended already":         {ann, until(beat("a", false), 0), "invalid_fields"},
		"a claim for ever":                   {ann, until(beat("a", false), 30*86400+1), "invalid_fields"},
		"a text that reads in another order": {ann, presence.Heartbeat{Device: "a", Text: new("a\u202eb")}, "invalid_fields"},
		"an emoji that does":                 {ann, presence.Heartbeat{Device: "a", Emoji: new("\u2066")}, "invalid_fields"},
		"on another's record":                {bob, beat("a", false), "presence_not_own"},
		"with a device too many":             {ann, beat("one more", false), "device_limit_reached"},
	} {
		t.Run(name, func(t *testing.T) {
			r := annsOwn()
			for i := range presence.MaxDevices {
				require.NoError(t, r.Beat(ann, beat(fmt.Sprint(i), false), start))
			}
			previous := r.Copy()
			err := r.Beat(tt.by, tt.beat, start)
			if f, ok := codeOf(err); !ok || f != tt.want || !r.Equal(previous) {
				t.Errorf("error = %v, changed %v; want %s", err, !r.Equal(previous), tt.want)
			}
		})
	}
	t.Run("once a device is gone there is room", func(t *testing.T) {
		r := annsOwn()
		for i := range presence.MaxDevices {
			require.NoError(t, r.Beat(ann, beat(fmt.Sprint(i), false), after(i)))
		}
		require.NoError(t, r.Beat(ann, beat("one more", false), after(90)))
	})
	t.Run("30 days ahead is not for ever", func(t *testing.T) {
		require.NoError(t, annsOwn().Beat(ann, until(beat("a", false), 30*86400), start))
	})
}

func TestFreshness(t *testing.T) {
	item, other := annsOwn(), annsOwn()
	require.NoError(t, item.Beat(ann, beat("a", false), start))
	require.NoError(t, other.Beat(ann, beat("a", true), after(10)))
	require.NoError(t, other.Beat(ann, beat("b", true), after(5)))
	item.MergeDevices(other)
	if len(item.Devices) != 2 || !item.Devices[0].Idle || !item.SeenAt.Equal(after(10)) || !item.ActiveAt.Equal(start) {
		t.Errorf("%+v", item)
	}
	t.Run("what is older is not taken over", func(t *testing.T) {
		previous := item.Copy()
		old := annsOwn()
		require.NoError(t, old.Beat(ann, beat("a", false), after(9)))
		old.ActiveAt = start
		item.MergeDevices(old)
		if !item.Equal(previous) {
			t.Errorf("%+v", item)
		}
	})
	t.Run("nor what is of another generation", func(t *testing.T) {
		next := item.Copy()
		require.NoError(t, next.Delete(ann, after(20)))
		deletedRecord := next.Copy()
		next.MergeDevices(item)
		if !next.Equal(deletedRecord) {
			t.Error("a deleted record was freshened")
		}
		require.NoError(t, next.Beat(ann, beat("c", false), after(30)))
		next.MergeDevices(item)
		if len(next.Devices) != 1 || next.Generation != item.Generation+1 || next.ID != item.ID {
			t.Errorf("%+v", next)
		}
	})
}

func TestWhoSeesWhat(t *testing.T) {
	r := annsOwn()
	require.NoError(t, r.Beat(ann, saying(beat("web", false), "hi"), start))
	for name, tt := range map[string]struct {
		by       identity.Actor
		together bool
		want     presence.Access
	}{
		"their own":                                     {ann, false, presence.Own},
		"an operator":                                   {operator, false, presence.Whole},
		"who shares a workspace":                        {bob, true, presence.Public},
		"who shares none":                               {bob, false, presence.None},
		"another org's operator":                        {foreign, true, presence.None},
		"the same user id in another org":               {identity.Actor{Org: "other", User: "ann"}, true, presence.None},
		"the system, which is no user":                  {identity.Actor{Org: "org"}, false, presence.None},
		"an operator who shares a workspace":            {operator, true, presence.Whole},
		"an anonymous caller, even if together is true": {identity.Actor{}, true, presence.None},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "access", r.Access(tt.by, tt.together), tt.want)
		})
	}
	t.Run("an invisible person seems to have left when they became so", func(t *testing.T) {
		require.NoError(t, r.Beat(ann, claiming(presence.ManualInvisible), after(10)))
		require.NoError(t, r.Beat(ann, beat("web", false), after(60)))
		for _, a := range []presence.Access{presence.Public, presence.Whole} {
			v := r.View(a, after(61))
			if v.Status != presence.Offline || v.Manual || v.Devices != nil || !v.ExpiresAt.IsZero() ||
				!v.ActiveAt.Equal(after(10)) || !v.SeenAt.Equal(after(10)) || v.Claim.Status != presence.Auto {
				t.Errorf("%+v", v)
			}
		}
		if v := r.View(presence.Own, after(61)); v.Status != presence.Online || !v.Manual ||
			v.Claim.Status != presence.ManualInvisible || !v.SeenAt.Equal(after(60)) || !v.ExpiresAt.Equal(after(150)) {
			t.Errorf("%+v", v)
		}
	})
}

func TestDeleting(t *testing.T) {
	viewing := ann
	viewing.Ceiling = identity.Viewer
	for name, tt := range map[string]struct {
		by     identity.Actor
		want   error
		events int
	}{
		"one's own":                    {ann, nil, 0},
		"by an operator leaves a mark": {operator, nil, 1},
		"another's":                    {bob, presence.ErrNotFound, 0},
		"by another org's operator":    {foreign, presence.ErrNotFound, 0},
		"by a key for viewing":         {viewing, identity.ErrForbidden, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := annsOwn()
			require.NoError(t, r.Beat(ann, saying(claiming(presence.ManualDND), "secret"), start))
			require.ErrorIs(t, r.Delete(tt.by, start), tt.want)
			if r.Deleted != (tt.want == nil) || len(r.Recorded()) != tt.events {
				t.Errorf("deleted %v, recorded %v", r.Deleted, r.Recorded())
			}
			if tt.want == nil {
				if r.Shown != presence.Offline || !r.Due.IsZero() || r.Default != (presence.Claim{}) ||
					r.ID != "prs_1" {
					t.Errorf("%+v", r)
				}
				require.ErrorIs(t, r.Delete(tt.by, start), presence.ErrNotFound)
			}
		})
	}
}

// TestARecordAgreesWithItsHistory compares a record, settled at random moments, with what the whole
// list of heartbeats says by itself.
func TestARecordAgreesWithItsHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, now := annsOwn(), start
		type heard struct {
			at, ends time.Time
			idle     bool
		}
		devices := map[string]heard{}
		permanent, temporary, ends := presence.Auto, presence.Auto, time.Time{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "seconds")) * time.Second)
			h := beat(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "device"), rapid.Bool().Draw(t, "idle"))
			h.TTL = time.Duration(rapid.IntRange(30, 300).Draw(t, "ttl")) * time.Second
			action := rapid.IntRange(0, 5).Draw(t, "action")
			claim := rapid.SampledFrom([]presence.Manual{presence.Auto, presence.ManualOnline, presence.ManualAway,
				presence.ManualDND, presence.ManualInvisible}).Draw(t, "claim")
			switch action {
			case 0:
				r.Settle(now)
			case 1:
				h.Status, permanent, ends = &claim, claim, time.Time{}
			case 2:
				e := now.Add(time.Duration(rapid.IntRange(1, 200).Draw(t, "for")) * time.Second)
				h.Status, h.Until, temporary, ends = &claim, &e, claim, e
			}
			if action != 0 {
				quick := r.Copy()
				previous := r.Copy()
				isRefreshed := quick.Refresh(ann, &h, now)
				require.NoError(t, r.Beat(ann, h, now))
				// The short path gives the same result as the long path, and no visible change.
				if want := r.EqualVisible(previous); (isRefreshed && !(want && quick.Equal(r))) ||
					(!isRefreshed && !quick.Equal(previous)) {
					t.Fatalf("refreshed %v: %+v, want %+v", isRefreshed, quick, r)
				}
				if settledRecord := previous.Copy(); !isRefreshed && !h.Claims() && r.EqualVisible(previous) {
					if settledRecord.Settle(now); settledRecord.EqualVisible(previous) {
						t.Fatalf("%+v took the long way for nothing", h)
					}
				}
				devices[h.Device] = heard{now, now.Add(h.TTL), h.Idle}
			}

			want := permanent
			if now.Before(ends) {
				want = temporary
			}
			live, active := false, false
			for _, d := range devices {
				if now.Before(d.ends) {
					live, active = true, active || !d.idle
				}
			}
			status := presence.Away
			switch {
			case !live:
				status = presence.Offline
			case want == presence.ManualOnline || want == presence.ManualAway || want == presence.ManualDND:
				status = presence.Status(want)
			case active:
				status = presence.Online
			}
			if got, _ := r.Actual(now); got != status {
				t.Fatalf("%s, want %s", got, status)
			}
			if public := r.Public(now); (want == presence.ManualInvisible && public != presence.Offline) ||
				(want != presence.ManualInvisible && public != status) {
				t.Fatalf("others see %s, want %s", public, status)
			}
			// Nothing visible changes before it is due.
			record := r.Copy()
			record.Settle(now)
			if (!record.Due.IsZero() && record.Public(record.Due.Add(-time.Microsecond)) != record.Shown) ||
				(record.Due.IsZero() && len(record.Devices) > 0) {
				t.Fatalf("shown as %s until %v, but %+v", record.Shown, record.Due, record)
			}
		}
	})
}
