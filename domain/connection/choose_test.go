package connection_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
)

func TestAPreviewChoosesColumns(t *testing.T) {
	all := make([]string, 450)
	for i := range all {
		all[i] = "Col_" + strconv.Itoa(i)
	}
	for name, tt := range map[string]struct {
		q         connection.PreviewQuery
		all       []string
		want      []string
		truncated bool
	}{
		"all of a narrow table":          {connection.PreviewQuery{}, all[:200], all[:200], false},
		"the first ones of a wide table": {connection.PreviewQuery{}, all, all[:200], true},
		"those that match, in either case": {connection.PreviewQuery{Match: "cOL_44"}, all,
			append([]string{all[44]}, all[440:]...), false},
		"the first ones that match": {connection.PreviewQuery{Match: "col"}, all, all[:200], true},
		"none that match":           {connection.PreviewQuery{Match: "x"}, all, nil, false},
		"those that are named, each once": {
			connection.PreviewQuery{Columns: []string{"Col_3", "Col_300", "Col_300", "gone", "col_301"}},
			all, append(slices.Clone(all[:200]), "Col_300"), true},
	} {
		t.Run(name, func(t *testing.T) {
			got := connection.Choose(tt.q, tt.all, func(s string) string { return s })
			if !slices.Equal(got.Columns, tt.want) || got.Total != len(tt.all) || got.Truncated != tt.truncated {
				t.Errorf("%d columns of %d, truncated %v: %q", len(got.Columns), got.Total, got.Truncated, got.Columns)
			}
		})
	}
}
