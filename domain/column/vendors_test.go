package column_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

// ownTypes are types as an org configures them: without synonyms.
func ownTypes() map[string]column.Schema {
	types := map[string]column.Schema{
		"orders": schemaOf("order_number", "created_at:datetime", "customer", "email:email", "status", "currency",
			"subtotal:number", "tax:number", "shipping:number", "total:number", "shipping_city", "shipping_country",
			"payment_method"),
		"deals": schemaOf("name", "company", "amount:number", "currency", "stage", "owner", "created_at:datetime",
			"closed_at:datetime", "source"),
		"invoices": schemaOf("invoice_number", "issue_date:date", "due_date:date", "customer", "net_amount:number",
			"tax_amount:number", "total:number", "currency"),
		"payments": schemaOf("transaction_id", "paid_at:datetime", "customer", "email:email", "gross:number",
			"fee:number", "net:number", "currency", "status"),
	}
	for key, s := range types {
		s.Key, s.Title = key, strings.ToUpper(key[:1])+key[1:]
		types[key] = s
	}
	for _, ty := range source.CommonTypes() {
		types[string(ty.Key)] = ty.Schema()
	}
	return types
}

// vendorSet is a line of testdata/vendors.tsv.
type vendorSet struct {
	half, vendor, language string
	schema                 column.Schema
	headers                []column.Header
	want                   map[string][]string // a field's columns; the first is "" if none must be
}

func vendorSets(t *testing.T) (all []vendorSet) {
	t.Helper()
	text, err := os.ReadFile("testdata/vendors.tsv")
	require.NoError(t, err)
	types := ownTypes()
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 6 || len(types[cells[3]].Fields) == 0 {
			t.Fatalf("line %d is no header set", n+1)
		}
		set := vendorSet{half: cells[0], vendor: cells[1], language: cells[2], schema: types[cells[3]],
			want: map[string][]string{}}
		for i, cell := range strings.Split(cells[4], "|") {
			cell, field, _ := strings.Cut(cell, ">")
			header := headersOf(strings.ReplaceAll(strings.TrimSuffix(cell, " constant"), ",", "\x00"))[0]
			header.Constant = strings.HasSuffix(cell, " constant")
			header.Name, header.Column = strings.ReplaceAll(header.Name, "\x00", ","), column.Letters(i)
			set.headers = append(set.headers, header)
			key := strings.TrimSuffix(field, "?")
			switch {
			case field == "":
				continue
			case !slices.ContainsFunc(set.schema.Fields, func(f column.Field) bool { return f.Key == key }):
				t.Fatalf("line %d has no field %s", n+1, key)
			case field == key && len(set.want[key]) > 0 && set.want[key][0] == "":
				set.want[key][0] = header.Name
			case field == key || len(set.want[key]) > 0:
				set.want[key] = append(set.want[key], header.Name)
			default:
				set.want[key] = []string{"", header.Name}
			}
		}
		all = append(all, set)
	}
	return all
}

func TestSuggestionsAreRightForVendorsThatWereNotTunedFor(t *testing.T) {
	halves, vendors := map[string]measured{}, map[string]string{}
	for _, set := range vendorSets(t) {
		if half := vendors[set.vendor]; half != "" && half != set.half {
			t.Fatalf("%s is in both halves", set.vendor)
		}
		vendors[set.vendor] = set.half
		m, got := halves[set.half], chosen(column.Suggest(set.schema, set.headers, nil))
		m.sets++
		for _, f := range set.schema.Fields {
			want, isNeutral := set.want[f.Key], false
			if len(want) > 0 && want[0] == "" {
				isNeutral = got[f.Key] == "" || slices.Contains(want, got[f.Key])
			}
			switch {
			case isNeutral:
				continue
			case got[f.Key] != "" && slices.Contains(want, got[f.Key]):
				m.suggested, m.right, m.wanted = m.suggested+1, m.right+1, m.wanted+1
				continue
			case got[f.Key] != "":
				m.suggested++
			}
			if len(want) > 0 && want[0] != "" {
				m.wanted++
			}
			if set.half == "tune" && (got[f.Key] != "" || len(want) > 0) {
				t.Logf("%s (%s, %s): %s is %q, want %q", set.vendor, set.language, set.schema.Key, f.Key, got[f.Key],
					want)
			}
		}
		halves[set.half] = m
	}
	for _, half := range []string{"tune", "test"} {
		m := halves[half]
		t.Logf("%s: %d sets, precision %.3f, recall %.3f of %d fields", half, m.sets, m.precision(), m.recall(),
			m.wanted)
		if m.sets < 60 || m.precision() < 0.97 || m.recall() < 0.92 {
			t.Errorf("%s: want a precision of 0.97 and a recall of 0.92 on 60 sets", half)
		}
	}
}
