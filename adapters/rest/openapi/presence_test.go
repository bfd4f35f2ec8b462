package openapi_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/oapi-codegen/nullable"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
)

// filled sets every member of a struct, so that a member that is new in the contract is set too.
func filled(t *testing.T, v reflect.Value, text string) {
	t.Helper()
	at := openapi.Time(time.Date(2026, 11, 26, 7, 8, 9, 123456789, time.UTC))
	switch {
	case v.Type() == reflect.TypeFor[openapi.Time]():
		v.Set(reflect.ValueOf(at))
	case v.Type() == reflect.TypeFor[nullable.Nullable[openapi.Time]]():
		v.Set(reflect.ValueOf(nullable.NewNullableWithValue(at)))
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Int || v.Kind() == reflect.Int64:
		v.SetInt(-12)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(t, v.Elem(), text)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		filled(t, v.Index(0), text)
		filled(t, v.Index(1), text)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			filled(t, v.Field(i), text)
		}
	default:
		t.Fatalf("no value for a %s", v.Type())
	}
}

func TestAPresenceEncodesItselfAsEncodingJSONDoes(t *testing.T) {
	same := func(t *testing.T, p *openapi.Presence) {
		t.Helper()
		want, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var got, wanted any
		if err := json.Unmarshal(p.AppendJSON(nil), &got); err != nil {
			t.Fatalf("%v: %s", err, p.AppendJSON(nil))
		}
		if err := json.Unmarshal(want, &wanted); err != nil || !reflect.DeepEqual(got, wanted) {
			t.Errorf("%v\n%s\n%s", err, p.AppendJSON(nil), want)
		}
	}
	for _, text := range []string{"", "Tea", "<b>&\u2028\"\\/\n\t\x00\x7f", "é🍵"} {
		var whole openapi.Presence
		filled(t, reflect.ValueOf(&whole).Elem(), text)
		same(t, &whole)
		for i := range reflect.TypeFor[openapi.Presence]().NumField() {
			t.Run(reflect.TypeFor[openapi.Presence]().Field(i).Name, func(t *testing.T) {
				without := whole
				reflect.ValueOf(&without).Elem().Field(i).SetZero()
				if without.LastActiveAt == nil { // it is required
					without.LastActiveAt = nullable.NewNullNullable[openapi.Time]()
				}
				same(t, &without)
				only := openapi.Presence{LastActiveAt: nullable.NewNullNullable[openapi.Time]()}
				reflect.ValueOf(&only).Elem().Field(i).Set(reflect.ValueOf(&whole).Elem().Field(i))
				same(t, &only)
			})
		}
	}
	none := openapi.Presence{Devices: new([]openapi.PresenceDevice{}),
		ExpiresAt: nullable.NewNullNullable[openapi.Time](), LastActiveAt: nullable.NewNullNullable[openapi.Time](),
		LastSeenAt: nullable.NewNullNullable[openapi.Time](), ManualUntil: nullable.NewNullNullable[openapi.Time]()}
	same(t, &none)
}
