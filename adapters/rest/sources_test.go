package rest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

const sourcesPath = "/api/datasources"

// madeSource is a source of the caller's, with everything that can be shown.
func madeSource(t *testing.T) *source.Source {
	t.Helper()
	by := identity.System("org_1", "wsp_1", "test", fixture.At)
	r := fixture.SheetReading()
	s, err := source.New(by, fixture.People, fixture.SourceDraft(r), r, 0)
	require.NoError(t, err)
	s.Owner, s.RowEstimate = "usr_1", 0
	return s
}

func (h *env) expectSheet(sheet source.Sheet, err error) {
	h.sheets.EXPECT().Preview(gomock.Any(), identity.WorkspaceID("wsp_1"), gomock.Any()).Return(sheet, err)
}

func peopleSheet() source.Sheet {
	tab := source.Tab{ID: "0", Title: "People", Rows: -1, Columns: 2}
	return source.Sheet{Title: "people.csv", Tabs: []source.Tab{tab}, Tab: tab, Preview: column.Preview{
		HeaderRow: 1, Confidence: 1, Headers: []column.Header{{Name: "Mail", Column: "A", Type: column.Email},
			{Name: "Age", Column: "B", Type: column.Integer}},
		Rows: [][]*string{{new("ann@example.com"), nil}},
	}}
}

func TestSourcesAreShownAsTheContractSays(t *testing.T) {
	plain, broken := madeSource(t), madeSource(t)
	system := identity.System("org_1", "wsp_1", "test", fixture.At)
	broken.Refreshed(system, nil, source.Outcome{Of: 1,
		Reading: source.Reading{Columns: []column.Header{{Name: "Contact"}, {Name: "Age"}, {Name: "x"}},
			RowEstimate: -1}}, 0)
	broken.Refreshed(system, nil, source.Outcome{Of: broken.Revision,
		Failure: &source.Failure{Code: "sheet_not_shared", Hint: "Share it.", At: fixture.At}}, 0)
	broken.RowEstimate = -1
	broken.Pause(system, source.ConnectionChanged)
	h := newEnv(t)
	h.sources.EXPECT().List(gomock.Any(), identity.WorkspaceID("wsp_1"),
		page.Query{Limit: 20}).Return(page.Of[source.Source]{Items: []source.Source{*plain, *broken}}, nil)
	got := body(t, h, h.call("GET", sourcesPath, ""))
	for i, want := range []map[string]string{
		{"status": "active", "pause_reason": "<nil>", "failure": "<nil>", "row_estimate": "0",
			"drift": "map[columns:[] level:none]", "last_refreshed_at": "<nil>"},
		{"status": "paused", "pause_reason": "connection_changed", "row_estimate": "<nil>", "next_refresh_at": "<nil>"},
	} {
		views, _ := got["data"].([]any)[i].(map[string]any)
		for name, value := range want {
			if fmt.Sprint(views[name]) != value {
				t.Errorf("%d: %s = %v, want %s", i, name, views[name], value)
			}
		}
	}
}

