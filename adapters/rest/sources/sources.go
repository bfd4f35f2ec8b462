package sources

import (
	"encoding/json"
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
)

func sourcePath(s *sources.Seen) string { return "/api/datasources/" + string(s.ID) }

func listSources(r *server.Call) (server.Reply, error) {
	return server.List(r, toSource, func(q page.Query) (page.Of[sources.Seen], error) {
		return r.Sources.List(r.Context(), r.By, q)
	})
}

func updateSource(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.SourcePatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	p := sources.Patch{ChangeKey: convert.OrZero(in.ChangeKey), Locale: (*string)(convert.OrZero(in.Locale))}
	if in.Name != "" {
		p.Name = &in.Name
	}
	s, err := r.Sources.Change(r.Context(), r.By, sourceID(r), r.Match, p)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toSource(&s)).WithRevision(s.Revision), nil
}

func listSourceTypes(r *server.Call) (server.Reply, error) {
	return server.OK(openapi.SourceTypeList{
		Data:       convert.Slice(r.Sources.Types(r.By), toSourceType),
		NextCursor: openapi.OrNull(""),
	}), nil
}

var errOneSheet = openapi.ErrInvalidParameter.Because("Give either url or source_id.")

// previewSheet reads a new URL, or an existing source with the location's other parts from the query.
func previewSheet(r *server.Call) (server.Reply, error) {
	if r.Query.Has("url") == r.Query.Has("source_id") {
		return server.Reply{}, errOneSheet
	}
	var id source.ID
	if r.Query.Has("source_id") {
		id = server.QueryID[source.ID](r, "source_id", source.Prefix)
	}
	location := source.SheetLocation{URL: r.Query.Get("url"), Tab: r.Query.Get("tab"),
		Charset: r.Query.Get("charset"), Delimiter: r.Query.Get("delimiter"), Locale: r.Query.Get("locale")}
	if r.Query.Has("header_row") {
		location.HeaderRow = fromHeaderRow(new(r.Number("header_row", 0)))
	}
	p, err := r.Sources.PreviewSheet(
		r.Context(), r.By, id, location, r.Number("sample_rows", column.ShownRows), source.TypeKey(r.Query.Get("type")),
	)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toSheetPreview(p)), nil
}

var (
	errNoConnection = openapi.ErrInvalidParameter.Because("Give the connection_id of the connection to read through.")
	errHalfATable   = openapi.ErrInvalidParameter.Because(
		"A table is named by schema and table together, as the list of tables has them.",
	)
)

// previewWarehouse lists a connection's tables, or reads one if the query names it.
func previewWarehouse(r *server.Call) (server.Reply, error) {
	if !r.Query.Has("connection_id") {
		return server.Reply{}, errNoConnection
	}
	if r.Query.Has("schema") != r.Query.Has("table") {
		return server.Reply{}, errHalfATable
	}
	id := server.QueryID[connection.ID](r, "connection_id", connection.Prefix)
	if !r.Query.Has("table") {
		return listTables(r, id)
	}
	p, err := r.Sources.PreviewTable(r.Context(), r.By, id, connection.PreviewQuery{
		Table: connection.TableRef{Schema: r.Query.Get("schema"), Name: r.Query.Get("table")},
		Rows:  r.Number("sample_rows", 3),
		Match: r.Query.Get("column_query"),
	}, source.TypeKey(r.Query.Get("type")))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toTablePreview(p)), nil
}

// listTables returns a page with a warehouse's tables. Its cursors hold names of tables.
func listTables(r *server.Call, id connection.ID) (server.Reply, error) {
	return server.List(r, toWarehouseTable, func(q page.Query) (page.Of[connection.Table], error) {
		var cursor connection.TableRef
		if q.After != "" {
			if err := json.Unmarshal([]byte(q.After), &cursor); err != nil {
				return page.Of[connection.Table]{}, openapi.ErrInvalidCursor
			}
		}
		tables, err := r.Sources.Tables(r.Context(), r.By, id, connection.TableQuery{
			After: cursor,
			Limit: q.Limit + 1,
			Match: r.Query.Get("table_query"),
		})
		if err != nil || len(tables) <= q.Limit {
			return page.Of[connection.Table]{Items: tables}, err
		}
		last, err := json.Marshal(tables[q.Limit-1].TableRef)
		return page.Of[connection.Table]{Items: tables[:q.Limit], Next: string(last)}, err
	})
}

// attachSource reads the table, and returns the command that stores the source.
func attachSource(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.SourceAttach](r)
	if err != nil {
		return nil, err
	}
	d := source.Draft{
		Type:     source.TypeKey(in.Type),
		Name:     in.Name,
		Location: fromLocation(in.Location),
		Mapping:  fromPairs(in.Mapping),
	}
	reading, err := r.Sources.Read(r.Context(), r.By, d)
	if err != nil {
		return nil, err
	}
	return func(r *server.Call) (server.Reply, error) {
		s, err := r.Sources.Attach(r.Context(), r.By, d, reading)
		if err != nil {
			return server.Reply{}, err
		}
		return server.Created(sourcePath(&s), toSource(&s)).WithRevision(s.Revision).ReadableAt(sourcePath(&s)), nil
	}, nil
}

func getSource(r *server.Call) (server.Reply, error) {
	s, err := r.Sources.Get(r.Context(), r.By, sourceID(r))
	return sourceReply(s, err)
}

func sourceReply(s sources.Seen, err error) (server.Reply, error) {
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toSource(&s)).WithRevision(s.Revision).ReadableAt(sourcePath(&s)), nil
}

func detachSource(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Sources.DetachSource(r.Context(), r.By, sourceID(r), r.Match)
}

// mapSource reads the table again, and returns the command that stores the mapping.
func mapSource(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.SourceMap](r)
	if err != nil {
		return nil, err
	}
	pairs := fromPairs(in.Mapping)
	reading, err := r.Sources.Reread(r.Context(), r.By, sourceID(r), r.Match, pairs, fromHeaderRow(in.HeaderRow))
	if err != nil {
		return nil, err
	}
	return func(r *server.Call) (server.Reply, error) {
		s, rows, err := r.Sources.Map(r.Context(), r.By, sourceID(r), r.Match, pairs, reading)
		if err != nil {
			return server.Reply{}, err
		}
		return server.OK(openapi.SourceMapped{Source: toSource(&s), Rows: rows,
			SampleError: openapi.OrNull(reading.SampleError)}).WithRevision(s.Revision), nil
	}, nil
}

func refreshSource(r *server.Call) (server.Reply, error) {
	s, err := r.Sources.RequestRefresh(r.Context(), r.By, sourceID(r))
	out, err := sourceReply(s, err)
	out.Status = http.StatusAccepted
	return out, err
}

func listSourceChanges(r *server.Call) (server.Reply, error) {
	return server.List(r, toSourceChanges, func(q page.Query) (page.Of[source.Changes], error) {
		return r.Sources.Changes(r.Context(), r.By, sourceID(r), q)
	})
}

func listSourceJobs(r *server.Call) (server.Reply, error) {
	return server.List(r, toSourceJob, func(q page.Query) (page.Of[job.Entry], error) {
		return r.Sources.Jobs(r.Context(), r.By, sourceID(r), q)
	})
}

func sourceID(r *server.Call) source.ID {
	return server.PathID[source.ID](r, "source_id", source.Prefix)
}
