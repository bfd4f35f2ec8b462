package rows

import (
	"net/url"
	"reflect"
	"testing"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
)

func TestFiltersAreReadFromTheQuery(t *testing.T) {
	for query, want := range map[string][]sources.RowFilter{
		"limit=1":               nil,
		"filter[email]=a,b":     {{Field: "email", Operator: column.Equals, Texts: []string{"a,b"}}},
		"filter[amount][gte]=7": {{Field: "amount", Operator: column.AtLeast, Texts: []string{"7"}}},
		"filter[amount][gte]=7&filter[amount][lt]=8": {
			{Field: "amount", Operator: column.AtLeast, Texts: []string{"7"}},
			{Field: "amount", Operator: column.Less, Texts: []string{"8"}}},
		`filter[state][in]=a,b\,c,\\,\d,`: {{Field: "state", Operator: column.In,
			Texts: []string{"a", "b,c", `\`, `\d`, ""}}},
		"filter[x][is_null]=true":  {{Field: "x", Operator: column.IsNull, Texts: []string{"true"}}},
		"filter[x][starts_with]=v": {{Field: "x", Operator: column.StartsWith, Texts: []string{"v"}}},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := filters(values); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", query, got, err, want)
		}
	}
	for _, name := range []string{"filter[x][eq]", "filter[x][]", "filter[x][gt][lt]", "filter[x][GT]"} {
		if got, err := filters(url.Values{name: {"1"}}); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
