package contract

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Sources is the suite for ports.Sources.
func Sources(t *testing.T, open Opener) {
	a := open(t)
	t.Run("Add and Get", func(t *testing.T) { sourceReads(t, a) })
	t.Run("other workspaces and orgs", func(t *testing.T) { sourceStrangers(t, a) })
	t.Run("Update", func(t *testing.T) { sourceUpdates(t, a) })
	t.Run("through a connection", func(t *testing.T) { sourcesThrough(t, a) })
	t.Run("validations", func(t *testing.T) { sourceValidations(t, a) })
	t.Run("changes of rows", func(t *testing.T) { sourceChanges(t, a) })
	t.Run("uploaded files", func(t *testing.T) { sourceFiles(t, a) })
	t.Run("remembered choices", func(t *testing.T) { sourceMemory(t, a) })
	t.Run("races", func(t *testing.T) { sourceRaces(t, a) })
	t.Run("a lock waits for changes, and changes wait for it", func(t *testing.T) { sourceLock(t, a) })
}

// addSource stores a source with a reading, unless it is refused.
func addSource(t *testing.T, s ports.Stores, by identity.Actor, r source.Reading) error {
	t.Helper()
	return s.Sources.Add(t.Context(), by, func(others int) (*source.Source, error) {
		return source.New(by, fixture.People, fixture.SourceDraft(r), r, others)
	})
}

func sourceReads(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Member
	sheet := fixture.Source(t, a.Stores, by, fixture.SheetReading())
	table := fixture.Source(t, a.Stores, team.Admin, fixture.TableReading(connection.NewID()))
	book := fixture.Source(t, a.Stores, team.Admin, fixture.BookReading(connection.NewID()))

	t.Run("Get returns what Add was given", func(t *testing.T) {
		for _, newSource := range []*source.Source{sheet, table, book} {
			got, err := a.Sources.Get(ctx, by.Workspace, newSource.ID)
			must(t, err)
			same(t, "source", got, newSource)
		}
	})
	t.Run("Add stores the recorded events", func(t *testing.T) {
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(sheet.ID))), []string{"source.attached"})
	})
	t.Run("Add counts the workspace's sources, and stores none that make refuses", func(t *testing.T) {
		wantErr(t, a.Sources.Add(ctx, by, func(others int) (*source.Source, error) {
			same(t, "others", others, 3)
			return nil, errBoom
		}), errBoom)
	})
	t.Run("a location can be attached once per type and workspace, even with another header row or connection",
		func(t *testing.T) {
			second := fixture.SheetReading()
			second.Location = sheet.Location
			second.Location.Sheet.HeaderRow, second.Location.Connection = 7, connection.NewID()
			wantErr(t, addSource(t, a.Stores, by, second), source.ErrAlreadyAttached)
			must(t, addSource(t, a.Stores, fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member, second))
			other := fixture.People
			other.Key = "animals"
			must(t, a.Sources.Add(ctx, team.Owner, func(others int) (*source.Source, error) {
				return source.New(team.Owner, other, fixture.SourceDraft(second), second, others)
			}))
		})
	t.Run("a deleted workspace gets no source", func(t *testing.T) {
		goneTeam := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		_, err := a.Workspaces.Update(ctx, goneTeam.Owner, goneTeam.Owner.Workspace, nil,
			func(w *account.Workspace) error { return w.Delete(goneTeam.Owner, nil) })
		must(t, err)
		wantErr(t, addSource(t, a.Stores, goneTeam.Owner, fixture.SheetReading()), identity.ErrWorkspaceNotFound)
	})
	t.Run("List returns pages, newest first", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		var want []source.ID
		for range 5 {
			want = append([]source.ID{fixture.Source(t, a.Stores, team.Member, fixture.SheetReading()).ID}, want...)
		}
		var got []source.ID
		for _, s := range fixture.Pages(t, 2, func(q page.Query) (page.Of[source.Source], error) {
			return a.Sources.List(ctx, team.Member.Workspace, q)
		}) {
			got = append(got, s.ID)
		}
		same(t, "ids", got, want)
	})
}

