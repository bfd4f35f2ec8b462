package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// rowsAreFiltered filters a table of products, whose values the table spells in another way than the API.
func rowsAreFiltered(t *testing.T, ann *client, shop *shopWarehouse, connection string) {
	table := fmt.Sprint("products_", tables.Add(1))
	shop.sql(t, shop.name, `CREATE TABLE `+table+` (name text, sku text UNIQUE, price numeric(10, 2), stock bigint,
		active boolean, note text)`)
	shop.sql(t, shop.name, `INSERT INTO `+table+` VALUES ('Pen, red', 'P-1', 7.50, 10, true, 'new'),
		('Pen', 'P-2', 100, 9, false, ' new '), ('Ink', 'I-1', NULL, 0, NULL, NULL), ('', 'I-2', 0.00, NULL, true, '')`)
	rows := sources + "/" + ann.create(t, sources, object{"type": "products",
		"location": object{"connection_id": connection, "schema": "public", "table": table},
		"mapping": []object{{"field": "name", "column": "name"}, {"field": "sku", "column": "sku"},
			{"field": "price", "column": "price"}, {"field": "stock", "column": "stock"},
			{"field": "active", "column": "active"},
			{"field": "description", "column": "note", "transform": object{"trim": true}}},
	}).at("id") + "/rows?fields=sku"
	for query, want := range map[string]struct{ rows, by string }{
		"filter[price]=7.5":                                    {"P-1", "source"},
		"filter[price]=7.50":                                   {"P-1", "source"},
		"filter[price]=1e2":                                    {"P-2", "source"},
		"filter[price][gte]=7.5":                               {"P-1 P-2", "source"},
		"filter[price][gt]=7.5&filter[stock][lt]=9.5":          {"P-2", "source"},
		"filter[price][is_null]=true":                          {"I-1", "source"},
		"filter[stock][in]=10,0,":                              {"I-1 I-2 P-1", "source"},
		"filter[stock][lte]=9":                                 {"I-1 P-2", "source"},
		"filter[active]=yes":                                   {"I-2 P-1", "source"},
		"filter[name]=":                                        {"I-2", "source"},
		"filter[name][starts_with]=Pen":                        {"P-1 P-2", "source"},
		"filter[name][in]=" + url.QueryEscape(`Pen\, red,Ink`): {"I-1 P-1", "source"},
		"filter[name][gt]=Pen":                                 {"P-1", "source"},
		"filter[description]=new":                              {"P-1 P-2", "atrium"},
		"filter[description]=new&filter[sku]=P-2":              {"P-2", "atrium"},
		"filter[sku]=P-3":                                      {"", "source"},
	} {
		a := ann.get(t, rows+"&"+query)
		a.has(t, map[string]string{"filtered_by": want.by, "has_more": "false"})
		if got := strings.Join(a.each(t, "sku"), " "); got != want.rows {
			t.Errorf("%s: %q, want %q", query, got, want.rows)
		}
	}
	for query, want := range map[string]string{"count=exact": "4", "count=exact&limit=1": "4", "": "null",
		"count=estimate": "null", "count=exact&limit=1&filter[price][gte]=0": "3",
		"count=estimate&filter[price][gte]=0": "null"} {
		ann.get(t, rows+"&"+query).has(t, map[string]string{"count": want})
	}
	ann.do(t, "GET", rows+"&count=exact", nil, "Accept: text/csv").problem(t, 400, "invalid_parameter")
	for sort, want := range map[string]struct{ rows, by string }{
		"price":                          {"I-2 P-1 P-2 I-1", "source"},
		"-price":                         {"P-2 P-1 I-2 I-1", "source"},
		"active":                         {"P-2 I-2 P-1 I-1", "source"},
		"-name":                          {"P-1 P-2 I-1 I-2", "source"},
		"-description":                   {"P-1 P-2 I-1 I-2", "atrium"},
		"stock&filter[price][lt]=50":     {"P-1 I-2", "source"},
		"-description&filter[active]=no": {"P-2", "atrium"},
	} {
		text := ann.do(t, "GET", rows+"&sort="+sort, nil, "Accept: text/csv").is(t, 200).text
		if got := strings.Join(strings.Fields(text)[1:], " "); got != want.rows {
			t.Errorf("a stream by %s: %q, want %q", sort, got, want.rows)
		}
		var got []string
		for cursor := ""; cursor != "null"; {
			a := ann.get(t, rows+"&limit=1&sort="+sort+cursor).has(t, map[string]string{"sorted_by": want.by})
			got = append(got, a.each(t, "sku")...)
			if cursor = a.at("next_cursor"); cursor != "null" {
				cursor = "&cursor=" + cursor
			}
		}
		if got := strings.Join(got, " "); got != want.rows {
			t.Errorf("pages by %s: %q, want %q", sort, got, want.rows)
		}
	}
	first := ann.get(t, rows+"&limit=1&filter[price][gte]=0").has(t, map[string]string{"has_more": "true"})
	ann.get(t, rows+"&limit=1&filter[price][gte]=0&cursor="+first.at("next_cursor")).has(t, map[string]string{
		"data": `[{"sku":"P-1"}]`, "has_more": "true"})
	text := ann.do(t, "GET", rows+"&filter[price][lt]=1", nil, "Accept: text/csv").is(t, 200).text
	require.Equal(t, "the stream", text, "sku\r\nI-2\r\n")
}
