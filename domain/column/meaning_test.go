package column_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestColumnsAboutSomethingElseAreNotPreselected(t *testing.T) {
	types := ownTypes()
	for key, headers := range map[string]string{
		"contacts": `To Email Address::email,Reply-to::email,Owner Email::email,Manager Email::email,
			Second Email::email,Email Status,Email Opt-in,Phone Type,Country Calling Code,City ID,Company Size,
			Company ID,Company Address,
			Account Manager,Contact Source,Job Level,Name Prefix,User Name,Created By,Second Phone,Parent Name,
			Emergency Contact Phone,Assistant Phone,Fax Number,Tax Number,Event Name,Product Name,Bank Name,Store Name,
			Lead Owner,Customer Group,Middle Name,Department,Role,Maiden Name`,
		"products": `Supplier Price::number,Compare Price::number,Price List,Price Unit,Stock Status,Stock Unit,
			Brand ID::integer,Category ID::integer,Supplier Name,Meta Title,Weight Unit,Currency Rate::number,Shop Name,
			Customer Name,Company Name,Order Number,Vendor Code,Tax Name,Firmenname,Kundenname`,
		"orders": `Shipping Method,Shipping Name,Shipping Address,Tax Rate::number,Payment Status,Customer ID::integer,
			Customer Group,Total Items::integer,Currency Rate::number,Payment ID,Order Type,Seller Email::email`,
		"invoices": `Tax Code,Tax Number,Customer Number,Customer Address,Order Number,Currency Rate::number`,
		"deals":    `Contact Name,Company Size,Owner Email::email,Previous Stage,Pipeline Name,Account Number`,
	} {
		for header := range strings.SplitSeq(headers, ",") {
			header = strings.TrimSpace(header)
			beside := headersOf(header + ",Id::integer,Status Code,Rank::integer")
			for _, s := range column.Suggest(types[key], beside, nil) {
				if s.Column == beside[0].Name && s.Score >= column.AutoSelect {
					t.Errorf("%s: %s is %s with %v: %s", key, header, s.Field, s.Score, s.Reason)
				}
			}
		}
	}
}

func TestAColumnWithOneValueIsNoIdentifier(t *testing.T) {
	contacts := ownTypes()["contacts"]
	headers := headersOf("From Email Address::email,To Email Address::email,Email::email")
	headers[2].Constant = true
	assert.Equal(t, "email of another column", chosen(column.Suggest(contacts, headers[1:], nil))["email"], "")
	headers[1].Constant = true
	assert.Equal(t, "email", chosen(column.Suggest(contacts, headers, nil))["email"], "From Email Address")

	for _, tt := range []struct {
		name string
		rows [][]*string
		want bool
	}{
		{"three equal values", table("Email|Plan", "a@x.org|A", "a@x.org|B", "a@x.org|C"), true},
		{"one value differs", table("Email|Plan", "a@x.org|A", "a@x.org|B", "b@x.org|C"), false},
		{"two values are too few", table("Email|Plan", "a@x.org|A", "a@x.org|B"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, "constant", column.Examine(tt.rows, 1).Headers[0].Constant, tt.want)
		})
	}
}

func TestAPlainNameHasWhatTheOtherColumnsLack(t *testing.T) {
	contacts := ownTypes()["contacts"]
	for _, tt := range []struct{ name, headers, field, header string }{
		{"last names beside first names", "Vorname,Name,Ort,PLZ", "last_name", "Name"},
		{"first names beside last names", "Nombre,Apellidos,Ciudad", "first_name", "Nombre"},
		{"full names beside neither", "Nombre,Ciudad,Teléfono", "full_name", "Nombre"},
		{"full names beside both", "Name,First Name,Last Name,City", "full_name", "Name"},
		{"companies beside contact persons", "Naam,Contactpersoon,Postcode,Plaats", "company", "Naam"},
		{"companies beside VAT numbers", "Namn,Orgnr,Postnr,Ort", "company", "Namn"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.field, chosen(column.Suggest(contacts, headersOf(tt.headers), nil))[tt.field], tt.header)
		})
	}
	got := chosen(column.Suggest(contacts, headersOf("Name,Contact person,City"), column.Memory{"name": "notes"}))
	assert.Equal(t, "notes, which was chosen before", got["notes"], "Name")
}

func TestHeadersMeanWhatTheyMeanInTheirTablesLanguage(t *testing.T) {
	types := ownTypes()
	for _, tt := range []struct{ name, schema, headers, field, want string }{
		{"a word that is an English one, too", "contacts", "Navn,Adresse,Postnummer,By,Land", "city", "By"},
		{"a word with another meaning elsewhere", "contacts", "Jméno,Příjmení,Město,Kraj,Země", "region", "Kraj"},
		{"and no other one", "contacts", "Jméno,Příjmení,Město,Kraj", "country", ""},
		{"a compound word", "contacts", "Kundnamn,Kundens e-post::email,Postort", "full_name", "Kundnamn"},
		{"words without spaces", "orders", "订单编号,客户姓名,订单总价::number", "total", "订单总价"},
		{"a field of a type without synonyms", "invoices", "Fakturanummer,Forfaldsdato::date,Kunde", "due_date",
			"Forfaldsdato"},
		{"the only date of a document", "payments", "Datum::date,Betrag::number,Währung", "paid_at", "Datum"},
		{"words in brackets, if the field has them", "orders", "Stadt (Versand),Stadt (Rechnung),Bestellnummer",
			"shipping_city", "Stadt (Versand)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := chosen(column.Suggest(types[tt.schema], headersOf(tt.headers), nil))
			assert.Equal(t, tt.field, got[tt.field], tt.want)
		})
	}
}

func TestFieldsInAnotherLanguageAreUnderstood(t *testing.T) {
	got := chosen(column.Suggest(schemaOf("rechnungsnummer", "fälligkeitsdatum:date"),
		headersOf("Invoice No,Due date::date,Customer,Currency"), nil))
	assert.Equal(t, "rechnungsnummer", got["rechnungsnummer"], "Invoice No")
	assert.Equal(t, "fälligkeitsdatum", got["fälligkeitsdatum"], "Due date")
}

func TestEachWordIsListedOnceForItsMeaning(t *testing.T) {
	text, err := os.ReadFile("words.tsv")
	require.NoError(t, err)
	columns, meanings := 0, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if columns = max(columns, len(cells)); len(cells) != columns || meanings[cells[0]] {
			t.Errorf("%s: %d cells of %d, or twice", cells[0], len(cells), columns)
		}
		meanings[cells[0]] = true
		for i, cell := range cells[1:] {
			phrases := strings.Split(cell, ",")
			slices.Sort(phrases)
			if len(slices.Compact(slices.Clone(phrases))) != len(phrases) {
				t.Errorf("%s, column %d: %q", cells[0], i+2, cell)
			}
		}
	}
	if columns < 22 || len(meanings) < 100 {
		t.Errorf("%d columns, %d meanings", columns, len(meanings))
	}
}
