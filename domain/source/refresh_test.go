package source_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// refresh refreshes s once, and returns what was recorded.
func refresh(t *testing.T, s *source.Source, o source.Outcome) string {
	t.Helper()
	o.Of = s.Revision
	s.Log = event.Log{}
	if !s.Refreshed(machine, &people, o, 0.5) {
		t.Fatal("it does not count")
	}
	return recorded(s)
}

func read(header string) source.Outcome { return source.Outcome{Reading: reading(header)} }

func failed(transient bool) source.Outcome {
	return source.Outcome{Failure: &source.Failure{Code: "x", Transient: transient, At: start}}
}

func TestDriftIsToldByWhatIsMapped(t *testing.T) {
	for name, tt := range map[string]struct {
		now  string
		want source.Drift
	}{
		"none":                                 {usual, source.Drift{Level: source.NoDrift}},
		"in another order":                     {"Note:string Age:integer Mail:email", source.Drift{Level: source.NoDrift}},
		"a column more":                        {usual + " New:string", source.Drift{Level: source.Additive, Columns: []source.DriftedColumn{{Column: "New", Change: source.ColumnAdded}}}},
		"an unused column less":                {"Mail:email Age:integer", source.Drift{Level: source.Additive, Columns: []source.DriftedColumn{{Column: "Note", Change: source.ColumnRemoved}}}},
		"another spelling, elsewhere":          {"Note:string Age:integer E-Mail:email", source.Drift{Level: source.Renamed, Columns: []source.DriftedColumn{{Column: "Mail", Change: source.ColumnRenamed, To: "E-Mail"}}}},
		"another name at its place":            {"Contact:email Age:integer Note:string", source.Drift{Level: source.Renamed, Columns: []source.DriftedColumn{{Column: "Mail", Change: source.ColumnRenamed, To: "Contact"}}}},
		"another name, and a column more":      {"Contact:email Age:integer Note:string Phone:string", source.Drift{Level: source.Renamed, Columns: []source.DriftedColumn{{Column: "Mail", Change: source.ColumnRenamed, To: "Contact"}, {Column: "Phone", Change: source.ColumnAdded}}}},
		"another name, after a column more":    {"Phone:string Contact:email Age:integer Note:string", source.Drift{Level: source.Renamed, Columns: []source.DriftedColumn{{Column: "Mail", Change: source.ColumnRenamed, To: "Contact"}, {Column: "Phone", Change: source.ColumnAdded}}}},
		"a title at its place":                 {"Contacts_2026:string", source.Drift{Level: source.Breaking, Columns: []source.DriftedColumn{{Column: "Mail", Change: source.ColumnRemoved}, {Column: "Age", Change: source.ColumnRemoved}, {Column: "Note", Change: source.ColumnRemoved}, {Column: "Contacts_2026", Change: source.ColumnAdded}}, Seen: 1}},
		"another name and other values":        {"Contact:string Age:integer Note:string", source.Drift{Level: source.Breaking, Columns: []source.DriftedColumn{{Column: "Mail", Change: source.ColumnRemoved}, {Column: "Contact", Change: source.ColumnAdded}}, Seen: 1}},
		"something else at its place":          {"Count:integer Age:integer Note:string", source.Drift{Level: source.Breaking, Columns: []source.DriftedColumn{{Column: "Mail", Change: source.ColumnRemoved}, {Column: "Count", Change: source.ColumnAdded}}, Seen: 1}},
		"a mapped column less":                 {"Age:integer Note:string", source.Drift{Level: source.Breaking, Columns: []source.DriftedColumn{{Column: "Mail", Change: source.ColumnRemoved}}, Seen: 1}},
		"other values in it":                   {"Mail:integer Age:integer Note:string", source.Drift{Level: source.Breaking, Columns: []source.DriftedColumn{{Column: "Mail", Change: source.ColumnRetyped, To: "integer"}}, Seen: 1}},
		"no values in it, which tells nothing": {"Mail:string Age:integer Note:string", source.Drift{Level: source.NoDrift}},
		"nothing at all": {"",
			source.Drift{Level: source.Breaking,
				Columns: []source.DriftedColumn{{Column: "Mail", Change: source.ColumnRemoved},
					{Column: "Age", Change: source.ColumnRemoved}, {Column: "Note", Change: source.ColumnRemoved}},
				Seen: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := attached(t, email)
			if tt.now == "" {
				s = attached(t, email, age)
			}
			refresh(t, s, read(tt.now))
			same(t, "drift", s.Drift, tt.want)
		})
	}
}

