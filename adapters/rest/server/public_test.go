package server

import "testing"

func TestTextInBackticksIsShownAsCode(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                    "plain",
		"`limit` takes <b>":        "<code>limit</code> takes &lt;b&gt;",
		"a `<i>` and `b`":          "a <code>&lt;i&gt;</code> and <code>b</code>",
		"an open ` without an end": "an open <code> without an end</code>",
	} {
		if got := renderCode(in); string(got) != want {
			t.Errorf("code(%q) = %q, want %q", in, got, want)
		}
	}
}
