package server

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestItemsOfListsAreEncodedAsByVersion1(t *testing.T) {
	for _, item := range []any{
		new(openapi.PromptTemplate), new(openapi.ChatTemplate), new(openapi.Event), new(openapi.ProbeCheck),
		new(openapi.Connection),
	} {
		t.Run(strings.TrimPrefix(reflect.TypeOf(item).String(), "*openapi."), func(t *testing.T) {
			for _, text := range []string{"", "Tea", "<b>&\u2028\"\\/\n\t\x00\x7f", "é🍵"} {
				fixture.Fill(t, reflect.ValueOf(item).Elem(), text)
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
	require.NoError(t, Encode(&got, v))
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(v))
	unescapedReplacer := strings.NewReplacer(`\u003c`, `<`, `\u003e`, `>`, `\u0026`, `&`)
	if d := cmp.Diff(unescapedReplacer.Replace(want.String()), unescapedReplacer.Replace(got.String())); d != "" {
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
		require.NoError(t, Encode(&out, page))
	}); n > 40 {
		t.Errorf("%v allocations for 20 items", n)
	}
}
