package prompts

import "testing"

func TestWithoutKey(t *testing.T) {
	for body, want := range map[string][2]string{
		`{"a": 1, "key": "k", "b": 2}`: {"k", `{"a": 1, "key", "b": 2}`},
		`{"key":"\u006b"}`:             {"k", `{"key"}`},
		`{"variables":{"key":"k"}}`:    {"", ""},
		`{"key":"k","key":"l"}`:        {"", ""},
		`{"key":7}`:                    {"", ""},
		`["key"]`:                      {"", ""},
		`{"key":`:                      {"", ""},
	} {
		if key, rest := withoutKey([]byte(body)); key != want[0] || (key != "" && rest != want[1]) {
			t.Errorf("%s: key %q of %s", body, key, rest)
		}
	}
}