func TestAttachSource(t *testing.T) {
	const attach = `{"type": "people", "location": {"url": "https://files.example.com/people.csv"}, "mapping": [{"field": "email", "column": "Mail"}]}`
	store := func(h *env, err error) {
		h.atomic.EXPECT().Atomically(gomock.Any(),
			gomock.Any()).DoAndReturn(func(_ context.Context, fn func(ports.Stores) error) error {
			return fn(ports.Stores{SourceStores: ports.SourceStores{Sources: h.sources}, Jobs: h.jobs})
		})
		h.sources.EXPECT().Add(gomock.Any(), gomock.Any(),
			gomock.Any()).DoAndReturn(func(_ context.Context, _ identity.Actor,
			make func(int) (*source.Source, error)) error {
			if err != nil {
				return err
			}
			_, err := make(0)
			return err
		})
	}
	t.Run("returns the source and its location", func(t *testing.T) {
		h := newEnv(t)
		h.expectSheet(peopleSheet(), nil)
		store(h, nil)
		h.jobs.EXPECT().Enqueue(gomock.Any(), gomock.Any()).Return(nil)
		w := h.call("POST", sourcesPath, attach)
		got := body(t, h, w)
		if w.Code != 201 || w.Header().Get("Location") != fmt.Sprint(sourcesPath, "/", got["id"]) ||
			got["name"] != "people.csv" || w.Header().Get("Etag") == "" {
			t.Errorf("%d %v %v", w.Code, w.Header(), got)
		}
	})
	for name, tt := range map[string]struct {
		body   string
		sheet  error
		store  error
		status int
		code   string
	}{
		"a sheet that is not shared":  {attach, source.ErrSheetNotShared, nil, 403, "sheet_not_shared"},
		"a sheet that is not there":   {attach, source.ErrSheetNotFound, nil, 404, "sheet_not_found"},
		"a file that is too large":    {attach, source.ErrFileTooLarge, nil, 413, "file_too_large"},
		"a file of another format":    {attach, source.ErrUnsupportedFormat, nil, 415, "unsupported_format"},
		"an address that is not read": {attach, source.ErrURLNotAllowed, nil, 422, "url_not_allowed"},
		"a host that fails":           {attach, source.ErrSheetFailed, nil, 502, "upstream_failed"},
		"a host that is slow":         {attach, source.ErrSheetTimeout, nil, 504, "upstream_timeout"},
		"the same again":              {attach, nil, source.ErrAlreadyAttached, 409, "already_attached"},
		"an unknown type": {strings.Replace(attach, "people", "animals", 1), nil, nil, 422,
			"unknown_source_type"},
		"an unknown column": {strings.Replace(attach, "Mail", "mail", 1), nil, nil, 422, "mapping_invalid"},
		"a table without a schema": {`{"type": "people", "location": {"connection_id": "con_x", "table": "t"}}`, nil,
			nil, 422, "invalid_fields"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			h := newEnv(t)
			if tt.sheet != nil || tt.status == 409 || tt.code == "mapping_invalid" {
				h.expectSheet(peopleSheet(), tt.sheet)
			}
			if tt.status == 409 || tt.code == "mapping_invalid" {
				store(h, tt.store)
			}
			w := h.call("POST", sourcesPath, tt.body)
			if got := body(t, h, w); w.Code != tt.status || got["code"] != tt.code {
				t.Errorf("%d %v", w.Code, got)
			}
		})
	}
}

func TestPreviewOfASheet(t *testing.T) {
	t.Run("tells tabs, header, rows and suggestions", func(t *testing.T) {
		h := newEnv(t)
		h.expectSheet(peopleSheet(), nil)
		h.sources.EXPECT().Memory(gomock.Any(), identity.WorkspaceID("wsp_1"), source.TypeKey("people")).Return(nil,
			nil)
		w := h.call("GET", sourcesPath+
			"/sheet-preview?url=https://files.example.com/people.csv&header_row=1&type=people", "")
		got := body(t, h, w)
		if w.Code != 200 || fmt.Sprint(got["rows"]) != "[[ann@example.com <nil>]]" ||
			len(got["suggestions"].([]any)) != 2 {
			t.Errorf("%d %v", w.Code, got)
		}
	})
	for query, code := range map[string]string{
		"":                          "invalid_parameter",
		"?url=x&source_id=y":        "invalid_parameter",
		"?url=x&header_row=-1":      "invalid_parameter",
		"?url=x&sample_rows=1":      "invalid_parameter",
		"?url=x&sample_rows=21":     "invalid_parameter",
		"?url=x&type=animals":       "unknown_source_type",
		"?url=x&tab_name=something": "unknown_parameter",
	} {
		t.Run("refuses "+query, func(t *testing.T) {
			h := newEnv(t)
			if got := body(t, h, h.call("GET", sourcesPath+"/sheet-preview"+query, "")); got["code"] != code {
				t.Errorf("%v", got)
			}
		})
	}
	t.Run("a source that cannot be one is not found", func(t *testing.T) {
		h := newEnv(t)
		h.sources.EXPECT().Get(gomock.Any(), identity.WorkspaceID("wsp_1"), source.ID("src")).Return(nil,
			source.ErrNotFound)
		if got := body(t, h, h.call("GET", sourcesPath+"/sheet-preview?source_id=y",
			"")); got["code"] != "source_not_found" {
			t.Errorf("%v", got)
		}
	})
}