func sourceStrangers(t *testing.T, a Adapter) {
	ctx := t.Context()
	by, newSource := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member, (*source.Source)(nil)
	proxy := connection.NewID()
	newSource = fixture.Source(t, a.Stores, by, fixture.TableReading(proxy))
	for name, ws := range map[string]identity.WorkspaceID{
		"another workspace": fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member.Workspace,
		"another org":       fixture.NewTeam(t, a.Stores, a.Orgs[1]).Member.Workspace,
		"no workspace":      "",
	} {
		t.Run(name+" has no such source", func(t *testing.T) {
			_, err := a.Sources.Get(ctx, ws, newSource.ID)
			wantErr(t, err, source.ErrNotFound)
			_, err = a.Sources.Update(ctx, ws, newSource.ID, func(*source.Source) error {
				t.Error("it was changed")
				return nil
			})
			wantErr(t, err, source.ErrNotFound)
			must(t, a.Sources.UpdateThrough(ctx, ws, proxy, func(*source.Source) error {
				t.Error("it was changed")
				return nil
			}))
			found, err := a.Sources.ListThrough(ctx, ws, proxy)
			must(t, err)
			same(t, "through", len(found), 0)
			listedOf, err := a.Sources.List(ctx, ws, page.Query{Limit: 10})
			must(t, err)
			same(t, "listed", len(listedOf.Items), 0)
			memory, err := a.Sources.Memory(ctx, ws, newSource.Type)
			must(t, err)
			same(t, "memory", len(memory), 0)
		})
	}
}

func sourceUpdates(t *testing.T, a Adapter) {
	ctx := t.Context()
	by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
	newValue := fixture.Source(t, a.Stores, by, fixture.SheetReading())
	system := identity.System(by.Org, by.Workspace, "test", fixture.At.Add(time.Hour))

	t.Run("Update stores every field that can change", func(t *testing.T) {
		change, err := a.Sources.Update(ctx, by.Workspace, newValue.ID, func(s *source.Source) error {
			s.Refreshed(system, &fixture.People,
				source.Outcome{
					Of: 1, Reading: source.Reading{Columns: []column.Header{{Name: "Contact", Type: column.Email},
						{Name: "Age", Type: column.Integer}, {Name: "x"}}, RowEstimate: 99}}, 0.5)
			s.Refreshed(system, nil, source.Outcome{Of: 2,
				Failure: &source.Failure{Code: "sheet_not_shared", Transient: true, Hint: "Share it.", At: system.At}},
				0.5)
			return nil
		})
		must(t, err)
		if change.Failure == nil || change.Drift.Level != source.Renamed || change.RowEstimate != 99 {
			t.Fatalf("%+v", change)
		}
		got, err := a.Sources.Get(ctx, by.Workspace, newValue.ID)
		must(t, err)
		same(t, "source", got, change)
		_, err = a.Sources.Update(ctx, by.Workspace, newValue.ID,
			func(s *source.Source) error { s.Pause(system, source.ConnectionRevoked); return nil })
		must(t, err)
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(newValue.ID))),
			[]string{"source.paused", "source.drifted", "source.attached"})
	})
	t.Run("Update stores the transformations of a mapping", func(t *testing.T) {
		by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member // what the mapping teaches stays in the workspace
		other := fixture.Source(t, a.Stores, by, fixture.SheetReading())
		pairs := []source.Pair{
			{Field: "email", Column: "Mail", Transform: column.Transform{Trim: true, Case: column.Lower,
				Split: &column.Split{Part: column.BeforeLast, Separator: ","},
				Join:  &column.Join{Columns: []string{"Age", "Ärger “1”"}, Separator: " – "}}},
			{Field: "age", Column: "Age", Transform: column.Transform{Decimal: ","}},
		}
		changedSource, err := a.Sources.Update(ctx, by.Workspace, other.ID, func(s *source.Source) error {
			return s.Map(by, nil, fixture.People, pairs, fixture.SheetReading())
		})
		must(t, err)
		same(t, "mapping", changedSource.Mapping, pairs)
		got, err := a.Sources.Get(ctx, by.Workspace, other.ID)
		must(t, err)
		same(t, "source", got, changedSource)
		pairs[0].Transform = column.Transform{}
		pairs[1].Transform = column.Transform{Dates: column.MonthFirst, Format: "unix",
			Values: map[string]string{"“x”": "y"}}
		_, err = a.Sources.Update(ctx, by.Workspace, other.ID, func(s *source.Source) error {
			s.Mapping = pairs
			return nil
		})
		must(t, err)
		got, err = a.Sources.Get(ctx, by.Workspace, other.ID)
		must(t, err)
		same(t, "mapping", got.Mapping, pairs)
	})
	t.Run("Update stores nothing of a change that fails", func(t *testing.T) {
		previous, err := a.Sources.Get(ctx, by.Workspace, newValue.ID)
		must(t, err)
		_, err = a.Sources.Update(ctx, by.Workspace, newValue.ID, func(s *source.Source) error {
			s.Pause(system, source.BreakingDrift)
			return errBoom
		})
		wantErr(t, err, errBoom)
		current, err := a.Sources.Get(ctx, by.Workspace, newValue.ID)
		must(t, err)
		same(t, "source", current, previous)
	})
	t.Run("Update deletes a detached source, and keeps its events and remembered choices", func(t *testing.T) {
		_, err := a.Sources.Update(ctx, by.Workspace, newValue.ID,
			func(s *source.Source) error { return s.Detach(by, nil) })
		must(t, err)
		_, err = a.Sources.Get(ctx, by.Workspace, newValue.ID)
		wantErr(t, err, source.ErrNotFound)
		_, err = a.Sources.Update(ctx, by.Workspace, newValue.ID, func(*source.Source) error { return nil })
		wantErr(t, err, source.ErrNotFound)
		same(t, "the last event", kinds(eventsOn(t, a.Stores, by.Workspace, string(newValue.ID)))[0], "source.detached")
		memory, err := a.Sources.Memory(ctx, by.Workspace, newValue.Type)
		must(t, err)
		same(t, "memory", memory, column.Memory{"email": "email"})
		second := fixture.SheetReading()
		second.Location = newValue.Location
		must(t, addSource(t, a.Stores, by, second))
	})
}

