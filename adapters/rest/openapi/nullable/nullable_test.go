package nullable_test

import (
	"encoding/json"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
)

type body struct {
	Required nullable.Nullable[string] `json:"required"`
	Optional nullable.Nullable[int]    `json:"optional,omitempty,omitzero"`
}

func TestAMemberIsAbsentNullOrAValue(t *testing.T) {
	for text, want := range map[string]body{
		`{"required":"a","optional":0}`:   {nullable.NewNullableWithValue("a"), nullable.NewNullableWithValue(0)},
		`{"required":"","optional":null}`: {nullable.NewNullableWithValue(""), nullable.NewNullNullable[int]()},
		`{"required":null}`:               {Required: nullable.NewNullNullable[string]()},
	} {
		t.Run(text, func(t *testing.T) {
			var got body
			if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
				t.Errorf("read as %+v, %v", got, err)
			}
			one, err := json.Marshal(want)
			if err != nil || string(one) != text {
				t.Errorf("version 1 writes %s, %v", one, err)
			}
			two, err := jsonv2.Marshal(&want, jsonv1.DefaultOptionsV1())
			if err != nil || string(two) != text {
				t.Errorf("version 2 writes %s, %v", two, err)
			}
		})
	}
	var invalid body
	if err := json.Unmarshal([]byte(`{"optional":"a"}`), &invalid); err == nil {
		t.Errorf("a text is read as %+v", invalid.Optional)
	}
}

func TestOnlyAValueCanBeRead(t *testing.T) {
	var absent nullable.Nullable[string]
	value, null := nullable.NewNullableWithValue("a"), nullable.NewNullNullable[string]()
	for name, tt := range map[string]struct {
		of                         nullable.Nullable[string]
		want                       string
		isSpecified, isNull, fails bool
	}{
		"a value": {value, "a", true, false, false}, "null": {null, "", true, true, true},
		"an absent member": {absent, "", false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.of.Get()
			if got != tt.want || (err != nil) != tt.fails {
				t.Errorf("Get = %q, %v", got, err)
			}
			if tt.of.IsSpecified() != tt.isSpecified || tt.of.IsZero() == tt.isSpecified ||
				tt.of.IsNull() != tt.isNull {
				t.Errorf("%+v", tt.of)
			}
			defer func() {
				if (recover() != nil) != tt.fails {
					t.Error("MustGet and Get differ")
				}
			}()
			if tt.of.MustGet() != tt.want {
				t.Error("MustGet and Get differ")
			}
		})
	}
}
