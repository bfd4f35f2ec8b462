package rest

import (
	"encoding/json"
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
)

func sourceOperations() []operation {
	const one = "/api/datasources/{source_id}"
	return []operation{
		getOf("/api/datasources", cachedQuery(listSources)),
		postOf("/api/datasources", outbound(attachSource)),
		getOf("/api/datasources/types", query(listSourceTypes)), // before what an id could be
		getOf("/api/datasources/sheet-preview", query(previewSheet)),
		getOf("/api/datasources/warehouse-preview", query(previewWarehouse)),
		postOf("/api/datasources/transform-preview", query(previewTransforms)),
		getOf(one, cachedQuery(getSource)),
		patchOf(one, command(updateSource)),
		deleteOf(one, command(detachSource)),
		putOf(one, outbound(mapSource)),
		postOf(one+"/refresh", command(refreshSource)),
		getOf(one+"/jobs", query(listSourceJobs)),
		getOf(one+"/changes", query(listSourceChanges)),
		postOf(one+"/validate", command(validateSource)),
		getOf(one+"/validation", validation()),
	}
}

func sourcePath(s *sources.Seen) string { return "/api/datasources/" + string(s.ID) }

func listSources(r *request) (reply, error) {
	return listing(r, toSource, func(q page.Query) (page.Of[sources.Seen], error) {
		return r.Sources.List(r.Context(), r.by, q)
	})
}

func updateSource(r *request) (reply, error) {
	in, err := decode[openapi.SourcePatch](r)
	if err != nil {
		return reply{}, err
	}
	p := sources.Patch{ChangeKey: convert.OrZero(in.ChangeKey), Locale: (*string)(convert.OrZero(in.Locale))}
	if in.Name != "" {
		p.Name = &in.Name
	}
	s, err := r.Sources.Change(r.Context(), r.by, sourceID(r), r.match, p)
	if err != nil {
		return reply{}, err
	}
	return ok(toSource(&s)).withRevision(s.Revision), nil
}

func listSourceTypes(r *request) (reply, error) {
	return ok(openapi.SourceTypeList{
		Data:       convert.Slice(r.Sources.Types(r.by), toSourceType),
		NextCursor: openapi.OrNull(""),
	}), nil
}

var errOneSheet = openapi.ErrInvalidParameter.Because("Give either url or source_id.")

func previewSheet(r *request) (reply, error) {
	if r.query.Has("url") == r.query.Has("source_id") {
		return reply{}, errOneSheet
	}
	var of source.ID
	if r.query.Has("source_id") {
		of = queryID[source.ID](r, "source_id", source.Prefix)
	}
	at := source.SheetLocation{URL: r.query.Get("url"), Tab: r.query.Get("tab"),
		Charset: r.query.Get("charset"), Delimiter: r.query.Get("delimiter"), Locale: r.query.Get("locale")}
	if r.query.Has("header_row") {
		at.HeaderRow = fromHeaderRow(new(r.number("header_row", 0)))
	}
	p, err := r.Sources.PreviewSheet(
		r.Context(), r.by, of, at, r.number("sample_rows", column.ShownRows), source.TypeKey(r.query.Get("type")),
	)
	if err != nil {
		return reply{}, err
	}
	return ok(toSheetPreview(p)), nil
}

var (
	errNoConnection = openapi.ErrInvalidParameter.Because("Give the connection_id of the connection to read through.")
	errHalfATable   = openapi.ErrInvalidParameter.Because(
		"A table is named by schema and table together, as the list of tables has them.",
	)
)

func previewWarehouse(r *request) (reply, error) {
	if !r.query.Has("connection_id") {
		return reply{}, errNoConnection
	}
	if r.query.Has("schema") != r.query.Has("table") {
		return reply{}, errHalfATable
	}
	through := queryID[connection.ID](r, "connection_id", connection.Prefix)
	if !r.query.Has("table") {
		return listTables(r, through)
	}
	p, err := r.Sources.PreviewTable(r.Context(), r.by, through, connection.PreviewQuery{
		Table: connection.TableRef{Schema: r.query.Get("schema"), Name: r.query.Get("table")},
		Rows:  r.number("sample_rows", 3),
		Match: r.query.Get("column_query"),
	}, source.TypeKey(r.query.Get("type")))
	if err != nil {
		return reply{}, err
	}
	return ok(toTablePreview(p)), nil
}