func sourcesThrough(t *testing.T, a Adapter) {
	ctx := t.Context()
	by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
	one, two := connection.NewID(), connection.NewID()
	fixture.Source(t, a.Stores, by, fixture.SheetReading())
	sheet := fixture.Source(t, a.Stores, by, fixture.BookReading(two))
	first, second, third := fixture.Source(t, a.Stores, by, fixture.TableReading(one)),
		fixture.Source(t, a.Stores, by, fixture.TableReading(one)),
		fixture.Source(t, a.Stores, by, fixture.TableReading(two))

	ids := func(proxy connection.ID) (ids []source.ID) {
		found, err := a.Sources.ListThrough(ctx, by.Workspace, proxy)
		must(t, err)
		for _, s := range found {
			ids = append(ids, s.ID)
		}
		return ids
	}
	same(t, "through one", ids(one), []source.ID{second.ID, first.ID})
	same(t, "a sheet that is read by an account, and a table", ids(two), []source.ID{third.ID, sheet.ID})
	same(t, "through none", ids(""), []source.ID{})

	t.Run("all sources of a connection are changed, or none", func(t *testing.T) {
		system := identity.System(by.Org, by.Workspace, "test", fixture.At)
		wantErr(t, a.Sources.UpdateThrough(ctx, by.Workspace, one, func(s *source.Source) error {
			s.Pause(system, source.ConnectionRevoked)
			if s.ID == second.ID {
				return errBoom
			}
			return nil
		}), errBoom)
		var seen []source.ID
		must(t, a.Sources.UpdateThrough(ctx, by.Workspace, one, func(s *source.Source) error {
			same(t, "paused", s.Paused, source.PauseReason(""))
			s.Pause(system, source.ConnectionRevoked)
			seen = append(seen, s.ID)
			return nil
		}))
		same(t, "oldest first", seen, []source.ID{first.ID, second.ID})
		must(t, a.Sources.UpdateThrough(ctx, by.Workspace, two, func(s *source.Source) error {
			if s.Location.Backend() == source.SheetBackend {
				s.Pause(system, source.ConnectionRevoked)
			}
			return nil
		}))
		for id, want := range map[source.ID]source.Status{sheet.ID: source.Paused, first.ID: source.Paused,
			second.ID: source.Paused, third.ID: source.Active} {
			s, err := a.Sources.Get(ctx, by.Workspace, id)
			must(t, err)
			same(t, "status", s.Status(), want)
		}
	})
}

