package contract

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Presences is the suite for ports.Presences.
func Presences(t *testing.T, open Opener) {
	a := open(t)
	t.Run("Update, Get and Of", func(t *testing.T) { presenceUpdated(t, a) })
	t.Run("Seq", func(t *testing.T) { presenceNumbered(t, a) })
	t.Run("Mask", func(t *testing.T) { presenceMasked(t, a) })
	t.Run("List and Counts", func(t *testing.T) { presencesListed(t, a) })
	t.Run("Due", func(t *testing.T) { presencesDue(t, a) })
	t.Run("Changes", func(t *testing.T) { presencesChanged(t, a) })
	t.Run("Workspaces", func(t *testing.T) { presenceWorkspaces(t, a) })
}

func heartbeat(device string) presence.Heartbeat {
	return presence.Heartbeat{Device: device, Kind: presence.Mobile, TTL: presence.DefaultTTL}
}

// beats stores a heartbeat of by.
func beats(t testing.TB, s ports.Stores, by identity.Actor, h presence.Heartbeat, instant time.Time) *presence.Record {
	t.Helper()
	records, err := s.Presences.Update(t.Context(), by.Org, []identity.UserID{by.User},
		func(r *presence.Record) error { return r.Beat(by, h, instant) })
	must(t, err)
	return records[0]
}

func presenceUpdated(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	person := team.Member
	_, err := a.Presences.ByUser(ctx, team.Org, person.User)
	wantErr(t, err, presence.ErrNotFound)

	h := heartbeat("phone")
	h.Status, h.Text, h.Emoji = new(presence.ManualDND), new("Grüße \U0001F3D6"), new(":beach:")
	first := beats(t, a.Stores, person, h, fixture.At)
	temporary := heartbeat("laptop")
	temporary.Idle, temporary.Text, temporary.Until = true, new("lunch"), new(fixture.At.Add(time.Hour))
	record := beats(t, a.Stores, person, temporary, fixture.At.Add(time.Second))
	if record.ID != first.ID || len(record.Devices) != 2 {
		t.Errorf("%+v", record)
	}
	for _, s := range []ports.Stores{a.Stores, a.Second()} {
		byID, err := s.Presences.Get(ctx, team.Org, record.ID)
		must(t, err)
		same(t, "the record by its id", byID, record)
		byUser, err := s.Presences.ByUser(ctx, team.Org, person.User)
		must(t, err)
		same(t, "the record of the user", byUser, record)
	}
	t.Run("another org has no such record", func(t *testing.T) {
		_, err := a.Presences.Get(ctx, a.Orgs[1], record.ID)
		wantErr(t, err, presence.ErrNotFound)
		_, err = a.Presences.ByUser(ctx, a.Orgs[1], person.User)
		wantErr(t, err, presence.ErrNotFound)
	})
	t.Run("a change that fails is stored for no user", func(t *testing.T) {
		_, err := a.Presences.Update(ctx, team.Org, []identity.UserID{person.User, team.Peer.User},
			func(r *presence.Record) error {
				if r.User == team.Peer.User {
					return errBoom
				}
				r.Default.Text = "changed"
				return nil
			})
		wantErr(t, err, errBoom)
		keptRecord, err := a.Presences.ByUser(ctx, team.Org, person.User)
		must(t, err)
		same(t, "the record", keptRecord, record)
	})
	t.Run("Update of several users returns their records in the given order", func(t *testing.T) {
		users := []identity.UserID{team.Viewer.User, person.User}
		records, err := a.Presences.Update(ctx, team.Org, users, func(r *presence.Record) error { return nil })
		must(t, err)
		if len(records) != 2 || records[0].User != users[0] || !records[0].Deleted || records[1].ID != record.ID {
			t.Errorf("%+v", records)
		}
		_, err = a.Presences.ByUser(ctx, team.Org, users[0])
		wantErr(t, err, presence.ErrNotFound) // an unchanged record is not stored
	})
	t.Run("a deleted presence is found, and its event is stored", func(t *testing.T) {
		operator := team.Admin
		operator.Operator = true
		_, err := a.Presences.Update(ctx, team.Org, []identity.UserID{person.User},
			func(r *presence.Record) error { return r.Delete(operator, fixture.At) })
		must(t, err)
		goneRecord, err := a.Presences.Get(ctx, team.Org, record.ID)
		must(t, err)
		if !goneRecord.Deleted || goneRecord.Seq <= record.Seq {
			t.Errorf("%+v", goneRecord)
		}
		if got := kinds(eventsOn(t, a.Stores, operator.Workspace, string(record.ID))); !slices.Equal(got,
			[]string{"presence.deleted"}) {
			t.Errorf("events %v", got)
		}
		if second := beats(t, a.Stores, person, heartbeat("phone"), fixture.At); second.ID != record.ID ||
			second.Generation != record.Generation+1 || second.Deleted {
			t.Errorf("%+v", second)
		}
	})
}

