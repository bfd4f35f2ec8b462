package column_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// schemaOf returns a schema with the named fields, whose types may follow a colon.
func schemaOf(fields ...string) column.Schema {
	t := column.Schema{Key: "rows", Title: "Rows"}
	for _, f := range fields {
		key, kind, ok := strings.Cut(f, ":")
		if !ok {
			kind = "string"
		}
		t.Fields = append(t.Fields, column.Field{Key: key, Title: strings.ReplaceAll(key, "_", " "),
			Type: column.Type(kind)})
	}
	return t
}

// headersOf parses headers separated by commas, whose types may follow a colon without a space.
func headersOf(line string) []column.Header {
	var out []column.Header
	for i, h := range strings.Split(line, ",") {
		h = strings.TrimSpace(h)
		kind := column.String
		if index := strings.LastIndex(h, "::"); index > 0 {
			h, kind = h[:index], column.Type(h[index+2:])
		}
		header := column.Header{Name: h, Column: column.Letters(i), Type: kind}
		if kind == "empty" {
			header.Type, header.Empty = column.String, true
		}
		out = append(out, header)
	}
	return out
}

func chosen(suggestions []column.Suggestion) map[string]string {
	out := map[string]string{}
	for _, s := range suggestions {
		out[s.Field] = s.Column
	}
	return out
}