func sourceMemory(t *testing.T, a Adapter) {
	ctx := t.Context()
	by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
	teach := func(t *testing.T, s ports.Stores, learnt column.Memory, instant time.Time) {
		t.Helper()
		r := fixture.SheetReading()
		must(t, s.Sources.Add(ctx, by, func(others int) (*source.Source, error) {
			newSource, err := source.New(by, fixture.People, fixture.SourceDraft(r), r, others)
			newSource.Learnt, newSource.UpdatedAt = learnt, instant
			return newSource, err
		}))
	}
	t.Run("the last choice is suggested", func(t *testing.T) {
		teach(t, a.Stores, column.Memory{"contact": "email", "years": "age"}, fixture.At)
		teach(t, a.Stores, column.Memory{"contact": "age"}, fixture.At.Add(time.Second))
		got, err := a.Sources.Memory(ctx, by.Workspace, fixture.People.Key)
		must(t, err)
		same(t, "memory", got, column.Memory{"contact": "age", "years": "age"})
	})
	t.Run("choices are remembered per type", func(t *testing.T) {
		got, err := a.Sources.Memory(ctx, by.Workspace, "animals")
		must(t, err)
		same(t, "memory", got, column.Memory{})
	})
	t.Run("only the last 2000 choices are remembered", func(t *testing.T) {
		must(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			multiple := column.Memory{}
			for i := range 2000 {
				multiple[fmt.Sprint("column ", i)] = "age"
			}
			teach(t, tx, multiple, fixture.At.Add(time.Minute))
			return nil
		}))
		got, err := a.Sources.Memory(ctx, by.Workspace, fixture.People.Key)
		must(t, err)
		if _, old := got["years"]; old || len(got) != 2000 {
			t.Errorf("%d names, the oldest among them: %v", len(got), old)
		}
	})
}

// sourceRaces has two processes do the same concurrently.
func sourceRaces(t *testing.T, a Adapter) {
	ctx := t.Context()
	second := a.Second()
	t.Run("of two concurrent attachments of one location one succeeds", func(t *testing.T) {
		by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
		r := fixture.SheetReading()
		errs := make([]error, 2)
		var pair sync.WaitGroup
		for i, s := range []ports.Stores{a.Stores, second} {
			pair.Go(func() { errs[i] = addSource(t, s, by, r) })
		}
		pair.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("errors %v", errs)
		}
		for _, err := range errs {
			if err != nil {
				wantErr(t, err, source.ErrAlreadyAttached)
			}
		}
	})
	t.Run("a refresh that was overtaken by a pause stores nothing", func(t *testing.T) {
		by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
		proxy := connection.NewID()
		system := identity.System(by.Org, by.Workspace, "test", fixture.At)
		for range 10 {
			newSource := fixture.Source(t, a.Stores, by, fixture.TableReading(proxy))
			var pair sync.WaitGroup
			pair.Go(func() {
				_, err := a.Sources.Update(ctx, by.Workspace, newSource.ID, func(s *source.Source) error {
					s.Refreshed(system, &fixture.People,
						source.Outcome{Of: 1, Reading: source.Reading{RowEstimate: 99}}, 0)
					return nil
				})
				assert.NoError(t, err)
			})
			pair.Go(func() {
				if err := second.Sources.UpdateThrough(ctx, by.Workspace, proxy, func(s *source.Source) error {
					s.Pause(system, source.ConnectionRevoked)
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
			pair.Wait()
			got, err := a.Sources.Get(ctx, by.Workspace, newSource.ID)
			must(t, err)
			// Both orders are correct: the refresh before the pause, or not at all.
			if got.Paused != source.ConnectionRevoked || !got.NextRefreshAt.IsZero() ||
				(got.RowEstimate == 99 && got.LastRefreshedAt.IsZero()) {
				t.Fatalf("%+v", got)
			}
		}
	})
}
