package source_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

func TestCommonTypesAreValid(t *testing.T) {
	types := source.CommonTypes()
	for _, invalid := range source.CheckTypes(types) {
		t.Error(invalid)
	}
	if len(types) != 3 || types[0].Key != "contacts" {
		t.Fatalf("%d types, the first is %s", len(types), types[0].Key)
	}
	for _, f := range types[0].Fields {
		if f.Required != (f.Key == "email") {
			t.Errorf("of contacts, e-mail is the one that is required; %s: %v", f.Key, f.Required)
		}
	}
	for _, ty := range types {
		names := map[string]string{}
		for _, f := range ty.Fields {
			for _, s := range append([]string{f.Key, f.Title}, f.Synonyms...) {
				n := column.Normalise(s)
				if other, ok := names[n]; ok && other != f.Key {
					t.Errorf("%s: %q is a name of %s and of %s", ty.Key, s, other, f.Key)
				}
				names[n] = f.Key
			}
		}
	}
}

func TestAllThatIsWrongWithTypesIsSaid(t *testing.T) {
	field := column.Field{Key: "email", Title: "E-mail", Type: column.Email}
	good := func(change func(*source.Type)) source.Type {
		ty := source.Type{Key: "contacts", Title: "Contacts", Accepts: []source.Backend{source.SheetBackend},
			Fields: []column.Field{field}}
		change(&ty)
		return ty
	}
	kindWith := func(change func(*column.Field)) source.Type {
		return good(func(ty *source.Type) { change(&ty.Fields[0]) })
	}
	for name, tt := range map[string]struct {
		types []source.Type
		want  string // where
	}{
		"nothing":             {nil, ""},
		"one":                 {[]source.Type{good(func(*source.Type) {})}, ""},
		"the same key twice":  {[]source.Type{good(func(*source.Type) {}), good(func(*source.Type) {})}, "[1].type"},
		"a key in upper case": {[]source.Type{good(func(ty *source.Type) { ty.Key = "Contacts" })}, "[0].type"},
		"a key too long": {
			[]source.Type{good(func(ty *source.Type) { ty.Key = source.TypeKey(strings.Repeat("a", 64)) })},
			"[0].type"},
		"no title":   {[]source.Type{good(func(ty *source.Type) { ty.Title = "" })}, "[0].title"},
		"no backend": {[]source.Type{good(func(ty *source.Type) { ty.Accepts = nil })}, "[0].accepts"},
		"an unknown backend": {[]source.Type{good(func(ty *source.Type) { ty.Accepts[0] = "file" })},
			"[0].accepts[0]"},
		"a backend twice": {
			[]source.Type{good(func(ty *source.Type) { ty.Accepts = append(ty.Accepts, source.SheetBackend) })},
			"[0].accepts[1]"},
		"no fields": {[]source.Type{good(func(ty *source.Type) { ty.Fields = nil })}, "[0].fields"},
		"too many fields": {
			[]source.Type{good(func(ty *source.Type) { ty.Fields = slices.Repeat(ty.Fields, 201) })}, "[0].fields"},
		"a field twice": {[]source.Type{good(func(ty *source.Type) { ty.Fields = append(ty.Fields, field) })},
			"[0].fields[1].key"},
		"a field's key": {[]source.Type{kindWith(func(f *column.Field) { f.Key = "e-mail" })},
			"[0].fields[0].key"},
		"a field's title": {[]source.Type{kindWith(func(f *column.Field) { f.Title = strings.Repeat("a", 121) })},
			"[0].fields[0].title"},
		"a field's type": {[]source.Type{kindWith(func(f *column.Field) { f.Type = "mail" })},
			"[0].fields[0].type"},
		"an endless example": {[]source.Type{kindWith(func(f *column.Field) { f.Example = strings.Repeat("a", 257) })},
			"[0].fields[0].example"},
		"an empty synonym": {[]source.Type{kindWith(func(f *column.Field) { f.Synonyms = []string{""} })},
			"[0].fields[0].synonyms[0]"},
		"too many synonyms": {
			[]source.Type{kindWith(func(f *column.Field) { f.Synonyms = slices.Repeat([]string{"a"}, 101) })},
			"[0].fields[0].synonyms"},
		"an enum without values": {[]source.Type{kindWith(func(f *column.Field) { f.Type = column.Enum })},
			"[0].fields[0].enum"},
		"values without an enum": {[]source.Type{kindWith(func(f *column.Field) { f.Enum = []string{"a"} })},
			"[0].fields[0].enum"},
		"a value twice": {
			[]source.Type{kindWith(func(f *column.Field) { f.Type, f.Enum = column.Enum, []string{"a", "a"} })},
			"[0].fields[0].enum[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			invalid := source.CheckTypes(tt.types)
			if tt.want == "" {
				if len(invalid) > 0 {
					t.Errorf("%v", invalid)
				}
				return
			}
			if !slices.ContainsFunc(invalid,
				func(e *source.TypeProblem) bool { return e.Key == tt.want && e.Reason != "" }) {
				t.Errorf("%v, want something about %s", invalid, tt.want)
			}
		})
	}
}
