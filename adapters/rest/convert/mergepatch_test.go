package convert

import (
	"encoding/json"
	"testing"
)

func TestMergePatch(t *testing.T) {
	for name, tt := range map[string]struct{ old, patch, want string }{
		"a member is replaced":                    {`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		"a member is added":                       {`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		"null removes a member":                   {`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		"null removes the last member":            {`{"a":"b"}`, `{"a":null}`, `{}`},
		"null for what is not there does nothing": {`{"e":null}`, `{"a":null}`, `{"e":null}`},
		"an array is replaced":                    {`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		"objects merge inside": {`{"a":{"b":"c","d":"e"}}`, `{"a":{"b":"f","d":null}}`,
			`{"a":{"b":"f"}}`},
		"an object takes the place of a text":     {`{"a":"foo"}`, `{"a":{"b":"c","d":null}}`, `{"a":{"b":"c"}}`},
		"nulls in an added object are gone":       {`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		"what was not there begins empty":         {``, `{"a":1,"b":null}`, `{"a":1}`},
		"null clears":                             {`{"a":"b"}`, ` null`, ``},
		"what is no object takes the place":       {`{"a":"b"}`, `["c"]`, `["c"]`},
		"what is no JSON takes the place":         {`{"a":"b"}`, `{"a"`, `{"a"`},
		"a patch without members changes nothing": {`{"b": 1, "a": 1.50}`, `{}`, `{"b": 1, "a": 1.50}`},
		"nor does one with the same values":       {`{"b": 1, "a": 1.50}`, `{"a":1.50}`, `{"b": 1, "a": 1.50}`},
		"an empty object is an object":            {``, `{}`, `{}`},
		"numbers and letters stay as they are": {`{"n":12345678901234567890,"t":"<&>"}`, `{"m":1.50}`,
			`{"m":1.50,"n":12345678901234567890,"t":"<&>"}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mergePatch(json.RawMessage(tt.old), json.RawMessage(tt.patch)); string(got) != tt.want {
				t.Errorf("mergePatch(%s, %s) = %s, want %s", tt.old, tt.patch, got, tt.want)
			}
		})
	}
}

func TestMergeMembersLeavesTheOldOnesAsTheyAre(t *testing.T) {
	inner := map[string]any{"b": "c"}
	mergeMembers(map[string]any{"a": inner}, map[string]any{"a": map[string]any{"b": "d"}})
	if inner["b"] != "c" {
		t.Errorf("the old members became %v", inner)
	}
}