func TestKnownWrongGuessesAreNotSuggested(t *testing.T) {
	for field, header := range map[string]string{
		"id": "IP", "age": "tag", "first_name": "Last Name", "start_date": "End date", "state": "Status",
		"country":     "County",
		"email:email": "Email opt-in::boolean", "email": "Email domain", "name": "Company Name",
		"company": "Company ID", "phone": "Fax", "updated_at": "Created at",
		"price:number": "Price list::string", "city": "Capacity", "title": "Subtitle", "address": "IP address",
		"url:url": "Curl",
	} {
		t.Run(field+" is not "+header, func(t *testing.T) {
			if got := column.Suggest(schemaOf(field), headersOf(header), nil); len(got) > 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestOtherSpellingsAreSuggested(t *testing.T) {
	contacts := source.CommonTypes()[0].Schema()
	for _, header := range []string{"EMAIL", "e-mail", "e-mail address", "Contact: Email", "contact_email",
		"EmailAddress", "E-Mail-Adresse", "Primary e-mail", "Email 1"} {
		got := column.Suggest(contacts, headersOf("Id,"+header+"::email,IP"), nil)
		if len(got) != 1 || got[0].Field != "email" || got[0].Column != header || got[0].Score < column.AutoSelect ||
			!strings.HasSuffix(got[0].Reason, ".") {
			t.Errorf("%s: %+v", header, got)
		}
	}
	for _, header := range []string{"Emial", "Compnay", "Contry", "Adress"} {
		got := column.Suggest(contacts, headersOf(header), nil)
		if len(got) != 1 || got[0].Score >= column.AutoSelect || !strings.Contains(got[0].Reason, "spelled") {
			t.Errorf("%s: %+v", header, got)
		}
	}
}

func TestWhatWasChosenBeforeWins(t *testing.T) {
	contacts := source.CommonTypes()[0].Schema()
	headers := headersOf("Email::email,Kontakt,Reply to::email")
	if got := chosen(column.Suggest(contacts, headers, nil)); got["email"] != "Email" {
		t.Fatalf("without a memory: %v", got)
	}
	memory := column.Memory{column.Normalise("REPLY-TO"): "email", column.Normalise("Email"): "notes"}
	got := column.Suggest(contacts, headers, memory)
	if c := chosen(got); c["email"] != "Reply to" || c["notes"] != "Email" {
		t.Errorf("with one: %+v", got)
	}
	if got[0].Score != 1 || !strings.Contains(got[0].Reason, "before") {
		t.Errorf("%+v", got[0])
	}
}

func TestValuesCorrectWhatNamesSay(t *testing.T) {
	contacts := source.CommonTypes()[0].Schema()
	for _, tt := range []struct {
		name, headers string
		want          string // of email
	}{
		{"the one with addresses of two", "Email::boolean,Email address::email", "Email address"},
		{"none if it holds numbers", "Email::integer", ""},
		{"the only one with addresses, whatever its name", "Kontakt::email,Nr::integer", "Kontakt"},
		{"not that of somebody else", "Owner::email", ""},
		{"the one with values of two", "Email::empty,Mail::email", "Mail"},
		{"one without values if there is no other", "Email::empty,Nr::integer", "Email"},
		{"none of several with addresses", "A1::email,B1::email", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, "email", chosen(column.Suggest(contacts, headersOf(tt.headers), nil))["email"], tt.want)
		})
	}
}

func TestSuggestionsAreTheBestAsAWhole(t *testing.T) {
	// Taken in turn, "Name" would go to whichever field came first.
	ty := column.Schema{Key: "rows", Fields: []column.Field{
		{Key: "label", Type: column.String, Synonyms: []string{"name"}},
		{Key: "name", Type: column.String},
	}}
	got := chosen(column.Suggest(ty, headersOf("Name,Label"), nil))
	if got["name"] != "Name" || got["label"] != "Label" {
		t.Errorf("%v", got)
	}
}

func TestASurePairIsNotGivenUpForTwoDoubtfulOnes(t *testing.T) {
	got := column.Suggest(schemaOf("phone", "phones"), headersOf("Phone,Phnoe"), nil)
	if len(got) != 1 || got[0].Field != "phone" || got[0].Column != "Phone" {
		t.Errorf("%+v", got)
	}
}

func TestAColumnIsAboutItsLastWord(t *testing.T) {
	// “domain” tells little here, since most columns have it.
	if got := column.Suggest(schemaOf("email"), headersOf("Email domain,Shop domain,Domain rank,Domain age"),
		nil); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestNothingIsSuggestedForNothing(t *testing.T) {
	contacts := source.CommonTypes()[0].Schema()
	if got := column.Suggest(contacts, nil, nil); len(got) > 0 {
		t.Errorf("without headers: %v", got)
	}
	if got := column.Suggest(column.Schema{}, headersOf("Email"), nil); len(got) > 0 {
		t.Errorf("without fields: %v", got)
	}
	if got := column.Suggest(contacts, headersOf("***,???"), nil); len(got) > 0 {
		t.Errorf("of names without words: %v", got)
	}
}

// TestSuggestionsAreRightForExportsOfOtherPrograms reads headers in the style of other programs'
// exports, and compares the result with what a person would choose. A line of the file is type |
// headers | field=header; …, and every field that is not named must stay without a suggestion.
func TestSuggestionsAreRightForExportsOfOtherPrograms(t *testing.T) {
	f, err := os.Open("testdata/exports.txt")
	require.NoError(t, err)
	defer f.Close()
	var tables, fields, right int
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 3 {
			t.Fatalf("%q has %d parts", line, len(parts))
		}
		index := slices.IndexFunc(source.CommonTypes(), func(ty source.Type) bool { return string(ty.Key) == parts[0] })
		ty, headers := source.CommonTypes()[index].Schema(), headersOf(parts[1])
		want := map[string]string{}
		for pair := range strings.SplitSeq(parts[2], ";") {
			field, header, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if !slices.ContainsFunc(headers, func(h column.Header) bool { return h.Name == header }) ||
				!slices.ContainsFunc(ty.Fields, func(f column.Field) bool { return f.Key == field }) {
				t.Fatalf("%q: there is no %q or %q", line, field, header)
			}
			want[field] = header
		}
		got := column.Suggest(ty, headers, nil)
		for _, s := range got {
			if s.Score >= column.AutoSelect && want[s.Field] != s.Column {
				t.Errorf("%s, line %d: %s is %q with %v, want %q: %s", ty.Key, tables+1, s.Field, s.Column, s.Score,
					want[s.Field], s.Reason)
			}
		}
		tables++
		for _, field := range ty.Fields {
			fields++
			if g := chosen(got)[field.Key]; g == want[field.Key] {
				right++
			} else {
				t.Logf("%s, table %d: %s is %q, want %q", ty.Key, tables, field.Key, g, want[field.Key])
			}
		}
	}
	share := float64(right) / float64(fields)
	t.Logf("%d of %d fields of %d tables are right: %.1f %%", right, fields, tables, 100*share)
	if tables < 60 || share < 0.95 {
		t.Errorf("%.1f %% of %d tables, want 95 %% of 60", 100*share, tables)
	}
}

func TestUsualHeadersInEightLanguagesAreKnown(t *testing.T) {
	file, err := os.ReadFile("testdata/languages.txt")
	require.NoError(t, err)
	var suggestedCount, right, want int
	for line := range strings.SplitSeq(string(file), "\n") {
		parts := strings.Split(line, " | ")
		if strings.HasPrefix(line, "#") || len(parts) != 3 {
			continue
		}
		index := slices.IndexFunc(source.CommonTypes(), func(ty source.Type) bool { return string(ty.Key) == parts[0] })
		got := chosen(column.Suggest(source.CommonTypes()[index].Schema(), headersOf(parts[1]), nil))
		suggestedCount += len(got)
		for pair := range strings.SplitSeq(parts[2], "; ") {
			field, header, _ := strings.Cut(pair, "=")
			if want++; got[field] == header {
				right++
			} else {
				t.Logf("%s: %s is %q, want %q", parts[0], field, got[field], header)
			}
		}
	}
	t.Logf("%d suggested, %d right, of %d wanted", suggestedCount, right, want)
	if want < 100 || right*100 < suggestedCount*98 || right*100 < want*90 {
		t.Error("want a precision of 0.98 and a recall of 0.90")
	}
}

func BenchmarkSuggest200By200(b *testing.B) {
	ty := column.Schema{Key: "wide"}
	var headers []column.Header
	for i := range 200 {
		word := fmt.Sprintf("%c%cword", 'a'+i%26, 'a'+i/26)
		ty.Fields = append(ty.Fields, column.Field{Key: "customer_" + word, Title: "Customer " + word,
			Type: column.String, Synonyms: []string{word, "the " + word + " date", word + " amount"}})
		headers = append(headers, column.Header{Name: "Customer: " + word + " value", Type: column.String})
	}
	for b.Loop() {
		if got := column.Suggest(ty, headers, nil); len(got) != 200 {
			b.Fatalf("%d suggestions", len(got))
		}
	}
}
