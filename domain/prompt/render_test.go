package prompt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func text(s string, variables ...prompt.Variable) prompt.Content {
	return prompt.Content{Text: s, Format: prompt.Mustache, Variables: variables}
}

func chat(messages ...prompt.Message) prompt.Content {
	return prompt.Content{Messages: messages, Format: prompt.Mustache}
}

// faults returns an error's code, and pointer and code of each of its fields.
func faults(t testing.TB, err error) []string {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("error = %v", err)
	}
	out := []string{f.Code}
	for _, field := range f.Fields {
		out = append(out, field.Pointer+" "+field.Code)
	}
	return out
}

func TestRenderPrints(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"a text as it is", `"<b> & \"x\" {{y}}"`, `<b> & "x" {{y}}`},
		{"an integer", `1`, `1`},
		{"an integer that is written as a fraction", `1.0`, `1`},
		{"a negative integer", `-3`, `-3`},
		{"a million without an exponent", `1000000`, `1000000`},
		{"a fraction", `0.25`, `0.25`},
		{"a tiny fraction as JSON does", `0.0000001`, `1e-7`},
		{"zero", `0`, `0`},
		{"a boolean", `true`, `true`},
		{"false too", `false`, `false`},
		{"an array as compact JSON", `[1, "<x>", null, true, [2.0]]`, `[1,"<x>",null,true,[2]]`},
		{"an object with sorted keys", `{"b": 1, "a": {"d": "&", "c": 2}}`, `{"a":{"c":2,"d":"&"},"b":1}`},
		{"an empty array", `[]`, `[]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			exact := json.NewDecoder(strings.NewReader(`{"x":` + tt.value + `}`))
			exact.UseNumber()
			var values map[string]any
			require.NoError(t, exact.Decode(&values))
			for mode, values := range map[string]map[string]any{"float64": decode(t, `{"x":`+tt.value+`}`),
				"json.Number": values} {
				if got := rendered(t, "{{x}}|{{{x}}}|{{&x}}", values); got != tt.want+"|"+tt.want+"|"+tt.want {
					t.Errorf("with %s: %q, want %q", mode, got, tt.want)
				}
			}
		})
	}
	t.Run("every digit of a large integer", func(t *testing.T) {
		values := map[string]any{"x": json.Number("12345678901234567890123"),
			"o": map[string]any{"x": json.Number("9007199254740993")}}
		assert.Equal(t, "rendered", rendered(t, "{{x}} {{o}}", values), `12345678901234567890123 {"x":9007199254740993}`)
	})
	t.Run("a number that no float64 holds", func(t *testing.T) {
		assert.Equal(t, "rendered", rendered(t, "{{x}}", map[string]any{"x": json.Number("1e999")}), "1e999")
	})
	t.Run("nothing that is no JSON", func(t *testing.T) {
		isCalled := false
		for _, v := range []any{func() string { isCalled = true; return "x" }, make(chan int),
			map[string]any{"f": func() {}}} {
			_, err := text("{{x}}").Render(map[string]any{"x": v}, prompt.Strict)
			var f *fault.Error
			if err == nil || errors.As(err, &f) {
				t.Errorf("%T gives %v", v, err)
			}
			if _, err := text("{{#x}}a{{y}}{{/x}}{{x.y}}").Render(map[string]any{"x": v}, prompt.Partial); err != nil {
				t.Errorf("%T in a section gives %v", v, err)
			}
		}
		if isCalled {
			t.Error("a function was called")
		}
	})
	t.Run("no method of a value", func(t *testing.T) {
		if got := rendered(t, "{{x.String}}{{#x}}{{Float64}}{{/x}}"+
			"{{^x.String}}{{/x.String}}{{^Float64}}{{/Float64}}", map[string]any{"x": json.Number("7")}); got != "" {
			t.Errorf("got %q", got)
		}
	})
}

func TestMissing(t *testing.T) {
	call := func(names ...string) (v []prompt.Variable) {
		for _, n := range names {
			v = append(v, prompt.Variable{Name: n, Type: "string", Required: true})
		}
		return v
	}
	optional := prompt.Variable{Name: "o", Type: "string"}
	filledVariable := prompt.Variable{Name: "d", Type: "number", Required: true, Default: json.RawMessage(`7`)}
	flag := prompt.Variable{Name: "flag", Type: "boolean", Required: true}
	list := prompt.Variable{Name: "list", Type: "array", Required: true}
	for _, tt := range []struct {
		name    string
		content prompt.Content
		values  string
		missing []string
		partial string // what mode partial gives
	}{
		{"nothing", text("{{a}} {{o}}{{d}}", append(call("a"), optional, filledVariable)...), `{"a":"A"}`, nil, "A 7"},
		{"all at once, in the order of their declaration", text("{{a}} {{b}} {{c}}", call("c", "b", "a")...),
			`{"b":"B"}`, []string{"c", "a"}, "{{a}} B {{c}}"},
		{"null is no value", text("{{a}}{{d}}", append(call("a"), filledVariable)...), `{"a":null,"d":null}`,
			[]string{"a"}, "{{a}}7"},
		{"an empty text is one", text("[{{a}}]", call("a")...), `{"a":""}`, nil, "[]"},
		{"false is one", text("{{#flag}}x{{/flag}}", flag), `{"flag":false}`, nil, ""},
		{"tags stay as they are written", text("{{ a }} {{{a}}} {{& a}} {{a.b}} {{!c}}.", call("a")...), `{}`,
			[]string{"a"}, "{{ a }} {{{a}}} {{& a}} {{a.b}} ."},
		{"a section stays whole", text("x\n  {{# flag }}  \n{{o}}{{d}}\n  {{/flag}}\ny{{^flag}} {{! c }}{{/flag}}",
			flag, optional, filledVariable), `{"d":1}`, []string{"flag"},
			"x\n  {{# flag }}  \n{{o}}{{d}}\n  {{/flag}}\ny{{^flag}} {{! c }}{{/flag}}"},
		{"within a section that has a value", text("{{#list}}{{n}}{{^n}}-{{/n}}{{a}};{{/list}}", append(call("a"), list)...),
			`{"list":[{"n":1},{"a":"own"}]}`, []string{"a"}, "1{{a}};-own;"},
		{"a name in an object", text("{{#list}}Dear {{nme}}{{/list}}", list), `{"list":[{"nme":1},{}]}`,
			[]string{"list/1/nme"}, "Dear 1Dear {{nme}}"},
		{"members of members", inferred(t, "{{#a.b}}{{#c}}{{d}}{{e.f}} {{.}}{{/c}}{{/a.b}}"),
			`{"a":{"b":{"c":{"d":null,"e":{}}}}}`, []string{"a/b/c/e/f"}, `{{e.f}} {"d":null,"e":{}}`},
		{"a member of a variable", inferred(t, "{{user.name}}"), `{"user":{}}`, []string{"user/name"}, "{{user.name}}"},
		{"a member of what is no object", inferred(t, "{{user.name}}"), `{"user":"x"}`, []string{"user/name"},
			"{{user.name}}"},
		{"a name in a section that is rendered", inferred(t, "{{#on}}{{a}}{{a}}{{/on}}"), `{"on":true}`, []string{"a"},
			"{{a}}{{a}}"},
		{"not one in a section that is not", inferred(t, "{{#on}}{{a}}{{/on}}{{^off}}{{b}}{{/off}}"),
			`{"on":false,"off":true}`, nil, ""},
		{"not a section over a member", inferred(t, "{{#u.vip}}!{{u.vip}}{{/u.vip}}{{^u.n}}-{{/u.n}}{{u.n}}"), `{"u":{}}`,
			nil, "-"},
		{"items of items", inferred(t, "{{#a}}{{#.}}{{n}}{{/.}}{{/a}}"), `{"a":[[{"n":1}],[{"n":2},{}]]}`,
			[]string{"a/1/1/n"}, "12{{n}}"},
		{"not a member of an optional variable that is absent", text("[{{u.n}}]", prompt.Variable{Name: "u",
			Type: "object"}), `{}`, nil, "[]"},
		{"null is a value of type any", inferred(t, "[{{a}}{{b.c}}]"), `{"a":null,"b":{"c":null}}`, nil, "[]"},
		{"between other delimiters", inferred(t, "{{=| |=}}|a| {{b}}"), `{}`, []string{"a"}, "|a| {{b}}"},
		{"one that is declared and not used", text("x", call("a")...), `{}`, []string{"a"}, "x"},
		{"one with a dot in its name",
			text("{{u.n}} {{u.m}}", append(call("u.n"), prompt.Variable{Name: "u", Type: "object"})...),
			`{"u":{"n":"no","m":"M"}}`, []string{"u.n"}, "{{u.n}} M"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			values := decode(t, tt.values)
			out, err := tt.content.Render(values, prompt.Strict)
			if tt.missing == nil {
				if err != nil || out.Text != tt.partial || len(out.Missing) > 0 {
					t.Errorf("strict gives %+v, %v", out, err)
				}
			} else {
				want := []string{"missing_variables"}
				for _, name := range tt.missing {
					want = append(want, "/variables/"+name+" required")
				}
				assert.EqualSlice(t, "strict gives", faults(t, err), want)
				if diff := cmp.Diff(prompt.Rendered{}, out); diff != "" {
					t.Error(diff)
				}
			}
			out, err = tt.content.Render(values, prompt.Partial)
			var missing []string
			for _, path := range tt.missing {
				missing = append(missing, strings.ReplaceAll(path, "/", "."))
			}
			if err != nil || out.Text != tt.partial || !slices.Equal(out.Missing, missing) {
				t.Errorf("partial gives %+v, %v; want %q", out, err, tt.partial)
			}
		})
	}
	t.Run("what mode partial leaves can be rendered later", func(t *testing.T) {
		c := text("{{a}}\n{{#flag}}\n {{b}}\n{{/flag}}\n{{b}}.", append(call("a", "b"), flag)...)
		first, err := c.Render(map[string]any{"a": "A"}, prompt.Partial)
		require.NoError(t, err)
		rest := map[string]any{"b": "B", "flag": true}
		assert.Equal(t, "rendered", rendered(t, first.Text, rest), "A\n B\nB.")
	})
	t.Run("at most a hundred paths are named", func(t *testing.T) {
		items := slices.Repeat([]any{map[string]any{}}, 5000)
		_, err := inferred(t, "{{#l}}{{n}}{{/l}}").Render(map[string]any{"l": items}, prompt.Strict)
		if got := faults(t, err); len(got) != 101 || got[100] != "/variables/l/99/n required" {
			t.Errorf("%d faults, the last %q", len(got), got[len(got)-1])
		}
	})
	t.Run("no mode is strict", func(t *testing.T) {
		if _, err := text("{{a}}", call("a")...).Render(nil, ""); !errors.Is(err, prompt.ErrMissingVariables) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestInvalidVariables(t *testing.T) {
	const canary = "s3cr3t-canary"
	c := text("{{s}}", prompt.Variable{Name: "s", Type: "string", Sensitive: true, Enum: []any{"x", "y"}},
		prompt.Variable{Name: "n", Type: "number", Enum: []any{1.0, json.Number("2")}},
		prompt.Variable{Name: "b", Type: "boolean"}, prompt.Variable{Name: "l", Type: "array"},
		prompt.Variable{Name: "o", Type: "object"}, prompt.Variable{Name: "r", Type: "string", Required: true})
	for _, tt := range []struct {
		name, values string
		want         []string
	}{
		{"each of another type", `{"r":1,"s":{},"n":"1","b":"true","l":{},"o":[]}`,
			[]string{"/variables/s wrong_type", "/variables/n wrong_type", "/variables/b wrong_type",
				"/variables/l wrong_type", "/variables/o wrong_type", "/variables/r wrong_type"}},
		{"not one of those allowed", `{"r":"","s":"` + canary + `","n":3}`,
			[]string{"/variables/s not_allowed_value", "/variables/n not_allowed_value"}},
		{"what is missing is said along with it", `{"n":3}`,
			[]string{"/variables/n not_allowed_value", "/variables/r required"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.Render(decode(t, tt.values), prompt.Strict)
			assert.EqualSlice(t, "faults", faults(t, err), append([]string{"invalid_variables"}, tt.want...))
			if s := fmt.Sprintf("%+v", err); strings.Contains(s, canary) {
				t.Errorf("a value in an error: %s", s)
			}
		})
	}
	t.Run("a number that is written too long, wherever it stands", func(t *testing.T) {
		long := json.Number("1." + strings.Repeat("0", 63))
		values := map[string]any{"r": "", "n": long, "l": []any{map[string]any{"x": long}}, "none": long,
			"o": map[string]any{"x": long[:64]}}
		_, err := c.Render(values, prompt.Strict)
		got := faults(t, err)
		slices.Sort(got)
		if want := []string{"/variables/l too_long", "/variables/n too_long", "/variables/none too_long",
			"invalid_variables"}; !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	})
	t.Run("in mode partial what is missing is no fault", func(t *testing.T) {
		_, err := c.Render(decode(t, `{"n":3}`), prompt.Partial)
		assert.EqualSlice(t, "faults", faults(t, err), []string{"invalid_variables", "/variables/n not_allowed_value"})
	})
	t.Run("all that fits is taken", func(t *testing.T) {
		for _, n := range []any{1.0, json.Number("1.0"), json.Number("2"), 2.0} {
			values := map[string]any{"s": "y", "n": n, "b": false, "l": []any{}, "o": map[string]any{}, "r": "x"}
			if out, err := c.Render(values, prompt.Strict); err != nil || out.Text != "y" {
				t.Errorf("%v: %+v, %v", n, out, err)
			}
		}
	})
}

func TestUnused(t *testing.T) {
	for _, tt := range []struct {
		name    string
		content prompt.Content
		values  string
		want    []string
	}{
		{"none", text("{{a}} {{b.c}} {{#l}}{{m}}{{/l}}"), `{"a":1,"b":{"c":1},"l":[],"m":2}`, nil},
		{"those that no tag names, sorted", text("{{a}}"), `{"z":1,"a":1,"b":null,"":2,".":3}`,
			[]string{"", ".", "b", "z"}},
		{"one that is declared", text("x", prompt.Variable{Name: "a", Type: "string"}), `{"a":"A"}`, []string{"a"}},
		{"one that only a comment names", text("{{! a }}"), `{"a":"A"}`, []string{"a"}},
		{"a dotted name that is not declared", text("{{a.b}}"), `{"a.b":1,"a":{"b":2}}`, []string{"a.b"}},
		{"not one in a section that stays away", text("{{#no}}{{a}}{{/no}}"), `{"a":"A"}`, nil},
		{"not what a placeholder takes",
			chat(prompt.Message{Placeholder: "h"}, prompt.Message{Role: "user", Content: "x"}),
			`{"h":[],"g":[],"":[1]}`, []string{"", "g"}},
		{"all of a verbatim text", prompt.Content{Text: "{{a}}", Format: prompt.Verbatim}, `{"a":"A"}`, []string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := tt.content.Render(decode(t, tt.values), prompt.Strict)
			if err != nil || !slices.Equal(out.Unused, tt.want) {
				t.Errorf("unused = %q, error = %v; want %q", out.Unused, err, tt.want)
			}
		})
	}
}

func TestVariablesWithDots(t *testing.T) {
	c := text("{{u.n}} {{u.m}} {{#u}}{{n}}{{/u}} {{u.n.x}}{{^u.n.x}}{{/u.n.x}}",
		prompt.Variable{Name: "u", Type: "object"}, prompt.Variable{Name: "u.n", Type: "string"})
	out, err := c.Render(decode(t, `{"u":{"n":"inner","m":"M"},"u.n":"whole"}`), prompt.Strict)
	if err != nil || out.Text != "whole M inner " {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestRenderChat(t *testing.T) {
	user := func(s string) prompt.Message { return prompt.Message{Role: "user", Content: s} }
	c := chat(prompt.Message{Role: "system", Content: "You are {{role}}."}, prompt.Message{Placeholder: "history"},
		prompt.Message{Placeholder: "must", Required: true}, user("{{q}}"))
	c.Variables = []prompt.Variable{{Name: "role", Type: "string"}, {Name: "q", Type: "string"}}
	for _, tt := range []struct {
		name, values string
		mode         prompt.Mode
		want         []string
		missing      []string
		faults       []string
	}{
		{"placeholders expand in place",
			`{"role":"<R>","q":"{{role}}","history":[{"role":"user","content":"{{q}}"},{"role":"assistant","content":"b"}],"must":[{"role":"tool","content":"c"}]}`, prompt.Strict,
			[]string{`{"role":"system","content":"You are <R>."}`, `{"content":"{{q}}","role":"user"}`,
				`{"content":"b","role":"assistant"}`, `{"content":"c","role":"tool"}`,
				`{"role":"user","content":"{{role}}"}`}, nil, nil},
		{"an optional one is nothing", `{"must":[]}`, prompt.Strict,
			[]string{`{"role":"system","content":"You are ."}`, `{"role":"user","content":""}`}, nil, nil},
		{"a required one is missing", `{}`, prompt.Strict, nil, nil,
			[]string{"missing_variables", "/variables/must required"}},
		{"a required one stays", `{"history":[]}`, prompt.Partial,
			[]string{`{"role":"system","content":"You are ."}`, `{"placeholder":"must","required":true}`,
				`{"role":"user","content":""}`},
			[]string{"must"}, nil},
		{"messages that are none", `{"must":{},"history":[1,{},{"role":null},{"role":["bot"]},"x",null]}`,
			prompt.Strict, nil, nil,
			[]string{"invalid_variables", "/variables/must wrong_type", "/variables/history/0 wrong_type",
				"/variables/history/2/role wrong_type", "/variables/history/3/role wrong_type",
				"/variables/history/4 wrong_type", "/variables/history/5 wrong_type"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := c.Render(decode(t, tt.values), tt.mode)
			if tt.faults != nil {
				want, got := slices.Clone(tt.faults), faults(t, err)
				slices.Sort(want[1:])
				slices.Sort(got[1:])
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				return
			}
			if diff := cmp.Diff(tt.want, jsonOf(t, out.Messages)); err != nil || diff != "" ||
				!slices.Equal(out.Missing, tt.missing) || out.Text != "" {
				t.Errorf("%v %+v\n%s", err, out, diff)
			}
		})
	}
	t.Run("a verbatim chat has placeholders too", func(t *testing.T) {
		v := prompt.Content{Messages: []prompt.Message{user("{{> q}}"), {Placeholder: "h"}}, Format: prompt.Verbatim}
		out, err := v.Render(decode(t, `{"h":[{"role":"user","content":"x"}]}`), prompt.Strict)
		want := []string{`{"role":"user","content":"{{> q}}"}`, `{"content":"x","role":"user"}`}
		if diff := cmp.Diff(want, jsonOf(t, out.Messages)); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})
	t.Run("a declaration can require what a placeholder does not", func(t *testing.T) {
		v := chat(prompt.Message{Placeholder: "h"})
		v.Variables = []prompt.Variable{{Name: "h", Type: "array", Required: true}}
		if _, err := v.Render(nil, prompt.Strict); !errors.Is(err, prompt.ErrMissingVariables) {
			t.Errorf("error = %v", err)
		}
		v.Variables[0].Default = json.RawMessage(`[{"role":"user","content":"x"}]`)
		if out, err := v.Render(nil, prompt.Strict); err != nil || len(out.Messages) != 1 ||
			string(out.Messages[0].Inserted) != `{"role":"user","content":"x"}` {
			t.Errorf("with a default: %+v, %v", out, err)
		}
	})
	t.Run("the version itself stays as it is", func(t *testing.T) {
		previous := c.Hash()
		if _, err := c.Render(decode(t, `{"must":[],"role":"R"}`), prompt.Strict); err != nil || c.Hash() != previous {
			t.Error("changed by a render")
		}
	})
}
