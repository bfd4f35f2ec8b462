package sources_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// expectTracked expects comparisons that keep hashes in kept, and returns what they found.
func (s *env) expectTracked(src *source.Source, keptTracked *source.Tracked) *[]*source.Changes {
	var found []*source.Changes
	s.changes.EXPECT().SaveChanges(gomock.Any(), acme, source.ID("src"), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ source.ID,
			change func(*source.Source, *source.Tracked) (*source.Changes, error)) error {
			c, err := change(src, keptTracked)
			found = append(found, c)
			return err
		})
	s.changes.EXPECT().Tracked(gomock.Any(), acme, source.ID("src")).AnyTimes().Return(keptTracked, nil)
	return &found
}

func TestRowsAreComparedByTheirHashes(t *testing.T) {
	s := newEnv(t)
	s.types = []source.Type{guests}
	src := guestSource(t)
	src.ChangeKey = "id"
	s.expectGet(src)
	keptTracked := new(source.Tracked)
	found := s.expectTracked(src, keptTracked)
	compare := func(rows ...[]*string) *source.Changes {
		t.Helper()
		s.expectLiveWorkspace()
		s.expectRows(rows, nil)
		require.NoError(t, s.Compare(s.ctx, system, "src"))
		return (*found)[len(*found)-1]
	}
	read := func(start string, rows ...[]*string) []string {
		t.Helper()
		s.tried = connection.Attempts{}
		s.expectRows(rows, nil)
		return s.readAll(sources.RowsQuery{Since: start, Fields: []string{"name"}})
	}
	ada, bob, eve := texts("1", "Ada", "36"), texts("2", "Bob", "x"), texts("3", "Eve", "7")
	if c := compare(ada, bob, texts("", "nobody", ""), texts("1", "again", "")); !c.First || c.Rows != 2 {
		t.Errorf("%+v", c)
	}
	if c := compare(ada, bob); c != nil {
		t.Errorf("the same rows: %+v", c)
	}
	bob = texts("2", "Bob", "y") // a value that fails, and that is another one
	if c := compare(ada, bob, eve); c.Added != 1 || c.Changed != 1 || c.Removed != 0 {
		t.Errorf("%+v", c)
	}
	if got := read("1", ada, bob, eve, texts("", "no key", "")); !slices.Equal(got,
		[]string{"[Bob] []", "[Eve] []", "[no key] []"}) {
		t.Errorf("since the first comparison: %q", got)
	}
	assert.EqualSlice(t, "since the last one", read("2", texts("1", "Ada", "37"), bob, eve), []string{"[Ada] []"})
	ask := func(q sources.RowsQuery) error {
		_, err := s.ReadRows(s.ctx, owner, "src", q, nil, nil)
		return err
	}
	require.ErrorIs(t, ask(sources.RowsQuery{Since: "3"}), source.ErrUnknownCursor)
	require.ErrorIs(t, ask(sources.RowsQuery{Since: "x"}), source.ErrUnknownCursor)
	require.ErrorIs(t, ask(sources.RowsQuery{Since: "1", Raw: true}), source.ErrUnknownField)
	src.Mapping = src.Mapping[:2]
	require.ErrorIs(t, ask(sources.RowsQuery{Since: "1"}), source.ErrSourceChanged)
	if c := compare(ada, bob); !c.First {
		t.Errorf("another mapping: %+v", c)
	}
}

func TestRowsInAnotherLocaleAreNotCompared(t *testing.T) {
	s := newEnv(t)
	s.types = []source.Type{guests}
	src := guestSource(t)
	src.ChangeKey = "id"
	s.expectGet(src)
	savedChanges := s.expectTracked(src, new(source.Tracked))
	s.expectLiveWorkspace()
	s.expectRows([][]*string{texts("1", "Ada", "36")}, nil)
	require.NoError(t, s.Compare(s.ctx, system, "src"))
	for _, tt := range []struct {
		own, org string
		want     error
	}{
		{"", "de-DE", source.ErrSourceChanged}, {"de-DE", "", source.ErrSourceChanged}, {"", "", nil},
	} {
		src.Location.Sheet.Locale, s.locale, s.tried = tt.own, tt.org, connection.Attempts{}
		if tt.want == nil {
			s.expectRows(nil, nil)
		}
		_, err := s.ReadRows(s.ctx, owner, "src", sources.RowsQuery{Since: "1"},
			func(context.Context, sources.RowsStart) error { return nil }, nil)
		if !errors.Is(err, tt.want) {
			t.Errorf("own locale %q, org's %q: %v", tt.own, tt.org, err)
		}
	}
	src.Location.Sheet.Locale, s.locale = "fr-FR", "de-DE"
	s.expectLiveWorkspace()
	s.expectRows([][]*string{texts("1", "Ada", "37")}, nil)
	require.NoError(t, s.Compare(s.ctx, system, "src"))
	if last := (*savedChanges)[len(*savedChanges)-1]; !last.First {
		t.Errorf("%+v", last)
	}
}