func presenceNumbered(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	first := beats(t, a.Stores, team.Member, heartbeat("a"), fixture.At)
	t.Run("a heartbeat without a change gets no new seq", func(t *testing.T) {
		second := beats(t, a.Stores, team.Member, heartbeat("a"), fixture.At.Add(time.Minute))
		keptRecord, err := a.Presences.ByUser(t.Context(), team.Org, team.Member.User)
		must(t, err)
		if second.Seq != first.Seq || !keptRecord.SeenAt.Equal(fixture.At.Add(time.Minute)) {
			t.Errorf("%+v", keptRecord)
		}
	})
	t.Run("concurrent changes get distinct seqs, and Counts returns the highest", func(t *testing.T) {
		second := a.Second()
		seqs := make([]int64, 16)
		for _, err := range atOnce(len(seqs), func(i int) error {
			s, person := a.Stores, team.Member
			if i%2 == 1 {
				s, person = second, team.Peer
			}
			h := heartbeat("a")
			h.Text = new(fmt.Sprint(i))
			records, err := s.Presences.Update(t.Context(), team.Org, []identity.UserID{person.User},
				func(r *presence.Record) error { return r.Beat(person, h, fixture.At) })
			if err == nil {
				seqs[i] = records[0].Seq
			}
			return err
		}) {
			must(t, err)
		}
		slices.Sort(seqs)
		if len(slices.Compact(slices.Clone(seqs))) != len(seqs) {
			t.Errorf("%v", seqs)
		}
		_, last, err := a.Presences.Counts(t.Context(), team.Org, "")
		must(t, err)
		if last != seqs[len(seqs)-1] {
			t.Errorf("the last is %d, of %v", last, seqs)
		}
	})
}

func presenceMasked(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	t.Run("what people do while they are invisible does not change the Seq of others", func(t *testing.T) {
		seq := func(by identity.Actor) int64 {
			t.Helper()
			_, n, err := a.Presences.Counts(ctx, by.Org, by.User)
			must(t, err)
			return n
		}
		visibleRecord := beats(t, a.Stores, team.Peer, heartbeat("a"), fixture.At)
		same(t, "of a visible heartbeat", seq(team.Admin), visibleRecord.Seq)
		h := heartbeat("a")
		h.Status = new(presence.ManualInvisible)
		hiddenRecord := beats(t, a.Stores, team.Peer, h, fixture.At)
		first := seq(team.Admin)
		same(t, "of hiding", first, hiddenRecord.Seq)
		for i := range 3 {
			hiddenRecord = beats(t, a.Stores, team.Peer, heartbeat(string(rune('b'+i))), fixture.At)
			same(t, "of a hidden heartbeat", seq(team.Admin), first)
		}
		same(t, "for the person", seq(team.Peer), hiddenRecord.Seq)
		h.Status = new(presence.ManualOnline)
		same(t, "of coming back", beats(t, a.Stores, team.Peer, h, fixture.At).Seq, seq(team.Admin))
		_, none, err := a.Presences.Counts(ctx, a.Orgs[1], team.Admin.User)
		must(t, err)
		same(t, "of an org without records", none, int64(0))
	})
	ctx, team = t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	text, hide := heartbeat("a"), heartbeat("a")
	text.Text, text.Emoji, hide.Status = new("before"), new(":tea:"), new(presence.ManualInvisible)
	beats(t, a.Stores, team.Member, text, fixture.At)
	hidden := beats(t, a.Stores, team.Member, hide, fixture.At.Add(time.Second))
	text.Text = new("secret")
	latest := beats(t, a.Stores, team.Member, text, fixture.At.Add(time.Minute))
	record, err := a.Presences.ByUser(ctx, team.Org, team.Member.User)
	must(t, err)
	same(t, "the record", record, latest)
	if record.Mask == nil || record.Mask.Seq != hidden.Seq || record.Mask.Text != "before" || record.Seq <= hidden.Seq {
		t.Errorf("%+v", record.Mask)
	}
	hide.Status = new(presence.Auto)
	beats(t, a.Stores, team.Member, hide, fixture.At.Add(time.Minute))
	if record, err = a.Presences.ByUser(ctx, team.Org, team.Member.User); err != nil || record.Mask != nil {
		t.Errorf("%+v, %v", record, err)
	}
}

