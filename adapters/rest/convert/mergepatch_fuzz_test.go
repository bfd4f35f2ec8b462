package convert

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzMergePatch compares mergePatch with RFC 7396's own words (section 2), which know no raw text: numbers
// stay as they are written in both.
func FuzzMergePatch(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":"b"}`, `{"a":"c"}`}, {`{"a":{"b":"c"}}`, `{"a":{"b":null}}`}, {`[1]`, `{"a":{"b":null}}`}, {``, `{}`},
		{`{"a":1.50}`, `{"a":1.5}`}, {`{}`, `null`}, {`{"a":null}`, `{"b":{"c":null}}`}, {`{"a":1,"a":2}`, `{"a":{}}`},
		{`{"n":12345678901234567890}`, `{"m":1e400}`}, {`x`, `{"`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, old, patch []byte) {
		previous := bytes.Clone(old)
		got := mergePatch(old, patch)
		if !bytes.Equal(previous, old) {
			t.Errorf("the old value became %q", old)
		}
		change := decodeAny(patch)
		if change == nil {
			return // null, or no JSON at all, which the contract refuses before
		}
		want := rfc7396(decodeAny(old), change)
		if mergedValue := decodeAny(got); !reflect.DeepEqual(mergedValue, want) {
			t.Errorf("%q after %q is %q, want %v", old, patch, got, want)
		}
		if second := mergePatch(got, patch); json.Valid(got) && !reflect.DeepEqual(decodeAny(second), want) {
			t.Errorf("%q after %q twice is %q", old, patch, second)
		}
	})
}

// rfc7396 is MergePatch of the RFC.
func rfc7396(target, patch any) any {
	members, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if t, ok := target.(map[string]any); ok {
		for name, value := range t {
			out[name] = value
		}
	}
	for name, value := range members {
		if value == nil {
			delete(out, name)
		} else {
			out[name] = rfc7396(out[name], value)
		}
	}
	return out
}
