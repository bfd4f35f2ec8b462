package sources

import (
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// transformRow is the stored form of a mapped column's transformation. It names its pair, because a release without
// transformations can change the mapping beside it.
type transformRow struct {
	Field         string            `json:"field"`
	Column        string            `json:"column"`
	Join          []string          `json:"join,omitempty"`
	JoinSeparator string            `json:"join_separator,omitempty"`
	Part          column.Part       `json:"part,omitempty"`
	PartSeparator string            `json:"part_separator,omitempty"`
	Trim          bool              `json:"trim,omitempty"`
	Values        map[string]string `json:"values,omitempty"`
	Case          column.Case       `json:"case,omitempty"`
	Dates         column.DateOrder  `json:"dates,omitempty"`
	Decimal       string            `json:"decimal,omitempty"`
	Format        string            `json:"format,omitempty"`
}

// transformsOf encodes a mapping's transformations.
func transformsOf(pairs []source.Pair) (string, error) {
	var transformed []source.Pair
	for _, p := range pairs {
		if !p.Transform.IsZero() {
			transformed = append(transformed, p)
		}
	}
	return db.EncodeList(transformed, func(p source.Pair) transformRow {
		t := p.Transform
		row := transformRow{Field: p.Field, Column: p.Column, Trim: t.Trim, Values: t.Values, Case: t.Case,
			Dates: t.Dates, Decimal: t.Decimal, Format: t.Format}
		if t.Join != nil {
			row.Join, row.JoinSeparator = t.Join.Columns, t.Join.Separator
		}
		if t.Split != nil {
			row.Part, row.PartSeparator = t.Split.Part, t.Split.Separator
		}
		return row
	})
}

// addTransforms sets the transformations that transformsOf encoded on their pairs.
func addTransforms(pairs []source.Pair, text string) error {
	rows, err := db.DecodeList(text, func(r transformRow) transformRow { return r })
	for _, r := range rows {
		for i, p := range pairs {
			if p.Field == r.Field && p.Column == r.Column {
				pairs[i].Transform = r.transform()
			}
		}
	}
	return err
}

func (r transformRow) transform() column.Transform {
	t := column.Transform{Trim: r.Trim, Values: r.Values, Case: r.Case, Dates: r.Dates, Decimal: r.Decimal,
		Format: r.Format}
	if len(r.Join) > 0 {
		t.Join = &column.Join{Columns: r.Join, Separator: r.JoinSeparator}
	}
	if r.Part != "" {
		t.Split = &column.Split{Part: r.Part, Separator: r.PartSeparator}
	}
	return t
}
