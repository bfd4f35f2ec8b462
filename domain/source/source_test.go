package source_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	start = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

	owner   = actor("ann", identity.Member)
	peer    = actor("pia", identity.Member)
	admin   = actor("ada", identity.Admin)
	head    = actor("olga", identity.Owner)
	viewer  = actor("vic", identity.Viewer)
	machine = identity.System("org", "acme", "test", start)

	people = source.Type{Key: "people", Title: "People",
		Accepts: []source.Backend{source.SheetBackend, source.WarehouseBackend}, Fields: []column.Field{
			{Key: "email", Title: "E-mail", Type: column.Email, Required: true},
			{Key: "age", Title: "Age", Type: column.Integer},
		}}
	book  = source.SheetLocation{URL: "https://files.example.com/people.csv", Tab: "0", HeaderRow: 1}
	email = source.Pair{Field: "email", Column: "Mail"}
	age   = source.Pair{Field: "age", Column: "Age"}
)

func actor(user identity.UserID, role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: user, Workspace: "acme", Role: role, Ceiling: identity.Owner, At: start}
}

// columns parses "Mail:email Age:integer".
func columns(text string) (all []column.Header) {
	for i, word := range strings.Fields(text) {
		name, kind, _ := strings.Cut(word, ":")
		all = append(all, column.Header{Name: name, Column: column.Letters(i), Type: column.Type(kind)})
	}
	return all
}

func reading(header string) source.Reading {
	return source.Reading{Location: source.Location{Sheet: book}, Title: "people.csv", Columns: columns(header),
		Rows: [][]*string{cells("ann@example.com", "30")}, RowEstimate: 12}
}

const usual = "Mail:email Age:integer Note:string"

// attached returns ann's source, with nothing recorded yet.
func attached(t *testing.T, pairs ...source.Pair) *source.Source {
	t.Helper()
	s, err := source.New(owner, people, source.Draft{Type: "people", Location: source.Location{Sheet: book},
		Mapping: pairs}, reading(usual), 0)
	require.NoError(t, err)
	s.Log = event.Log{}
	return s
}

func same(t *testing.T, name string, got, want any) {
	t.Helper()
	require.Equal(t, name+": (-want +got)", cmp.Diff(want, got), "")
}

func recorded(s *source.Source) string {
	var kinds []string
	for _, e := range s.Recorded() {
		kinds = append(kinds, strings.TrimPrefix(e.Type, "source."))
	}
	return strings.Join(kinds, " ")
}

func TestAccessIsByRoleAndOwnership(t *testing.T) {
	s := attached(t)
	readOnly, elsewhere, nobody := head, head, peer
	readOnly.Ceiling, elsewhere.Workspace, nobody.Role = identity.Viewer, "other", identity.NoRole
	item := actor("ann", identity.Viewer)
	for name, tt := range map[string]struct {
		by   identity.Actor
		want source.Access
	}{
		"nobody": {identity.Actor{}, source.None}, "elsewhere": {elsewhere, source.None},
		"without a role": {nobody, source.None},
		"viewer":         {viewer, source.See}, "by a key for viewing": {readOnly, source.See},
		"peer":  {peer, source.Use},
		"admin": {admin, source.Manage}, "its owner": {owner, source.Own}, "its owner, demoted": {item, source.Own},
		"the workspace's owner": {head, source.Own},
	} {
		t.Run(name, func(t *testing.T) { same(t, "access", s.Access(tt.by), tt.want) })
	}
}

func TestOnlyItsOwnerOrTheWorkspacesDetachesASource(t *testing.T) {
	stranger := actor("sam", identity.Owner)
	stranger.Workspace = "other"
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		want error
	}{
		"its owner": {by: owner}, "the workspace's owner": {by: head},
		"at its revision":                         {by: owner, at: revision.Match{1}},
		"an admin is told why not":                {by: admin, want: source.ErrNotOwner},
		"so is a peer":                            {by: peer, want: source.ErrNotOwner},
		"and a viewer":                            {by: viewer, want: source.ErrNotOwner},
		"a stranger is told nothing":              {by: stranger, want: source.ErrNotFound},
		"an admin learns nothing of the revision": {by: admin, at: revision.Match{9}, want: source.ErrNotOwner},
		"at another revision":                     {by: owner, at: revision.Match{9}, want: revision.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			s := attached(t, email)
			require.ErrorIs(t, s.Detach(tt.by, tt.at), tt.want)
			if done := tt.want == nil; s.Detached != done || (recorded(s) == "detached") != done ||
				(s.Revision == 2) != done {
				t.Errorf("detached %v, recorded %q, revision %d", s.Detached, recorded(s), s.Revision)
			}
		})
	}
}