func presencesListed(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	dnd, hidden := heartbeat("a"), heartbeat("a")
	dnd.Status, hidden.Status = new(presence.ManualDND), new(presence.ManualInvisible)
	online := beats(t, a.Stores, team.Member, heartbeat("a"), fixture.At)
	busy := beats(t, a.Stores, team.Peer, dnd, fixture.At)
	invisible := beats(t, a.Stores, team.Viewer, hidden, fixture.At)
	goneRecord := beats(t, a.Stores, team.Owner, heartbeat("a"), fixture.At)
	_, err := a.Presences.Update(ctx, team.Org, []identity.UserID{team.Owner.User},
		func(r *presence.Record) error { return r.Delete(team.Owner, fixture.At) })
	must(t, err)
	for name, tt := range map[string]struct {
		by     identity.Actor
		filter presence.Filter
		want   []*presence.Record
	}{
		"all that live, newest first": {team.Admin, presence.Filter{},
			[]*presence.Record{invisible, busy, online}},
		"by status": {team.Admin, presence.Filter{Status: presence.DND},
			[]*presence.Record{busy}},
		"who is invisible goes as offline": {team.Admin, presence.Filter{Status: presence.Offline},
			[]*presence.Record{invisible}},
		"one's own passes for any status": {team.Viewer, presence.Filter{Status: presence.Online},
			[]*presence.Record{invisible, online}},
		"of a user": {team.Admin, presence.Filter{User: team.Member.User},
			[]*presence.Record{online}},
		"of one who is deleted": {team.Admin, presence.Filter{User: goneRecord.User}, nil},
		"since a number": {team.Admin, presence.Filter{SinceSeq: online.Seq},
			[]*presence.Record{invisible, busy}},
		"since the last":                        {team.Admin, presence.Filter{SinceSeq: invisible.Seq}, nil},
		"of another org":                        {identity.Actor{Org: a.Orgs[0], User: "nobody"}, presence.Filter{User: team.Member.User}, nil},
		"filters go together":                   {team.Admin, presence.Filter{Status: presence.Online, User: team.Peer.User}, nil},
		"one's own does not pass other filters": {team.Viewer, presence.Filter{Status: presence.Online, User: team.Peer.User}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, limit := range []int{1, 2, 100} {
				var got, want []presence.ID
				for _, r := range fixture.Pages(t, limit,
					func(q page.Query) (presence.Page, error) { return a.Presences.List(ctx, tt.by, tt.filter, q) }) {
					got = append(got, r.ID)
				}
				for _, r := range tt.want {
					want = append(want, r.ID)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d at a time: %v, want %v", limit, got, want)
				}
			}
		})
	}
	t.Run("records keep their position in the list while they change", func(t *testing.T) {
		first, err := a.Presences.List(ctx, team.Admin, presence.Filter{}, page.Query{Limit: 1})
		must(t, err)
		h := heartbeat("b")
		h.Text = new("changed")
		beats(t, a.Stores, team.Viewer, h, fixture.At)
		second, err := a.Presences.List(ctx, team.Admin, presence.Filter{}, page.Query{Limit: 1, After: first.Next})
		must(t, err)
		if first.Items[0].ID != invisible.ID || second.Items[0].ID != busy.ID {
			t.Errorf("%s, then %s", first.Items[0].ID, second.Items[0].ID)
		}
	})
	counts, seq, err := a.Presences.Counts(ctx, team.Org, "")
	must(t, err)
	same(t, "the counts", counts, presence.Counts{presence.Online: 1, presence.DND: 1, presence.Offline: 1})
	if seq <= invisible.Seq {
		t.Errorf("the last number is %d", seq)
	}
}

func presencesDue(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	past := fixture.At.AddDate(-1, 0, 0) // before any other heartbeat in this org
	long := heartbeat("a")
	long.TTL = presence.MaxTTL
	beats(t, a.Stores, team.Member, long, past)
	beats(t, a.Stores, team.Peer, heartbeat("a"), past)
	due := func(delay time.Duration, limit int) []identity.UserID {
		return dueBy(t, a, team.Org, past.Add(delay), limit)
	}
	same(t, "before anything ends", due(presence.DefaultTTL-time.Microsecond, 10), []identity.UserID(nil))
	same(t, "when the first ends", due(presence.DefaultTTL, 10), []identity.UserID{team.Peer.User})
	same(t, "when both ended", due(presence.MaxTTL, 10), []identity.UserID{team.Peer.User, team.Member.User})
	same(t, "the longest due alone", due(presence.MaxTTL, 1), []identity.UserID{team.Peer.User})
	_, err := a.Presences.Update(ctx, team.Org, due(presence.MaxTTL, 10),
		func(r *presence.Record) error { r.Settle(past.Add(presence.MaxTTL)); return nil })
	must(t, err)
	same(t, "once they are settled", due(presence.MaxTTL, 10), []identity.UserID(nil))
	same(t, "in another org", dueBy(t, a, a.Orgs[1], past.Add(presence.MaxTTL), 10), []identity.UserID(nil))
}