func TestRowsHaveIDsByWhichRemovedOnesAreTold(t *testing.T) {
	s := newEnv(t)
	s.types = []source.Type{guests}
	src := guestSource(t)
	src.ChangeKey = "id"
	s.expectGet(src)
	keptTracked := new(source.Tracked)
	s.expectTracked(src, keptTracked)
	ada, bob, eve := texts("1", "Ada", "36"), texts("2", "Bob", "x"), texts("3", "Eve", "7")
	compare := func(rows ...[]*string) {
		t.Helper()
		s.expectLiveWorkspace()
		s.expectRows(rows, nil)
		require.NoError(t, s.Compare(s.ctx, system, "src"))
	}
	read := func(q sources.RowsQuery, rows ...[]*string) (ids map[string]string, removedTexts []string) {
		t.Helper()
		s.tried = connection.Attempts{}
		s.expectRows(rows, nil)
		ids = map[string]string{}
		_, err := s.ReadRows(s.ctx, owner, "src", q, func(_ context.Context, start sources.RowsStart) error {
			removedTexts = start.Removed
			if last := start.Fields[len(start.Fields)-1]; len(start.Fields) != 2 || last.Key != sources.IDField {
				t.Errorf("%+v", start.Fields)
			}
			return nil
		}, func(r sources.Row) error {
			ids[r.Values[0].Text] = r.Values[1].Text
			return nil
		})
		require.NoError(t, err)
		return ids, removedTexts
	}
	byName := sources.RowsQuery{Fields: []string{"name"}, IDs: true}
	compare(ada, bob, eve)
	ids, _ := read(byName, ada, bob, eve, texts("", "no key", ""), texts("1", "again", ""))
	if len(ids["Ada"]) != 16 || ids["Ada"] == ids["Bob"] || ids["again"] != ids["Ada"] || ids["no key"] != "" {
		t.Errorf("%q", ids)
	}
	compare(ada, bob)
	compare(bob)
	startQuery := func(cursor string) sources.RowsQuery {
		return sources.RowsQuery{Fields: byName.Fields, IDs: true, Since: cursor, Removed: true}
	}
	wantRemoved := func(got []string, want ...string) {
		t.Helper()
		slices.Sort(want)
		slices.Sort(got)
		assert.EqualSlice(t, "removed are", got, want)
	}
	_, removedValue := read(startQuery("1"), bob)
	wantRemoved(removedValue, ids["Ada"], ids["Eve"])
	_, removedValue = read(startQuery("2"), bob)
	wantRemoved(removedValue, ids["Ada"])
	replies, removedValue := read(startQuery("2"), ada, bob)
	if wantRemoved(removedValue, ids["Ada"]); replies["Ada"] != ids["Ada"] {
		t.Errorf("a row that is back since the comparison: %q", replies)
	}
	compare(ada, bob)
	_, removedValue = read(startQuery("1"), ada, bob)
	wantRemoved(removedValue, ids["Eve"])

	ask := func(q sources.RowsQuery) error {
		_, err := s.ReadRows(s.ctx, owner, "src", q, nil, nil)
		return err
	}
	keptTracked.RemovedAfter = 2
	require.ErrorIs(t, ask(startQuery("1")), source.ErrRemovedUnknown)
	require.ErrorIs(t, ask(sources.RowsQuery{Removed: true}), source.ErrUnknownField)
	require.ErrorIs(t, ask(sources.RowsQuery{IDs: true, Raw: true}), source.ErrUnknownField)
	src.ChangeKey = ""
	require.ErrorIs(t, ask(byName), source.ErrNotCompared)
}

func TestRowsAreNotCompared(t *testing.T) {
	t.Run("without a key, or while the source is paused", func(t *testing.T) {
		s := newEnv(t)
		src := stored(t, sheetAt)
		s.expectGet(src)
		require.NoError(t, s.Compare(s.ctx, system, "src"))
		src.ChangeKey, src.Paused = "email", source.BreakingDrift
		require.NoError(t, s.Compare(s.ctx, system, "src"))
	})
	t.Run("if the source was mapped again meanwhile", func(t *testing.T) {
		s := newEnv(t)
		s.types = []source.Type{guests}
		read, mappedSource := guestSource(t), guestSource(t)
		read.ChangeKey = "id"
		mappedSource.ChangeKey, mappedSource.Revision = "id", read.Revision+1
		s.expectGet(read)
		s.expectLiveWorkspace()
		s.expectRows(guestRows, nil)
		keptTracked := new(source.Tracked)
		found := s.expectTracked(mappedSource, keptTracked)
		require.NoError(t, s.Compare(s.ctx, system, "src"))
		if len(*found) != 1 || (*found)[0] != nil {
			t.Errorf("%+v", *found)
		}
	})
	t.Run("if there are more than hashes are kept of", func(t *testing.T) {
		proof.Only(t) // of each row a hash is computed
		s := newEnv(t)
		s.types, s.mostRows = []source.Type{guests}, 2*source.MaxTracked
		src := guestSource(t)
		src.ChangeKey, src.Mapping = "id", src.Mapping[:1]
		s.expectGet(src)
		s.expectLiveWorkspace()
		rows := make([][]*string, source.MaxTracked+1)
		for i := range rows {
			rows[i] = texts(strconv.Itoa(i + 1))
		}
		s.expectRows(rows, nil)
		require.ErrorIs(t, s.Compare(s.ctx, system, "src"), source.ErrTooManyRows)
	})
	t.Run("if there are more than the org allows", func(t *testing.T) {
		s := newEnv(t)
		s.types = []source.Type{guests}
		src := guestSource(t)
		src.ChangeKey = "id"
		s.expectGet(src)
		s.expectLiveWorkspace()
		s.expectRows(slices.Repeat(guestRows, 40), nil)
		require.ErrorIs(t, s.Compare(s.ctx, system, "src"), source.ErrTooManyRows)
	})
}
