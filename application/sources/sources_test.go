package sources_test

import (
	"context"
	"errors"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestReadsAskWhoMay(t *testing.T) {
	outsider := owner
	outsider.Role = identity.NoRole
	t.Run("a source is shown with its report", func(t *testing.T) {
		s := newEnv(t)
		s.expectGet(stored(t, table))
		got, err := s.Get(s.ctx, viewer, "src")
		require.NoError(t, err)
		if got.Report.Matched != 1 || len(got.Report.UnmappedColumns) != 1 {
			t.Errorf("%+v", got.Report)
		}
	})
	t.Run("an outsider sees none", func(t *testing.T) {
		s := newEnv(t)
		s.expectGet(stored(t, table))
		_, err := s.Get(s.ctx, outsider, "src")
		require.ErrorIs(t, err, source.ErrNotFound)
		_, err = s.Jobs(s.ctx, outsider, "src", page.Query{Limit: 1})
		require.ErrorIs(t, err, source.ErrNotFound)
		s.sources.EXPECT().List(s.ctx, acme,
			page.Query{Limit: 1}).Return(page.Of[source.Source]{Items: []source.Source{*stored(t, table)}}, nil)
		listedOf, err := s.List(s.ctx, outsider, page.Query{Limit: 1})
		require.NoError(t, err)
		s.sources.EXPECT().ListThrough(s.ctx, acme, connection.ID("c")).Return([]source.Summary{{Workspace: acme}}, nil)
		proxies, err := s.ListThrough(s.ctx, outsider, "c")
		require.NoError(t, err)
		if len(listedOf.Items)+len(proxies) > 0 {
			t.Errorf("listed %v, through the connection %v", listedOf, proxies)
		}
	})
	t.Run("a member reads the jobs of a source", func(t *testing.T) {
		s := newEnv(t)
		s.expectGet(stored(t, table))
		want := page.Of[job.Entry]{Items: []job.Entry{{State: job.Running}}}
		s.jobs.EXPECT().History(s.ctx, acme, "src", page.Query{Limit: 3}).Return(want, nil)
		got, err := s.Jobs(s.ctx, viewer, "src", page.Query{Limit: 3})
		require.NoError(t, err)
		assert.Equal(t, "jobs", len(got.Items), 1)
	})
}

func TestRead(t *testing.T) {
	draft := source.Draft{Type: "people", Location: table}
	t.Run("a table is read through its connection", func(t *testing.T) {
		s := newEnv(t)
		s.expectTable(preview, nil)
		got, err := s.Read(s.ctx, owner, draft)
		require.NoError(t, err)
		s.wantNoted("connection.previewed", "con", owner)
		if got.Location != table || got.Columns[0].Type != column.Email || got.Columns[1].Type != column.Integer ||
			len(got.Rows) != 1 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a sheet is found with its tab and header row", func(t *testing.T) {
		s := newEnv(t)
		s.expectSheet(aSheet(), nil)
		got, err := s.Read(s.ctx, owner, source.Draft{Type: "people", Location: sheetAt})
		require.NoError(t, err)
		s.wantNoted("source.previewed", "", owner)
		if got.Location.Sheet.Tab != "0" || got.Location.Sheet.HeaderRow != 2 || got.RowEstimate != 11 ||
			got.Title != "people.csv" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a sheet whose header is uncertain is not attached until a person says which row it is", func(t *testing.T) {
		unsure := aSheet()
		unsure.Preview.Candidates = []int{2, 1}
		s := newEnv(t)
		s.expectSheet(unsure, nil)
		_, err := s.Read(s.ctx, owner, source.Draft{Type: "people", Location: sheetAt})
		require.ErrorIs(t, err, source.ErrHeaderUncertain)
		failedFault, ok := errors.AsType[*fault.Error](err)
		if !ok || len(failedFault.Fields) != 3 || failedFault.Fields[0].Pointer != "/location/header_row" ||
			failedFault.Fields[2].Detail != "Give 0 if there is no header." {
			t.Errorf("%+v", failedFault)
		}
	})
	t.Run("Google is shown the workspace's credential, which is lent", func(t *testing.T) {
		s := newEnv(t)
		s.expectGoogles()
		s.lent = connection.ErrCredentialChanged
		_, err := s.Read(s.ctx, owner, source.Draft{Type: "people", Location: bookAt})
		require.ErrorIs(t, err, connection.ErrCredentialChanged)
	})
	t.Run("and that connection is noted", func(t *testing.T) {
		s := newEnv(t)
		s.expectGoogles()
		s.expectSheet(aSheet(), nil)
		got, err := s.Read(s.ctx, owner, source.Draft{Type: "people", Location: bookAt})
		require.NoError(t, err)
		if got.Location.Connection != "con_google" || got.Location.Backend() != source.SheetBackend {
			t.Errorf("%+v", got.Location)
		}
	})
	t.Run("without one it is asked as everybody is", func(t *testing.T) {
		s := newEnv(t)
		s.connections.EXPECT().List(s.ctx, acme).Return(nil, nil, nil)
		s.expectSheet(source.Sheet{}, source.ErrSheetNotShared)
		_, err := s.Read(s.ctx, owner, source.Draft{Type: "people", Location: bookAt})
		require.ErrorIs(t, err, source.ErrSheetNotShared)
	})
	for name, tt := range map[string]struct{ is, want error }{
		"no table":          {connection.TableNotFound, sources.ErrTableNotFound},
		"no grant":          {connection.PermissionDenied, sources.ErrPermissionDenied},
		"no answer":         {connection.QueryTimeout, sources.ErrReadTimeout},
		"too little memory": {connection.OutOfMemory, source.ErrOutOfMemory},
		"a wrong password":  {connection.AuthFailed, sources.ErrReadFailed},
		"an outage of ours": {errOutage, errOutage}, "a caller who is off": {context.Canceled, context.Canceled},
	} {
		t.Run("what went wrong is told: "+name, func(t *testing.T) {
			s := newEnv(t)
			s.expectTable(connection.Preview{}, tt.is)
			_, err := s.Read(s.ctx, owner, draft)
			require.ErrorIs(t, err, tt.want)
			s.wantNoted("", "", owner)
		})
	}
	for name, tt := range map[string]struct {
		by   identity.Actor
		d    source.Draft
		want error
	}{
		"a viewer":           {viewer, draft, source.ErrForbidden},
		"an unknown type":    {owner, source.Draft{Type: "x", Location: table}, source.ErrUnknownType},
		"nothing to read at": {owner, source.Draft{Type: "people"}, source.Draft{}.Check(people)},
	} {
		t.Run("nothing is read for "+name, func(t *testing.T) {
			_, err := newEnv(t).Read(t.Context(), tt.by, tt.d)
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestAttach(t *testing.T) {
	draft, reading := source.Draft{Type: "people", Location: table, Mapping: email},
		source.Reading{Location: table, Columns: columns, RowEstimate: -1}
	add := func(s *env, others int) {
		s.sources.EXPECT().Add(s.ctx, owner, gomock.Any()).DoAndReturn(func(_ context.Context, _ identity.Actor,
			make func(int) (*source.Source, error)) error {
			_, err := make(others)
			return err
		})
	}
	t.Run("a source is stored, and refreshed at once", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectHeld("con", connection.Active)
		add(s, 0)
		s.expectQueued(0)
		got, err := s.Attach(s.ctx, owner, draft, reading)
		require.NoError(t, err)
		if got.Status() != source.Active || got.Name != "People" || got.Report.Matched != 1 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a connection that was revoked meanwhile takes none", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectHeld("con", connection.Revoked)
		_, err := s.Attach(s.ctx, owner, draft, reading)
		require.ErrorIs(t, err, connection.ErrRevoked)
	})
	t.Run("the limit counts where it is stored", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectHeld("con", connection.Active)
		add(s, source.MaxSources)
		_, err := s.Attach(s.ctx, owner, draft, reading)
		require.ErrorIs(t, err, source.ErrLimitReached)
	})
	t.Run("a source beyond the quota is not stored", func(t *testing.T) {
		s := newEnv(t)
		s.used.Sources = 2
		s.expectAtomic()
		s.expectHeld("con", connection.Active)
		add(s, 0)
		_, err := s.Attach(s.ctx, owner, draft, reading)
		require.ErrorIs(t, err, quota.ErrExceeded)
	})
	t.Run("if the refresh cannot be queued, the error comes out", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectHeld("con", connection.Active)
		add(s, 0)
		s.jobs.EXPECT().Enqueue(s.ctx, gomock.Any()).Return(errOutage)
		_, err := s.Attach(s.ctx, owner, draft, reading)
		require.ErrorIs(t, err, errOutage)
	})
}

func TestMap(t *testing.T) {
	t.Run("the table is read again, at another header row if one is given", func(t *testing.T) {
		s := newEnv(t)
		s.expectGet(stored(t, sheetAt))
		s.sheets.EXPECT().Preview(gomock.Any(), acme, gomock.Any()).DoAndReturn(func(_ context.Context,
			_ identity.WorkspaceID, target ports.SheetTarget) (source.Sheet, error) {
			if target.Location.HeaderRow != 7 || target.Location.Tab != "0" {
				t.Errorf("read %+v", target.Location)
			}
			return aSheet(), nil
		})
		_, err := s.Reread(s.ctx, admin, "src", revision.Match{1}, nil, 7)
		require.NoError(t, err)
		s.wantNoted("source.previewed", "src", admin)
	})
	t.Run("a header row of a table is refused before anything is read", func(t *testing.T) {
		s := newEnv(t)
		s.expectGet(stored(t, table))
		_, err := s.Reread(s.ctx, admin, "src", revision.Match{1}, nil, 7)
		require.ErrorIs(t, err, source.ErrNoHeaderRow)
	})
	t.Run("a peer, a revoked connection and another revision are told before anything is read", func(t *testing.T) {
		pausedSource := stored(t, table)
		pausedSource.Paused = source.ConnectionRevoked
		for _, tt := range []struct {
			by   identity.Actor
			src  *source.Source
			at   revision.Match
			want error
		}{{peer, stored(t, table), nil, source.ErrForbidden}, {owner, pausedSource, nil, source.ErrPaused},
			{owner, stored(t, table), revision.Match{9}, revision.ErrMismatch}} {
			s := newEnv(t)
			s.expectGet(tt.src)
			_, err := s.Reread(s.ctx, tt.by, "src", tt.at, nil, 0)
			require.ErrorIs(t, err, tt.want)
		}
	})
	t.Run("the mapping is stored with a refresh, and shown on the rows", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectHeld("con", connection.Active)
		s.expectUpdate(stored(t, table))
		s.expectQueued(0)
		got, views, err := s.Map(s.ctx, owner, "src", nil, email,
			source.Reading{Location: table, Columns: columns, Rows: rows, RowEstimate: -1})
		require.NoError(t, err)
		if got.Revision != 2 || len(views) != 1 || *views[0]["email"] != "ann@example.com" {
			t.Errorf("%+v, %v", got, views)
		}
	})
	t.Run("a connection that was revoked since the sheet was read takes none", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectHeld("con_google", connection.Revoked)
		_, _, err := s.Map(s.ctx, owner, "src", nil, email,
			source.Reading{Location: throughGoogle(bookAt), Columns: columns})
		require.ErrorIs(t, err, connection.ErrRevoked)
	})
	t.Run("a type that the org has no more takes no mapping", func(t *testing.T) {
		s := newEnv(t)
		src := stored(t, table)
		src.Type = "gone"
		s.expectAtomic()
		s.expectUpdate(src)
		_, _, err := s.Map(s.ctx, owner, "src", nil, email, source.Reading{})
		require.ErrorIs(t, err, source.ErrUnknownType)
	})
}