// listTables returns a page of a warehouse's tables. Its cursors hold names of tables.
func listTables(r *request, through connection.ID) (reply, error) {
	return listing(r, toWarehouseTable, func(q page.Query) (page.Of[connection.Table], error) {
		var after connection.TableRef
		if q.After != "" {
			if err := json.Unmarshal([]byte(q.After), &after); err != nil {
				return page.Of[connection.Table]{}, openapi.ErrInvalidCursor
			}
		}
		tables, err := r.Sources.Tables(r.Context(), r.by, through, connection.TableQuery{
			After: after,
			Limit: q.Limit + 1,
			Match: r.query.Get("table_query"),
		})
		if err != nil || len(tables) <= q.Limit {
			return page.Of[connection.Table]{Items: tables}, err
		}
		last, err := json.Marshal(tables[q.Limit-1].TableRef)
		return page.Of[connection.Table]{Items: tables[:q.Limit], Next: string(last)}, err
	})
}

// attachSource reads the table, and returns the command that stores the source.
func attachSource(r *request) (command, error) {
	in, err := decode[openapi.SourceAttach](r)
	if err != nil {
		return nil, err
	}
	d := source.Draft{
		Type:     source.TypeKey(in.Type),
		Name:     in.Name,
		Location: fromLocation(in.Location),
		Mapping:  fromPairs(in.Mapping),
	}
	reading, err := r.Sources.Read(r.Context(), r.by, d)
	if err != nil {
		return nil, err
	}
	return func(r *request) (reply, error) {
		s, err := r.Sources.Attach(r.Context(), r.by, d, reading)
		if err != nil {
			return reply{}, err
		}
		return created(sourcePath(&s), toSource(&s)).withRevision(s.Revision).readableAt(sourcePath(&s)), nil
	}, nil
}

func getSource(r *request) (reply, error) {
	s, err := r.Sources.Get(r.Context(), r.by, sourceID(r))
	return sourceReply(s, err)
}

func sourceReply(s sources.Seen, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return ok(toSource(&s)).withRevision(s.Revision).readableAt(sourcePath(&s)), nil
}

func detachSource(r *request) (reply, error) {
	return noContent, r.Sources.DetachSource(r.Context(), r.by, sourceID(r), r.match)
}

// mapSource reads the table again, and returns the command that stores the mapping.
func mapSource(r *request) (command, error) {
	in, err := decode[openapi.SourceMap](r)
	if err != nil {
		return nil, err
	}
	pairs := fromPairs(in.Mapping)
	reading, err := r.Sources.Reread(r.Context(), r.by, sourceID(r), r.match, pairs, fromHeaderRow(in.HeaderRow))
	if err != nil {
		return nil, err
	}
	return func(r *request) (reply, error) {
		s, rows, err := r.Sources.Map(r.Context(), r.by, sourceID(r), r.match, pairs, reading)
		if err != nil {
			return reply{}, err
		}
		return ok(openapi.SourceMapped{Source: toSource(&s), Rows: rows,
			SampleError: openapi.OrNull(reading.SampleError)}).withRevision(s.Revision), nil
	}, nil
}

func refreshSource(r *request) (reply, error) {
	s, err := r.Sources.RequestRefresh(r.Context(), r.by, sourceID(r))
	out, err := sourceReply(s, err)
	out.status = http.StatusAccepted
	return out, err
}

func listSourceChanges(r *request) (reply, error) {
	return listing(r, toSourceChanges, func(q page.Query) (page.Of[source.Changes], error) {
		return r.Sources.Changes(r.Context(), r.by, sourceID(r), q)
	})
}

func listSourceJobs(r *request) (reply, error) {
	return listing(r, toSourceJob, func(q page.Query) (page.Of[job.Entry], error) {
		return r.Sources.Jobs(r.Context(), r.by, sourceID(r), q)
	})
}

func sourceID(r *request) source.ID { return pathID[source.ID](r, "source_id", source.Prefix) }

func sourcesArea() area { return area{name: "sources", operations: sourceOperations()} }