func TestAHeaderThatMovedIsFound(t *testing.T) {
	cells := func(values ...string) (row []*string) {
		for i := range values {
			row = append(row, &values[i])
		}
		return row
	}
	title := []column.Header{{Name: "Contacts 2026"}}
	s := attached(t, email, age)
	s.Location.Sheet.HeaderRow = 1
	if !s.LostHeader(title) || s.LostHeader([]column.Header{{Name: "Mail"}, {Name: "Years"}}) {
		t.Error("lost must mean that no mapped column is there")
	}
	for name, tt := range map[string]struct {
		preview column.Preview
		want    int
	}{
		"above":           {column.Preview{HeaderRow: 5, Headers: title, Leading: [][]*string{cells("x"), cells("Mail ", "Age")}}, 4},
		"in its row":      {column.Preview{HeaderRow: 5, Headers: []column.Header{{Name: "Age"}, {Name: "Mail"}}}, 5},
		"below":           {column.Preview{HeaderRow: 5, Headers: title, Rows: [][]*string{{nil}, cells("Mail", "Age")}}, 7},
		"only in part":    {column.Preview{HeaderRow: 5, Headers: title, Rows: [][]*string{cells("Mail")}}, 0},
		"nowhere":         {column.Preview{HeaderRow: 5, Headers: title}, 0},
		"in an empty one": {column.Preview{}, 0},
	} {
		same(t, name, s.FindHeader(tt.preview), tt.want)
	}
	movedOutcome := read(usual)
	movedOutcome.Reading.Location = s.Location
	movedOutcome.Reading.Location.Sheet.HeaderRow = 3
	refresh(t, s, movedOutcome)
	same(t, "header row", s.Location.Sheet.HeaderRow, 3)
	same(t, "revision", s.Revision, int64(2))
}

func TestATableWithoutASampleDriftsByItsColumns(t *testing.T) {
	s := attached(t, email, age)
	unsampledOutcome := read("Mail:string Age:integer Note:string")
	unsampledOutcome.Reading.SampleError = "query_timeout"
	refresh(t, s, unsampledOutcome)
	same(t, "drift", s.Drift.Level, source.NoDrift)
	same(t, "status", s.Status(), source.Active)
	unsampledOutcome.Reading.Columns = unsampledOutcome.Reading.Columns[1:2]
	refresh(t, s, unsampledOutcome)
	same(t, "a missing column", s.Drift.Level, source.Breaking)
}

func TestABreakingDriftPausesWhenItIsSeenTwiceInARow(t *testing.T) {
	s := attached(t, email)
	same(t, "at first", refresh(t, s, read("Age:integer")), "drifted")
	same(t, "status", s.Status(), source.Drifted)
	same(t, "it is looked at again soon", s.NextRefreshAt.Sub(start), 10*time.Minute)
	same(t, "it was a half-written file", refresh(t, s, read(usual)), "drifted")
	same(t, "status", s.Status(), source.Active)
	refresh(t, s, read("Age:integer"))
	same(t, "and again", refresh(t, s, read("Age:integer")), "paused")
	if s.Status() != source.Paused || s.Paused != source.BreakingDrift || !s.NextRefreshAt.IsZero() {
		t.Errorf("%+v", s)
	}
	require.ErrorIs(t, s.MayRefresh(owner), source.ErrPaused)
}

func TestARenamedColumnPausesNothing(t *testing.T) {
	s := attached(t, email)
	for range 3 {
		refresh(t, s, read("Contact:email Age:integer Note:string"))
	}
	same(t, "status", s.Status(), source.Drifted)
	same(t, "revision", s.Revision, int64(2))
}

func TestARefreshCountsForTheRevisionItBeganWith(t *testing.T) {
	for name, change := range map[string]func(*source.Source){
		"mapped meanwhile": func(s *source.Source) {
			_ = s.Map(owner, nil, people, []source.Pair{email, age},
				reading(usual))
		},
		"paused meanwhile": func(s *source.Source) { s.Pause(machine, source.ConnectionRevoked) },
		"paused and resumed meanwhile": func(s *source.Source) {
			s.Pause(machine, source.ConnectionRevoked)
			s.Reconnect(machine, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := attached(t, email)
			total := s.Revision
			change(s)
			previous := *s
			if s.Refreshed(machine, &people, source.Outcome{Of: total, Reading: reading("Age:integer")}, 0) {
				t.Error("it counts")
			}
			same(t, "drift", s.Drift, previous.Drift)
			same(t, "revision", s.Revision, previous.Revision)
		})
	}
}

