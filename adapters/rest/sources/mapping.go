package sources

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/source"
)

// fromLocation reads a source's location. A malformed id becomes one that nothing has.
func fromLocation(in openapi.SourceLocation) source.Location {
	return source.Location{
		Sheet: source.SheetLocation{URL: in.URL, Tab: in.Tab, HeaderRow: fromHeaderRow(in.HeaderRow),
			Charset: string(in.Charset), Delimiter: string(in.Delimiter), Locale: string(in.Locale)},
		Connection: connection.ID(in.ConnectionID),
		Table:      connection.TableRef{Schema: in.Schema, Name: in.Table},
	}
}

// fromHeaderRow reads the row of the header: nil if it is to be detected, 0 if the table has no header.
func fromHeaderRow(in *int) int {
	switch {
	case in == nil:
		return 0
	case *in == 0:
		return column.NoHeader
	}
	return *in
}

// toHeaderRow is the opposite of fromHeaderRow.
func toHeaderRow(row int) *int {
	if row == 0 {
		return nil
	}
	return new(max(row, 0)) // column.NoHeader is negative
}

// fromPairs reads a mapping: nil if there was none, and not nil if it was empty.
func fromPairs(in []openapi.SourcePair) []source.Pair {
	if in == nil {
		return nil
	}
	return convert.Slice(in, func(p *openapi.SourcePair) source.Pair {
		return source.Pair{Field: p.Field, Column: p.Column, Transform: fromTransform(p.Transform)}
	})
}

// toSource shows the location without secrets, and the states of mapping and refresh as the caller may see them.
func toSource(s *sources.Seen) openapi.Source {
	location := s.Location
	if location.Backend() == source.SheetBackend {
		location.Connection = "" // left out: the connection's sources name the sheet
	}
	out := openapi.Source{
		ID:      string(s.ID),
		Type:    string(s.Type),
		Name:    s.Name,
		Backend: openapi.SourceBackend(location.Backend()),
		Location: openapi.SourceLocation{
			URL:          location.Sheet.URL,
			Tab:          location.Sheet.Tab,
			HeaderRow:    toHeaderRow(location.Sheet.HeaderRow),
			Charset:      openapi.Charset(location.Sheet.Charset),
			Delimiter:    openapi.Delimiter(location.Sheet.Delimiter),
			Locale:       openapi.SheetLocale(location.Sheet.Locale),
			ConnectionID: string(location.Connection),
			Schema:       location.Table.Schema,
			Table:        location.Table.Name,
		},
		Columns:      convert.Slice(s.Columns, toColumn),
		ColumnsTotal: s.Total,
		Truncated:    s.Total > len(s.Columns),
		Mapping: convert.Slice(s.Mapping, func(p *source.Pair) openapi.SourcePair {
			return openapi.SourcePair{
				Field:     p.Field,
				Column:    p.Column,
				Transform: toTransform(p.Transform),
			}
		}),
		MappingReport: openapi.SourceMappingReport{
			Matched:          s.Report.Matched,
			UnmappedRequired: convert.NonNil(s.Report.UnmappedRequired),
			UnmappedColumns:  convert.NonNil(s.Report.UnmappedColumns),
			Warnings: convert.Slice(s.Report.Warnings, func(w *source.Warning) openapi.SourceWarning {
				return openapi.SourceWarning{Field: w.Field, Column: w.Column, Code: openapi.SourceWarningCode(w.Code)}
			}),
		},
		ChangeKey:   openapi.OrNull(s.ChangeKey),
		Status:      openapi.SourceStatus(s.Status()),
		PauseReason: openapi.OrNull(openapi.SourcePauseReason(s.Paused)),
		Failure:     nullable.NewNullNullable[openapi.SourceFailure](),
		Drift: openapi.SourceDrift{
			Level: openapi.SourceDriftLevel(s.Drift.Level),
			Columns: convert.Slice(s.Drift.Columns, func(c *source.DriftedColumn) openapi.SourceDriftedColumn {
				return openapi.SourceDriftedColumn{
					Column: c.Column,
					Change: openapi.SourceDriftedColumnChange(c.Change),
					To:     openapi.OrNull(c.To),
				}
			}),
		},
		LastRefreshedAt: convert.OrNullTime(s.LastRefreshedAt),
		NextRefreshAt:   convert.OrNullTime(s.NextRefreshAt),
		RowEstimate:     convert.OrUnknown(s.RowEstimate),
		OwnerID:         string(s.Owner),
		Revision:        s.Revision,
		CreatedAt:       openapi.Time(s.CreatedAt),
		UpdatedAt:       openapi.Time(s.UpdatedAt),
	}
	if f := s.Failure; f != nil {
		out.Failure = nullable.NewNullableWithValue(openapi.SourceFailure{
			Code:      f.Code,
			Retryable: f.Transient,
			Hint:      f.Hint,
			At:        openapi.Time(f.At),
		})
	}
	return out
}

