package convert

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
)

// PatchJSON returns mergePatch with a PATCH's value, for the domain to call; nil if the value is absent.
func PatchJSON(in nullable.Nullable[json.RawMessage]) func(json.RawMessage) json.RawMessage {
	patch := OrZero(in)
	if patch == nil {
		return nil
	}
	return func(old json.RawMessage) json.RawMessage { return mergePatch(old, *patch) }
}

// mergePatch applies a JSON Merge Patch (RFC 7396) to old, which is JSON with any members, and returns the
// result. Nil, like null, means no value; numbers keep every digit. A patch that changes nothing returns
// old byte for byte; any other re-encodes it. A patch that is not an object replaces old, even if it is not
// JSON: the domain decides what is valid.
func mergePatch(old, patch json.RawMessage) json.RawMessage {
	change, ok := decodeAny(patch).(map[string]any)
	if !ok {
		if string(bytes.TrimSpace(patch)) == "null" {
			return nil
		}
		return patch
	}
	original, _ := decodeAny(old).(map[string]any)
	result := mergeMembers(original, change)
	if original != nil && reflect.DeepEqual(original, result) {
		return old
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(result); err != nil { // what was decoded always encodes
		panic(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// mergeMembers returns the members of an object after patch: those that are null in it are gone,
// objects are merged, anything else is replaced. It is never nil, and old stays as it is.
func mergeMembers(old, patch map[string]any) map[string]any {
	out := make(map[string]any, len(old)+len(patch))
	for k, v := range old {
		out[k] = v
	}
	for k, v := range patch {
		if v == nil {
			delete(out, k)
			continue
		}
		if inner, ok := v.(map[string]any); ok {
			child, _ := out[k].(map[string]any)
			v = mergeMembers(child, inner)
		}
		out[k] = v
	}
	return out
}

// decodeAny returns nil if text is not JSON.
func decodeAny(text json.RawMessage) (v any) {
	if !json.Valid(text) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}