func TestAttaching(t *testing.T) {
	d := source.Draft{Type: "people", Location: source.Location{Sheet: book}}
	t.Run("makes a source of what was read, due at once", func(t *testing.T) {
		s, err := source.New(owner, people, d, reading(usual), 3)
		require.NoError(t, err)
		if s.Status() != source.Unmapped || s.Name != "people.csv" || s.Owner != "ann" ||
			!s.NextRefreshAt.Equal(start) || recorded(s) != "attached" || s.RowEstimate != 12 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("with a mapping it is active, and teaches it", func(t *testing.T) {
		extra := d
		extra.Mapping = []source.Pair{email}
		s, err := source.New(owner, people, extra, reading(usual), 0)
		require.NoError(t, err)
		same(t, "status", s.Status(), source.Active)
		same(t, "learnt", s.Learnt, column.Memory{"email": "email"})
	})
	t.Run("requires a member", func(t *testing.T) {
		_, err := source.New(viewer, people, d, reading(usual), 0)
		require.ErrorIs(t, err, source.ErrForbidden)
	})
	t.Run("has a limit", func(t *testing.T) {
		_, err := source.New(owner, people, d, reading(usual), source.MaxSources)
		require.ErrorIs(t, err, source.ErrLimitReached)
	})
	for name, tt := range map[string]struct {
		change func(*source.Draft)
		want   string
	}{
		"a long name":         {func(d *source.Draft) { d.Name = strings.Repeat("ä", 121) }, "/name too_long"},
		"a name of two lines": {func(d *source.Draft) { d.Name = "a\nb" }, "/name invalid_characters"},
		"no place":            {func(d *source.Draft) { d.Location = source.Location{} }, "/location/url required"},
		"two places":          {func(d *source.Draft) { d.Location.Connection = "con" }, "/location not_allowed_value"},
		"a table of nothing": {
			func(d *source.Draft) { d.Location = source.Location{Table: connection.TableRef{Name: "t"}} },
			"/location/connection_id required"},
		"a connection alone": {func(d *source.Draft) { d.Location = source.Location{Connection: "con"} },
			"/location/schema required"},
		"a schema alone": {func(d *source.Draft) {
			d.Location = source.Location{Connection: "con", Table: connection.TableRef{Schema: "s"}}
		}, "/location/table required"},
		"a backend of no avail": {func(d *source.Draft) { d.Type = "tables" }, "/location not_allowed_value"},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			d, typ := d, people
			tt.change(&d)
			if d.Type == "tables" {
				typ.Accepts = []source.Backend{source.WarehouseBackend}
			}
			same(t, "wrong", fields(d.Check(typ)), tt.want)
		})
	}
}

func fields(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	var all []string
	for _, w := range f.Fields {
		all = append(all, w.Pointer+" "+w.Code)
	}
	return strings.Join(all, ", ")
}

func TestAUniqueFieldNeedsAColumnByWhichRowsCanBeInOrder(t *testing.T) {
	table := source.Type{Key: "people", Accepts: people.Accepts, Fields: []column.Field{
		{Key: "id", Type: column.String, Unique: true}, {Key: "mail", Type: column.String, Unique: true},
		{Key: "note", Type: column.String}}}
	shape, number := source.Pair{Field: "id", Column: "Shape"}, source.Pair{Field: "id", Column: "Number"}
	half := source.Pair{Field: "id", Column: "Shape", Transform: column.Transform{Split: &column.Split{Part: "first"}}}
	for name, tt := range map[string]struct {
		pairs []source.Pair
		key   int // of the fields that are mapped; -1 for none
		want  string
	}{
		"one without an order": {[]source.Pair{{Field: "note", Column: "Number"}, shape}, 0,
			"/mapping/1/column key_unsupported"},
		"two without an order": {[]source.Pair{{Field: "mail", Column: "Area"}, shape}, 0,
			"/mapping/1/column key_unsupported"},
		"one with an order":  {[]source.Pair{number, {Field: "note", Column: "Shape"}}, 0, ""},
		"the second of them": {[]source.Pair{shape, {Field: "mail", Column: "Number"}}, 1, ""},
		"a part of a column": {[]source.Pair{half}, -1, ""},
		"no unique field":    {[]source.Pair{{Field: "note", Column: "Shape"}}, -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := reading("Number:integer")
			r.Columns = append(r.Columns, column.Header{Name: "Shape", Unordered: true},
				column.Header{Name: "Area", Unordered: true})
			d := source.Draft{Type: "people", Location: r.Location, Mapping: tt.pairs}
			s, err := source.New(owner, table, d, r, 0)
			if tt.want != "" {
				require.ErrorIs(t, err, source.ErrKeyUnsupported)
				same(t, "attached", fields(err), tt.want)
				unmappedValue, err := source.New(owner, table, source.Draft{Type: "people", Location: r.Location}, r, 0)
				require.NoError(t, err)
				same(t, "mapped", fields(unmappedValue.Map(owner, nil, table, tt.pairs, r)), tt.want)
				same(t, "the mapping that it has", len(unmappedValue.Mapping), 0)
				return
			}
			require.NoError(t, err)
			mappings, err := s.MappedFields(&table)
			require.NoError(t, err)
			key, err := s.PageKey(mappings)
			require.NoError(t, err)
			same(t, "key", key, tt.key)
		})
	}
}