// dueBy returns the users that are due, read in pages of limit. With a limit of 1 it returns only the first.
func dueBy(t *testing.T, a Adapter, org identity.OrgID, by time.Time, limit int) (users []identity.UserID) {
	t.Helper()
	for current := (presence.DueEntry{}); ; {
		owedEntries, err := a.Presences.Due(t.Context(), org, by, current, limit)
		must(t, err)
		for _, o := range owedEntries {
			users = append(users, o.User)
		}
		if len(owedEntries) < limit || limit == 1 {
			return users
		}
		current = owedEntries[len(owedEntries)-1]
	}
}

func presencesChanged(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	_, bound, err := a.Presences.Counts(ctx, team.Org, "")
	must(t, err)
	beats(t, a.Stores, team.Member, heartbeat("a"), fixture.At)
	peer := beats(t, a.Stores, team.Peer, heartbeat("a"), fixture.At)
	viewer := beats(t, a.Stores, team.Viewer, heartbeat("a"), fixture.At)
	member := beats(t, a.Stores, team.Member, heartbeat("b"), fixture.At.Add(time.Second))
	item, err := a.Presences.Update(ctx, team.Org, []identity.UserID{team.Peer.User},
		func(r *presence.Record) error { return r.Delete(team.Peer, fixture.At) })
	must(t, err)
	for name, tt := range map[string]struct {
		org   identity.OrgID
		above int64
		users []identity.UserID
		want  []*presence.Record
	}{
		"all, in the order of their numbers": {team.Org, bound, nil, []*presence.Record{viewer, member, item[0]}},
		"above a number":                     {team.Org, viewer.Seq, nil, []*presence.Record{member, item[0]}},
		"above one that was given meanwhile": {team.Org, peer.Seq, nil, []*presence.Record{viewer, member, item[0]}},
		"above the last":                     {team.Org, item[0].Seq, nil, nil},
		"of some": {team.Org, bound,
			[]identity.UserID{team.Peer.User, team.Viewer.User, team.Owner.User}, []*presence.Record{viewer, item[0]}},
		"of another org, by the same numbers": {a.Orgs[1], 0, []identity.UserID{team.Member.User, team.Peer.User}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, limit := range []int{1, 2, 100} {
				var got []*presence.Record
				for last := tt.above; ; {
					records, err := a.Presences.Changes(ctx, tt.org, last, tt.users, limit)
					must(t, err)
					for i := range records {
						got, last = append(got, &records[i]), records[i].Seq
					}
					if len(records) < limit {
						break
					}
				}
				same(t, fmt.Sprint("changes, ", limit, " at a time"), got, tt.want)
			}
		})
	}
}

func presenceWorkspaces(t *testing.T, a Adapter) {
	team, others := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	pair, empty := newcomer(t, a.Stores, team.Org, "both@"+team.Workspace.Slug+".example"),
		identity.UserID("usr_00000000000000000000000000")
	join(t, a.Stores, others.Owner, others.Workspace.ID, pair, identity.Viewer)
	join(t, a.Stores, team.Owner, team.Workspace.ID, pair, identity.Member)
	in := func(org identity.OrgID, users ...identity.UserID) map[identity.UserID][]identity.WorkspaceID {
		t.Helper()
		got, err := a.Presences.Workspaces(t.Context(), org, users)
		must(t, err)
		return got
	}
	t.Run("Workspaces returns all workspaces of each user, sorted by id", func(t *testing.T) {
		two := []identity.WorkspaceID{team.Workspace.ID, others.Workspace.ID}
		slices.Sort(two)
		same(t, "workspaces", in(team.Org, pair.User, empty, team.Member.User),
			map[identity.UserID][]identity.WorkspaceID{pair.User: two, team.Member.User: {team.Workspace.ID}})
	})
	t.Run("Workspaces returns nothing for no users, or for another org", func(t *testing.T) {
		if got := in(team.Org); len(got) > 0 {
			t.Errorf("%v", got)
		}
		if got := in(a.Orgs[1], pair.User); len(got) > 0 {
			t.Errorf("%v", got)
		}
	})
	t.Run("Workspaces accepts more users than one statement can hold", func(t *testing.T) {
		users := slices.Repeat([]identity.UserID{empty}, 5000)
		if got := in(team.Org, append(users, pair.User)...); len(got[pair.User]) != 2 {
			t.Errorf("%v", got)
		}
	})
	t.Run("Workspaces omits workspaces that the user has left and deleted ones", func(t *testing.T) {
		must(t, removeMember(t, a.Stores, team.Owner, team.Workspace.ID, pair.User))
		must(t, changeWorkspace(t, a.Stores, others.Owner, others.Workspace.ID, nil,
			func(w *account.Workspace) error { return w.Delete(others.Owner, nil) }))
		if got := in(team.Org, pair.User); len(got) > 0 {
			t.Errorf("%v", got)
		}
	})
}
