package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/atrium-hq/atrium/domain/schema"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestWrongSaysInOurWordsWhatASchemaDemands(t *testing.T) {
	const canary = "c4n4ry"
	for name, tt := range map[string]struct{ schema, value, want string }{
		"a field is missing": {`{"required":["a/b"]}`, `{}`, "/x/a~1b required Must be given."},
		"a field is unknown": {`{"additionalProperties":false}`, `{"y":"c4n4ry"}`,
			"/x/y unknown_field There is no such field here."},
		"a name is long": {`{"additionalProperties":false}`, `{"` + strings.Repeat("é", 65) +
			`":1}`, "/x/" + strings.Repeat("é", 64) + "… unknown_field There is no such field here."},
		"an item is there twice": {`{"uniqueItems":true}`, `["a","b","a"]`,
			"/x/2 duplicate_item Is in the list already."},
		"a type is wrong": {`{"type":["array","boolean","null"]}`, `"c4n4ry"`,
			"/x wrong_type Must be null or true or false or an array."},
		"a number is no whole one": {`{"type":"integer"}`, `1.5`, "/x wrong_type Must be a whole number."},
		"a format is wrong": {`{"format":"ipv4"}`, `"c4n4ry"`,
			"/x invalid_format Must be a valid ipv4."},
		"a time is wrong": {`{"format":"date-time"}`, `"c4n4ry"`,
			"/x invalid_format Must be a date and time such as 2026-01-31T12:00:00Z (RFC 3339)."},
		"an address is wrong": {`{"format":"email"}`, `"c4n4ry"`,
			"/x invalid_format Must be an e-mail address such as ann@example.com."},
		"a value is not on the list": {`{"enum":["a",1,null]}`, `"c4n4ry"`,
			"/x not_allowed_value Must be one of: a, 1, null."},
		"a value is not the only one": {`{"const":{"a":1}}`, `"c4n4ry"`,
			`/x not_allowed_value Must be {"a":1}.`},
		"a pattern is not matched": {`{"pattern":"^a$"}`, `"c4n4ry"`,
			"/x invalid_pattern Must match the pattern ^a$."},
		"a text is short": {`{"minLength":1}`, `""`, "/x too_short Must have at least 1 character."},
		"a text is long": {`{"maxLength":2}`, `"c4n4ry"`,
			"/x too_long Must have at most 2 characters."},
		"a list is short": {`{"minItems":2}`, `[]`, "/x too_few_items Must have at least 2 items."},
		"a list is long": {`{"maxItems":1}`, `[1,2]`,
			"/x too_many_items Must have at most 1 item."},
		"an object is small": {`{"minProperties":1}`, `{}`,
			"/x too_few_items Must have at least 1 member."},
		"an object is large": {`{"maxProperties":0}`, `{"a":1}`,
			"/x too_many_items Must have at most 0 members."},
		"a number is small": {`{"minimum":0.5}`, `0`, "/x out_of_range Must be at least 0.5."},
		"a number is large": {`{"maximum":1000000}`, `1000001`,
			"/x out_of_range Must be at most 1000000."},
		"a number is not above": {`{"exclusiveMinimum":1}`, `1`, "/x out_of_range Must be above 1."},
		"a number is not below": {`{"exclusiveMaximum":1}`, `1`, "/x out_of_range Must be below 1."},
		"neither null nor right": {`{"oneOf":[{"type":"null"},{"maxLength":2}]}`, `"c4n4ry"`,
			"/x too_long Must have at most 2 characters."},
		"nothing of what it may be": {`{"anyOf":[{"type":"number"},{"type":"object"}]}`, `"c4n4ry"`,
			"/x not_allowed_value Is none of what is allowed here."},
		"what must not be": {`{"not":{"type":"string"}}`, `"c4n4ry"`,
			"/x not_allowed_value Is not allowed here."},
		"several at once, by their pointers": {
			`{"properties":{"b":{"type":"null"},"a":{"allOf":[{"minimum":2},{"multipleOf":2}]}}}`, `{"b":1,"a":1}`,
			"/x/a not_allowed_value Is not allowed here.\n/x/a out_of_range Must be at least 2.\n/x/b wrong_type " +
				"Must be null."},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for _, f := range schema.Wrong("/x", broken(t, tt.schema, tt.value)) {
				lines = append(lines, f.Pointer+" "+f.Code+" "+f.Detail)
			}
			if got := strings.Join(lines, "\n"); got != tt.want || strings.Contains(got, canary) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// broken returns the validator's errors.
func broken(t *testing.T, text, value string) *jsonschema.ValidationError {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("https://atrium.invalid/test.json", doc))
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
	require.NoError(t, err)
	e, ok := errors.AsType[*jsonschema.ValidationError](c.MustCompile("https://atrium.invalid/test.json").Validate(v))
	if !ok {
		t.Fatal("nothing is wrong")
	}
	return e
}