func TestPreviewOfAWarehouse(t *testing.T) {
	const id = "con_01jb4rqnx1e0g8w5t2m7k4y6zc"
	reach := func(t *testing.T) *env {
		h := newEnv(t)
		c, err := connection.New(identity.System("org_1", "wsp_1", "test", fixture.At), fixture.Trial(t, id, 0), 0)
		require.NoError(t, err)
		plain, err := fixture.Credential(t, "db.example.com").Reveal()
		require.NoError(t, err)
		h.connections.EXPECT().Get(gomock.Any(), identity.WorkspaceID("wsp_1"), connection.ID(id)).Return(c,
			nil).MinTimes(1)
		h.connections.EXPECT().Sealed(gomock.Any(), gomock.Any(),
			gomock.Any()).Return(connection.Stored{Sealed: []byte("sealed"), Revision: 1, Bound: true}, nil)
		h.seals.EXPECT().Open(gomock.Any(), gomock.Any()).Return(plain, nil)
		return h
	}
	get := func(h *env, query string) *httptest.ResponseRecorder {
		return h.call("GET", sourcesPath+"/warehouse-preview?connection_id="+id+query, "")
	}
	t.Run("lists tables page by page", func(t *testing.T) {
		h := reach(t)
		h.Sealer = plainSealer{}
		tables := []connection.Table{{TableRef: connection.TableRef{Schema: "a", Name: "b"}, Kind: connection.BaseTable,
			RowEstimate: -1}, {TableRef: connection.TableRef{Schema: "a", Name: "c"}, Kind: connection.View}}
		h.warehouse.EXPECT().Tables(gomock.Any(), gomock.Any(),
			connection.TableQuery{Limit: 2, Match: "ord"}).Return(tables, nil)
		got := body(t, h, get(h, "&limit=1&table_query=ord"))
		if fmt.Sprint(got["data"]) != "[map[kind:table name:b row_estimate:<nil> schema:a]]" ||
			got["next_cursor"] == nil {
			t.Fatalf("%v", got)
		}
		next := reach(t)
		next.Sealer = plainSealer{}
		next.warehouse.EXPECT().Tables(gomock.Any(), gomock.Any(),
			connection.TableQuery{After: tables[0].TableRef, Limit: 2, Match: "ord"}).Return(tables[1:], nil)
		if got := body(t, next, get(next,
			fmt.Sprint("&limit=1&table_query=ord&cursor=", got["next_cursor"]))); got["next_cursor"] != nil {
			t.Errorf("%v", got)
		}
	})
	t.Run("shows a table", func(t *testing.T) {
		h := reach(t)
		h.warehouse.EXPECT().Preview(gomock.Any(), gomock.Any(),
			connection.PreviewQuery{Table: connection.TableRef{Schema: `a"b`, Name: "c d"}, Rows: 3}).Return(
			connection.Preview{
				Columns: []connection.Column{{Name: "Mail", DatabaseType: "varchar(255)", Type: connection.Text,
					Nullable: true}}, Rows: [][]*string{{new("ann@example.com")}, {nil}},
			}, nil)
		got := body(t, h, get(h, "&schema=a%22b&table=c+d"))
		if fmt.Sprint(got["columns"], got["rows"]) != "[map[database_type:varchar(255) inferred_type:email name:Mail "+
			"nullable:true sortable:true]] [[ann@example.com] [<nil>]]" {
			t.Errorf("%v", got)
		}
	})
	t.Run("shows a table without a sample", func(t *testing.T) {
		h := reach(t)
		h.warehouse.EXPECT().Preview(gomock.Any(), gomock.Any(), connection.PreviewQuery{
			Table: connection.TableRef{Schema: "a", Name: "b"}, Rows: 3, Match: "ai"}).Return(connection.Preview{
			Columns: []connection.Column{{Name: "Mail", DatabaseType: "text", Type: connection.Text}}, Total: 300,
			SampleError: connection.QueryTimeout}, nil)
		got := body(t, h, get(h, "&schema=a&table=b&column_query=ai"))
		if fmt.Sprint(got["sample"], got["sample_error"], got["rows"], got["columns_total"], got["truncated"]) !=
			"<nil>query_timeout[] 300 false" {
			t.Errorf("%v", got)
		}
	})
	for err, want := range map[error]string{
		connection.TableNotFound:    "404 table_not_found <nil>",
		connection.PermissionDenied: "422 permission_denied <nil>",
		connection.AuthFailed:       "502 upstream_failed <nil>", connection.QueryTimeout: "504 upstream_timeout <nil>",
		connection.TableUnreadable:     "422 table_unreadable <nil>",
		connection.Unreadable("22012"): "422 table_unreadable 22012",
	} {
		t.Run("tells of "+err.Error(), func(t *testing.T) {
			h := reach(t)
			h.warehouse.EXPECT().Preview(gomock.Any(), gomock.Any(), gomock.Any()).Return(connection.Preview{}, err)
			w := get(h, "&schema=a&table=b&sample_rows=5")
			if got := body(t, h, w); fmt.Sprint(w.Code, " ", got["code"], " ", got["sqlstate"]) != want {
				t.Errorf("%d %v", w.Code, got)
			}
		})
	}
	for _, query := range []string{"", "?connection_id=" + id + "&table=x", "?connection_id=" + id + "&schema=x",
		"?connection_id=" + id + "&schema=x&table=y&sample_rows=6"} {
		t.Run("refuses "+query, func(t *testing.T) {
			h := newEnv(t)
			if got := body(t, h, h.call("GET", sourcesPath+"/warehouse-preview"+query,
				"")); got["code"] != "invalid_parameter" {
				t.Errorf("%v", got)
			}
		})
	}
}