func toColumn(h *column.Header) openapi.SourceColumn {
	return openapi.SourceColumn{
		Name:         h.Name,
		Column:       openapi.OrNull(h.Column),
		InferredType: openapi.SourceFieldType(h.Type),
	}
}

func toSourceType(t *source.Type) openapi.SourceType {
	return openapi.SourceType{
		Type:  string(t.Key),
		Title: t.Title,
		Accepts: convert.Slice(
			t.Accepts, func(b *source.Backend) openapi.SourceTypeAccepts { return openapi.SourceTypeAccepts(*b) },
		),
		Fields: convert.Slice(t.Fields, func(f *column.Field) openapi.SourceField {
			return openapi.SourceField{
				Key:      f.Key,
				Title:    f.Title,
				Type:     openapi.SourceFieldType(f.Type),
				Required: f.Required,
				Unique:   f.Unique,
				Synonyms: convert.NonNil(f.Synonyms),
				Enum:     convert.NonNil(f.Enum),
				Example:  f.Example,
			}
		}),
	}
}

func toSuggestion(s *column.Suggestion) openapi.SourceSuggestion {
	return openapi.SourceSuggestion{Field: s.Field, Column: s.Column, Score: s.Score, Reason: s.Reason}
}

// toRows returns cells, with null for empty ones.
func toRows(rows [][]*string) [][]nullable.Nullable[string] {
	return convert.Slice(rows, func(row *[]*string) []nullable.Nullable[string] {
		return convert.Slice(*row, func(cell **string) nullable.Nullable[string] {
			if *cell == nil {
				return nullable.NewNullNullable[string]()
			}
			return nullable.NewNullableWithValue(**cell)
		})
	})
}

func toSheetPreview(p sources.SheetPreview) openapi.SheetPreview {
	headerRow := nullable.NewNullNullable[int]()
	if row := toHeaderRow(p.Preview.HeaderRow); row != nil {
		headerRow = nullable.NewNullableWithValue(*row)
	}
	totalsRow := nullable.NewNullNullable[int]()
	if p.TotalsRow > 0 {
		totalsRow = nullable.NewNullableWithValue(p.TotalsRow)
	}
	return openapi.SheetPreview{
		Title:            p.Title,
		Tab:              p.Tab.ID,
		HeaderRow:        headerRow,
		HeaderConfidence: p.Preview.Confidence,
		TotalsRow:        totalsRow,
		Charset:          openapi.OrNull(p.Charset),
		Delimiter:        openapi.OrNull(p.Delimiter),
		Locale:           openapi.OrNull(openapi.SheetLocale(p.Locale)),
		Tabs: convert.Slice(p.Tabs, func(t *source.Tab) openapi.SheetTab {
			return openapi.SheetTab{
				ID:      t.ID,
				Title:   t.Title,
				Rows:    convert.OrUnknown(t.Rows),
				Columns: convert.OrUnknown(t.Columns),
				Hidden:  t.Hidden,
			}
		}),
		Headers:      convert.Slice(p.Preview.Headers, toColumn),
		ColumnsTotal: max(p.Tab.Columns, len(p.Preview.Headers)),
		Truncated:    p.Tab.Columns > len(p.Preview.Headers) && len(p.Preview.Headers) == column.MaxColumns,
		Rows:         toRows(p.Preview.Rows),
		LeadingRows:  toRows(p.Preview.Leading),
		Suggestions:  convert.Slice(p.Suggestions, toSuggestion),
	}
}