func TestMappingsAreHeldToTypeAndColumns(t *testing.T) {
	for name, tt := range map[string]struct {
		pairs []source.Pair
		want  string
	}{
		"the required field is missing": {[]source.Pair{age}, "/mapping required_field_unmapped"},
		"an unknown field": {[]source.Pair{email, {Field: "x", Column: "Age"}},
			"/mapping/1/field unknown_mapping_field"},
		"an unknown column": {[]source.Pair{email, {Field: "age", Column: "age"}},
			"/mapping/1/column unknown_column"},
		"a field mapped twice": {[]source.Pair{email, {Field: "email", Column: "Note"}},
			"/mapping/1/field duplicate_item"},
		"all of it at once": {[]source.Pair{{Field: "x", Column: "y"}},
			"/mapping/0/field unknown_mapping_field, /mapping/0/column unknown_column, /mapping required_field_unmapped"},
	} {
		t.Run(name, func(t *testing.T) {
			s := attached(t, email)
			err := s.Map(owner, nil, people, tt.pairs, reading(usual))
			require.ErrorIs(t, err, source.ErrMappingInvalid)
			same(t, "wrong", fields(err), tt.want)
			if recorded(s) != "" || s.Revision != 1 {
				t.Error("something was changed")
			}
		})
	}
}

func TestMapping(t *testing.T) {
	t.Run("replaces mapping, columns and header row, and lifts a pause", func(t *testing.T) {
		s := attached(t, email)
		s.Pause(machine, source.BreakingDrift)
		s.Log = event.Log{}
		r := reading("Age:integer Mail:email")
		r.Location.Sheet.HeaderRow = 3
		require.NoError(t, s.Map(admin, revision.Match{2}, people, []source.Pair{email, age}, r))
		if s.Status() != source.Active || s.Location.Sheet.HeaderRow != 3 || len(s.Columns) != 2 ||
			recorded(s) != "mapped" || !s.NextRefreshAt.Equal(start) {
			t.Errorf("%+v", s)
		}
		r.Rows = append(r.Rows, cells("31", "b@example.com"))
		r.Rows[0] = cells("30", "a@example.com")
		same(t, "rows", s.Mapped(r), []map[string]*string{{"email": new("a@example.com"), "age": new("30")},
			{"email": new("b@example.com"), "age": new("31")}})
	})
	t.Run("takes its owner or an admin", func(t *testing.T) {
		require.ErrorIs(t, attached(t).Map(peer, nil, people, []source.Pair{email}, reading(usual)),
			source.ErrForbidden)
	})
	t.Run("is refused while the connection is revoked", func(t *testing.T) {
		s := attached(t, email)
		s.Pause(machine, source.ConnectionRevoked)
		require.ErrorIs(t, s.Map(owner, nil, people, []source.Pair{email}, reading(usual)), source.ErrPaused)
	})
	t.Run("after the connection leads elsewhere takes the source's owner", func(t *testing.T) {
		s := attached(t, email)
		s.Pause(machine, source.ConnectionRevoked)
		if s.Reconnect(machine, true) {
			t.Error("it was resumed")
		}
		require.ErrorIs(t, s.MayMap(admin, nil), source.ErrPaused)
		require.NoError(t, s.Map(owner, nil, people, []source.Pair{email}, reading(usual)))
		same(t, "status", s.Status(), source.Active)
	})
	t.Run("is reported on", func(t *testing.T) {
		s := attached(t, email, source.Pair{Field: "age", Column: "Note"})
		s.Columns[2].Type = column.JSON
		same(t, "report", s.Report(&people), source.MappingReport{Matched: 2, UnmappedColumns: []string{"Age"},
			Warnings: []source.Warning{{Field: "age", Column: "Note", Code: source.TypeDiffers}}})
		same(t, "of no type", s.Report(nil).Warnings[0].Code, source.FieldMissing)
		same(t, "unmapped", attached(t).Report(&people).UnmappedRequired, []string{"email"})
	})
}

func TestFailuresAreToldApart(t *testing.T) {
	for name, tt := range map[string]struct {
		err       error
		transient bool
		code      string
	}{
		"a warehouse's":         {fmt.Errorf("x: %w", connection.AuthFailed), false, "auth_failed"},
		"one of the table's":    {connection.Unreadable("22012"), false, "table_unreadable"},
		"one that may pass":     {connection.QueryTimeout, true, "query_timeout"},
		"one of ours":           {connection.Internal, true, "internal"},
		"a sheet's":             {source.ErrSheetNotShared, false, "sheet_not_shared"},
		"a host's":              {source.ErrSheetRateLimited, true, "rate_limited"},
		"an outage of our own":  {&fault.Error{Kind: fault.Unavailable, Code: "unavailable"}, false, ""},
		"an unexpected error":   {errors.New("boom"), false, ""},
		"the end of the caller": {context.Canceled, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, ok := source.FailureOf(tt.err, connection.Postgres, start)
			if ok != (tt.code != "") || (ok && (f.Code != tt.code || f.Transient != tt.transient || f.Hint == "" ||
				!f.At.Equal(start))) {
				t.Errorf("FailureOf = %+v, %v", f, ok)
			}
		})
	}
}

// cells returns a row of cells.
func cells(values ...string) []*string {
	out := make([]*string, len(values))
	for i, v := range values {
		out[i] = column.Cell(v)
	}
	return out
}