// plainSealer leaves cursors in the clear.
type plainSealer struct{}

func (plainSealer) Seal(plain, _ []byte) ([]byte, error)      { return plain, nil }
func (plainSealer) Open(ciphertext, _ []byte) ([]byte, error) { return ciphertext, nil }

func TestChangesOfASource(t *testing.T) {
	change := func(t *testing.T, s *source.Source) *env {
		h := newEnv(t)
		h.atomic.EXPECT().Atomically(gomock.Any(),
			gomock.Any()).DoAndReturn(func(_ context.Context, fn func(ports.Stores) error) error {
			return fn(ports.Stores{SourceStores: ports.SourceStores{Sources: h.sources}, Jobs: h.jobs})
		})
		h.sources.EXPECT().Update(gomock.Any(), identity.WorkspaceID("wsp_1"), s.ID,
			gomock.Any()).DoAndReturn(func(_ context.Context, _ identity.WorkspaceID, _ source.ID,
			change func(*source.Source) error) (*source.Source, error) {
			return s, change(s)
		})
		return h
	}
	t.Run("a mapping is answered with rows", func(t *testing.T) {
		s := madeSource(t)
		h := change(t, s)
		h.sources.EXPECT().Get(gomock.Any(), identity.WorkspaceID("wsp_1"), s.ID).Return(s, nil)
		h.expectSheet(peopleSheet(), nil)
		h.jobs.EXPECT().Enqueue(gomock.Any(), gomock.Any()).Return(nil)
		w := h.call("PUT", sourcesPath+"/"+string(s.ID),
			`{"mapping": [{"field": "email", "column": "Mail"}, {"field": "age", "column": "Age"}], "header_row": 1}`,
			`If-Match: "1-x"`)
		got := body(t, h, w)
		if w.Code != 200 || fmt.Sprint(got["rows"]) != "[map[age:<nil> email:ann@example.com]]" ||
			!strings.HasPrefix(w.Header().Get("Etag"), `"2-`) {
			t.Errorf("%d %v", w.Code, got)
		}
	})
	t.Run("a refresh is accepted", func(t *testing.T) {
		s := madeSource(t)
		h := change(t, s)
		h.jobs.EXPECT().Enqueue(gomock.Any(), gomock.Any()).Return(nil)
		if w := h.call("POST", sourcesPath+"/"+string(s.ID)+"/refresh", ""); w.Code != 202 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	t.Run("a source that is detached is no more", func(t *testing.T) {
		s := madeSource(t)
		h := change(t, s)
		h.jobs.EXPECT().Cancel(gomock.Any(), identity.WorkspaceID("wsp_1"), string(s.ID)).Return(1, nil)
		if w := h.call("DELETE", sourcesPath+"/"+string(s.ID), ""); w.Code != 204 || !s.Detached {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	t.Run("another revision is not detached", func(t *testing.T) {
		s := madeSource(t)
		h := change(t, s)
		if w := h.call("DELETE", sourcesPath+"/"+string(s.ID), "", `If-Match: "7-x"`); w.Code != 412 || s.Detached {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

func TestJobsOfASource(t *testing.T) {
	s := madeSource(t)
	h := newEnv(t)
	h.sources.EXPECT().Get(gomock.Any(), identity.WorkspaceID("wsp_1"), s.ID).Return(s, nil)
	now := fixture.At
	entry := func(state job.State, failure string, start, end time.Time) job.Entry {
		return job.Entry{Job: job.Job{ID: "job_1", Kind: source.RefreshJob, Due: now, CreatedAt: now, Attempt: 1},
			State: state, Failure: failure, StartedAt: start, EndedAt: end}
	}
	h.jobs.EXPECT().History(gomock.Any(), identity.WorkspaceID("wsp_1"), string(s.ID),
		page.Query{Limit: 20}).Return(page.Of[job.Entry]{Items: []job.Entry{
		entry(job.Queued, "", time.Time{}, time.Time{}), entry(job.Running, "", now, time.Time{}),
		entry(job.Failed, "auth_failed", now, now),
	}}, nil)
	got := body(t, h, h.call("GET", sourcesPath+"/"+string(s.ID)+"/jobs", ""))
	var views []string
	for _, j := range got["data"].([]any) {
		j, _ := j.(map[string]any)
		views = append(views, fmt.Sprint(j["state"], " ", j["failure"], " ", j["due_at"] != nil, " ",
			j["started_at"] != nil, " ", j["ended_at"] != nil))
	}
	want := "queued <nil> true false false, running <nil> false true false, failed auth_failed false true true"
	assert.Equal(t, "Join", strings.Join(views, ", "), want)
}