func toTablePreview(p sources.TablePreview) openapi.TablePreview {
	columns := make([]openapi.TableColumn, len(p.Columns))
	for i, c := range p.Columns {
		columns[i] = openapi.TableColumn{
			Name:         c.Name,
			DatabaseType: c.DatabaseType,
			InferredType: openapi.SourceFieldType(p.Headers[i].Type),
			Nullable:     c.Nullable,
			Sortable:     !c.Unordered,
		}
	}
	sample := nullable.NewNullNullable[[][]nullable.Nullable[string]]()
	if p.SampleError == "" {
		sample = nullable.NewNullableWithValue(toRows(p.Rows))
	}
	return openapi.TablePreview{
		Sample:       sample,
		SampleError:  openapi.OrNull(string(p.SampleError)),
		Columns:      columns,
		ColumnsTotal: p.Total,
		Truncated:    p.Truncated,
		Rows:         toRows(p.Rows),
		Suggestions:  convert.Slice(p.Suggestions, toSuggestion),
	}
}

func toWarehouseTable(t *connection.Table) openapi.WarehouseTable {
	return openapi.WarehouseTable{
		Schema:      t.Schema,
		Name:        t.Name,
		Kind:        openapi.WarehouseTableKind(t.Kind),
		RowEstimate: convert.OrUnknown(t.RowEstimate),
	}
}

func toSourceChanges(c *source.Changes) openapi.SourceChanges {
	return openapi.SourceChanges{
		Cursor:  c.Cursor(),
		At:      openapi.Time(c.At),
		First:   c.First,
		Rows:    c.Rows,
		Added:   c.Added,
		Changed: c.Changed,
		Removed: c.Removed,
	}
}

func toSourceJob(e *job.Entry) openapi.SourceJob {
	out := openapi.SourceJob{
		ID:        string(e.ID),
		Kind:      string(e.Kind),
		State:     openapi.SourceJobState(e.State),
		Attempt:   e.Attempt,
		Failures:  e.Failures,
		Failure:   openapi.OrNull(e.Failure),
		DueAt:     nullable.NewNullNullable[openapi.Time](),
		CreatedAt: openapi.Time(e.CreatedAt),
		StartedAt: convert.OrNullTime(e.StartedAt),
		EndedAt:   convert.OrNullTime(e.EndedAt),
	}
	if e.State == job.Queued {
		out.DueAt = nullable.NewNullableWithValue(openapi.Time(e.Due))
	}
	return out
}

func fromTransform(in openapi.SourceTransform) column.Transform {
	t := column.Transform{
		Trim:    in.Trim,
		Values:  in.Values,
		Case:    column.Case(in.Case),
		Dates:   column.DateOrder(in.DateOrder),
		Decimal: decimalSigns[in.Decimal],
		Format:  in.Format,
	}
	if in.Join.Columns != nil {
		t.Join = &column.Join{Columns: in.Join.Columns, Separator: " "}
		if in.Join.Separator != nil {
			t.Join.Separator = *in.Join.Separator
		}
	}
	if in.Split.Part != "" {
		t.Split = &column.Split{Part: column.Part(in.Split.Part), Separator: in.Split.Separator}
	}
	return t
}

func toTransform(t column.Transform) openapi.SourceTransform {
	out := openapi.SourceTransform{
		Trim:      t.Trim,
		Values:    t.Values,
		Case:      openapi.SourceTransformCase(t.Case),
		DateOrder: openapi.SourceTransformDateOrder(t.Dates),
		Format:    t.Format,
	}
	for name, sign := range decimalSigns {
		if sign == t.Decimal {
			out.Decimal = name
		}
	}
	if t.Join != nil {
		out.Join = openapi.SourceJoin{Columns: t.Join.Columns, Separator: &t.Join.Separator}
	}
	if t.Split != nil {
		out.Split = openapi.SourceSplit{Part: openapi.SourceSplitPart(t.Split.Part), Separator: t.Split.Separator}
	}
	return out
}