func TestFailuresOfRefreshes(t *testing.T) {
	t.Run("one that somebody must mend counts at once", func(t *testing.T) {
		s := attached(t, email)
		same(t, "recorded", refresh(t, s, failed(false)), "failing")
		same(t, "status", s.Status(), source.Failing)
		same(t, "next", s.NextRefreshAt.Sub(start), 24*time.Hour)
		same(t, "the same again", refresh(t, s, failed(false)), "")
		same(t, "recovery", refresh(t, s, read(usual)), "recovered")
		if s.Status() != source.Active || s.Failure != nil || s.Failures != 0 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("one that may pass counts when it is the third in a row, retried with longer waits", func(t *testing.T) {
		s := attached(t, email)
		var waits []time.Duration
		var statuses []source.Status
		for range 12 {
			refresh(t, s, failed(true))
			waits, statuses = append(waits, s.NextRefreshAt.Sub(start)), append(statuses, s.Status())
		}
		same(t, "statuses", statuses[:4], []source.Status{source.Active, source.Active, source.Failing, source.Failing})
		same(t, "waits", waits, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute,
			16 * time.Minute, 32 * time.Minute, 64 * time.Minute, 128 * time.Minute, 256 * time.Minute, 6 * time.Hour,
			6 * time.Hour, 6 * time.Hour})
	})
	t.Run("it changes nothing of what is known", func(t *testing.T) {
		s := attached(t, email)
		refresh(t, s, read(usual))
		refresh(t, s, failed(true))
		if s.RowEstimate != 12 || !s.LastRefreshedAt.Equal(start) || s.Revision != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestRefreshesAreADayApartByATenthMoreOrLess(t *testing.T) {
	s := attached(t, email)
	for chance, want := range map[float64]time.Duration{0: 21*time.Hour + 36*time.Minute, 0.5: 24 * time.Hour} {
		same(t, "wait", s.NextRefresh(start, chance).Sub(start), want)
	}
}

func TestPauseAndReconnect(t *testing.T) {
	t.Run("what a revocation paused is resumed by the connection's return", func(t *testing.T) {
		s := attached(t, email)
		if !s.Pause(machine, source.ConnectionRevoked) || s.Pause(machine, source.ConnectionRevoked) {
			t.Error("it is not paused once")
		}
		if !s.Reconnect(machine, false) || s.Status() != source.Active || !s.NextRefreshAt.Equal(start) {
			t.Errorf("%+v", s)
		}
		same(t, "recorded", recorded(s), "paused resumed")
	})
	t.Run("what could not be read is read again with a new credential, what could be is not", func(t *testing.T) {
		s := attached(t, email)
		plannedAt := s.NextRefreshAt
		if s.Reconnect(machine, false) || !s.NextRefreshAt.Equal(plannedAt) {
			t.Errorf("it was read without need: %+v", s)
		}
		s.Failure = &source.Failure{Code: string(connection.AuthFailed), At: start}
		if !s.Reconnect(machine, false) || !s.NextRefreshAt.Equal(start) || s.Failure == nil {
			t.Errorf("%+v", s)
		}
		same(t, "recorded", recorded(s), "")
	})
	t.Run("what drift paused is not", func(t *testing.T) {
		s := attached(t, email)
		s.Pause(machine, source.BreakingDrift)
		if s.Reconnect(machine, false) || s.Paused != source.BreakingDrift {
			t.Errorf("%+v", s)
		}
	})
	t.Run("a refresh on demand requires a member, and a source that is read", func(t *testing.T) {
		s := attached(t, email)
		require.ErrorIs(t, s.Due(viewer, 0), source.ErrForbidden)
		require.NoError(t, s.Due(peer, 0))
		s.Pause(machine, source.ConnectionRevoked)
		require.ErrorIs(t, s.Due(peer, 0), source.ErrPaused)
	})
	t.Run("a refresh on demand waits until the interval since the last one has passed, whatever came of that",
		func(t *testing.T) {
			for name, tt := range map[string]struct {
				read, failed time.Duration // ago; 0: never
				want         time.Duration // from now
			}{
				"never read":                {0, 0, 0},
				"read long ago":             {time.Minute, 0, 0},
				"read lately":               {10 * time.Second, 0, 20 * time.Second},
				"failed lately":             {time.Hour, 5 * time.Second, 25 * time.Second},
				"failed before, at the end": {0, 30 * time.Second, 0},
			} {
				s := attached(t, email)
				if tt.read > 0 {
					s.LastRefreshedAt = peer.At.Add(-tt.read)
				}
				if tt.failed > 0 {
					s.Failure = &source.Failure{Code: "x", At: peer.At.Add(-tt.failed)}
				}
				require.NoError(t, s.Due(peer, 30*time.Second))
				assert.Equal(t, name+": in", s.NextRefreshAt.Sub(peer.At), tt.want)
			}
		})
}

func TestASheetRemembersByWhichConnectionItIsRead(t *testing.T) {
	throughProxy := func(id connection.ID) source.Outcome {
		o := read(usual)
		o.Reading.Location.Connection = id
		return o
	}
	s := attached(t, email)
	refresh(t, s, throughProxy("con_1"))
	if s.Location.Connection != "con_1" || s.Revision != 2 || s.Location.Backend() != source.SheetBackend {
		t.Errorf("%+v", s)
	}
	refresh(t, s, throughProxy("con_1"))
	same(t, "nothing new", s.Revision, int64(2))
	refresh(t, s, failed(true))
	same(t, "after a failure", s.Location.Connection, connection.ID("con_1"))
}

func TestLocationsAreTheSameWhateverTheHeaderRowAndWhoeverReadsTheSheet(t *testing.T) {
	a := source.Location{Sheet: book}
	b := a
	b.Sheet.HeaderRow, b.Sheet.URL, b.Connection = 9, book.URL+"#gid=0", "con_1"
	c := a
	c.Sheet.Tab = "1"
	if a.Key() != b.Key() || a.Key() == c.Key() {
		t.Error("the keys do not tell locations apart")
	}
	one := source.Location{Connection: "con_1", Table: connection.TableRef{Schema: "s", Name: "t"}}
	other := one
	other.Connection = "con_2"
	if one.Key() == other.Key() {
		t.Error("the keys do not tell connections apart")
	}
}
