package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
)

// fill sets all parts of a value, so that a member that is new in the contract is set too.
func fill(t *testing.T, v reflect.Value, text string) {
	t.Helper()
	if set, ok := v.Addr().Interface().(interface{ UnmarshalJSON([]byte) error }); ok {
		for _, try := range []any{text, 12, "2026-11-26T07:08:09.123Z", map[string]any{"id": text}, true} {
			if encoded, err := json.Marshal(try); err == nil && set.UnmarshalJSON(encoded) == nil {
				return
			}
		}
		t.Fatalf("no value for a %s", v.Type())
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(-1 << 40)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1.5e-7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), text)
		fill(t, v.Index(1), text)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, name := range []string{"z", "a"} {
			member := reflect.New(v.Type().Elem()).Elem()
			fill(t, member, text)
			v.SetMapIndex(reflect.ValueOf(name), member)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(json.Number("1.50")))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), text)
		}
	default:
		t.Fatalf("no value for a %s", v.Type())
	}
}

func TestItemsOfListsAreEncodedAsByVersion1(t *testing.T) {
	for _, item := range []any{
		new(openapi.PromptTemplate), new(openapi.ChatTemplate), new(openapi.Event), new(openapi.ProbeCheck),
		new(openapi.Connection),
	} {
		t.Run(strings.TrimPrefix(reflect.TypeOf(item).String(), "*openapi."), func(t *testing.T) {
			for _, text := range []string{"", "Tea", "<b>&\u2028\"\\/\n\t\x00\x7f", "é🍵"} {
				fill(t, reflect.ValueOf(item).Elem(), text)
				same(t, item)
			}
			reflect.ValueOf(item).Elem().SetZero()
			same(t, item)
		})
	}
}

// same fails t if v is not encoded as by version 1, which escapes <, > and & in members that can be null.
func same(t *testing.T, v any) {
	t.Helper()
	var got, want bytes.Buffer
	if err := encode(&got, v); err != nil {
		t.Fatal(err)
	}
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	unescaped := strings.NewReplacer(`\u003c`, `<`, `\u003e`, `>`, `\u0026`, `&`)
	if d := cmp.Diff(unescaped.Replace(want.String()), unescaped.Replace(got.String())); d != "" {
		t.Errorf("(-version 1 +this)\n%s", d)
	}
}

func TestABodyWithFreeValuesKeepsItsNumbers(t *testing.T) {
	for _, v := range []any{
		map[string]any{"n": json.Number("12345678901234567890"), "t": "<&>"},
		[]json.Number{"1.50"},
		nullable.NewNullableWithValue[any](json.Number("1")),
		nil,
	} {
		same(t, v)
	}
}

func TestAConfigurationHasTheEscapesOfOtherTexts(t *testing.T) {
	for _, text := range []string{"", "Tea", "<b>&\u2028\"\\/\n\t\x00\x7f", "é🍵\ufffd", `\u003c`, "\xff"} {
		fields := map[string]any{"host" + text: text, "port": json.Number("12345678901234567890"), "ssh": false}
		stored, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		before := string(stored)
		var got, want bytes.Buffer
		if err := errors.Join(encode(&got, toConfig(stored)), encode(&want, fields)); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() || string(stored) != before {
			t.Errorf("%s is encoded as %s, want %s", before, &got, &want)
		}
	}
}

func TestTheEncodingOfAListItemAllocatesLittle(t *testing.T) {
	item := openapi.PromptTemplate{CreatedAt: openapi.Time(time.Now()), UpdatedAt: openapi.Time(time.Now()),
		LastReadOn: nullable.NewNullableWithValue("2026-11-26"), LatestVersion: nullable.NewNullableWithValue(
			openapi.PromptVersionRef{ID: "pver_1", Number: 1})}
	page := pageBody[openapi.PromptTemplate]{Data: make([]openapi.PromptTemplate, 20)}
	for i := range page.Data {
		page.Data[i] = item
	}
	var out bytes.Buffer
	if n := testing.AllocsPerRun(100, func() {
		out.Reset()
		if err := encode(&out, page); err != nil {
			t.Fatal(err)
		}
	}); n > 40 {
		t.Errorf("%v allocations for 20 items", n)
	}
}