func TestDetachSource(t *testing.T) {
	t.Run("the source ends, and its jobs with it", func(t *testing.T) {
		s, src := newEnv(t), stored(t, table)
		s.expectAtomic()
		s.expectUpdate(src)
		s.jobs.EXPECT().Cancel(s.ctx, acme, "src").Return(1, nil)
		require.NoError(t, s.DetachSource(s.ctx, owner, "src", revision.Match{1}))
		if !src.Detached {
			t.Error("it is still there")
		}
	})
	t.Run("an admin cancels nothing", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectUpdate(stored(t, table))
		require.ErrorIs(t, s.DetachSource(s.ctx, admin, "src", nil), source.ErrNotOwner)
	})
	t.Run("if the jobs cannot be cancelled, the error comes out", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectUpdate(stored(t, table))
		s.jobs.EXPECT().Cancel(s.ctx, acme, "src").Return(0, errOutage)
		require.ErrorIs(t, s.DetachSource(s.ctx, owner, "src", nil), errOutage)
	})
}

func TestPreviews(t *testing.T) {
	t.Run("of a sheet, with suggestions by what the workspace chose before", func(t *testing.T) {
		s := newEnv(t)
		s.expectSheet(aSheet(), nil)
		s.sources.EXPECT().Memory(s.ctx, acme, source.TypeKey("people")).Return(column.Memory{"age": "email"}, nil)
		got, err := s.PreviewSheet(s.ctx, peer, "", sheetAt.Sheet, 2, "people")
		require.NoError(t, err)
		s.wantNoted("source.previewed", "", peer)
		if len(got.Suggestions) != 1 || got.Suggestions[0].Column != "Age" {
			t.Errorf("%+v", got.Suggestions)
		}
	})
	t.Run("of a sheet, with as many rows as were asked for", func(t *testing.T) {
		sheet := aSheet()
		sheet.Preview.Rows = [][]*string{{new("1")}, {new("2")}, {new("3")}}
		for requests, want := range map[int]int{2: 2, 3: 3, 20: 3} {
			s := newEnv(t)
			s.expectSheet(sheet, nil)
			got, err := s.PreviewSheet(s.ctx, peer, "", sheetAt.Sheet, requests, "")
			require.NoError(t, err)
			if len(got.Preview.Rows) != want {
				t.Errorf("%d rows of %d", len(got.Preview.Rows), requests)
			}
		}
	})
	t.Run("of a source's sheet, at another tab with another header", func(t *testing.T) {
		s := newEnv(t)
		s.expectGet(stored(t, sheetAt))
		s.sheets.EXPECT().Preview(gomock.Any(), acme,
			gomock.Any()).DoAndReturn(func(_ context.Context, _ identity.WorkspaceID,
			target ports.SheetTarget) (source.Sheet, error) {
			if want := (source.SheetLocation{URL: sheetAt.Sheet.URL, Tab: "Other"}); target.Location != want {
				t.Errorf("read %+v, want %+v", target.Location, want)
			}
			return aSheet(), nil
		})
		s.sources.EXPECT().Memory(s.ctx, acme, source.TypeKey("people")).Return(nil, nil)
		_, err := s.PreviewSheet(s.ctx, peer, "src", source.SheetLocation{Tab: "Other"}, 2, "")
		require.NoError(t, err)
		s.wantNoted("source.previewed", "src", peer)
	})
	t.Run("of a source's sheet, by the connection that read it", func(t *testing.T) {
		s := newEnv(t)
		s.expectGet(stored(t, throughGoogle(bookAt)))
		s.lent = connection.ErrRevoked
		_, err := s.PreviewSheet(s.ctx, peer, "src", source.SheetLocation{}, 2, "")
		require.ErrorIs(t, err, connection.ErrRevoked)
	})
	t.Run("of a table, without suggestions if no type is named", func(t *testing.T) {
		s := newEnv(t)
		askedQuery := connection.PreviewQuery{Table: table.Table, Rows: 3, Match: "a"}
		s.warehouse.EXPECT().Preview(gomock.Any(), gomock.Any(), askedQuery).Return(preview, nil)
		got, err := s.PreviewTable(s.ctx, peer, "con", askedQuery, "")
		require.NoError(t, err)
		s.wantNoted("connection.previewed", "con", peer)
		if got.Suggestions != nil || got.Headers[0].Type != column.Email {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a source that is a table has no sheet", func(t *testing.T) {
		s := newEnv(t)
		s.expectGet(stored(t, table))
		_, err := s.PreviewSheet(s.ctx, peer, "src", source.SheetLocation{}, 2, "")
		require.ErrorIs(t, err, source.ErrNotASheet)
	})
	t.Run("tables are listed", func(t *testing.T) {
		s := newEnv(t)
		s.warehouse.EXPECT().Tables(gomock.Any(), gomock.Any(),
			connection.TableQuery{Limit: 3}).Return([]connection.Table{{TableRef: table.Table}}, nil)
		got, err := s.Tables(s.ctx, peer, "con", connection.TableQuery{Limit: 3})
		if err != nil || len(got) != 1 {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("nothing is read for a viewer", func(t *testing.T) {
		s := newEnv(t)
		_, one := s.PreviewSheet(s.ctx, viewer, "", sheetAt.Sheet, 2, "")
		_, two := s.PreviewTable(s.ctx, viewer, "con", connection.PreviewQuery{}, "")
		_, three := s.Tables(s.ctx, viewer, "con", connection.TableQuery{})
		for _, err := range []error{one, two, three} {
			require.ErrorIs(t, err, source.ErrForbidden)
		}
	})
	t.Run("nor for a type that there is not", func(t *testing.T) {
		_, err := newEnv(t).PreviewTable(t.Context(), peer, "con", connection.PreviewQuery{}, "x")
		if !errors.Is(err, source.ErrUnknownType) {
			t.Error(err)
		}
	})
}
