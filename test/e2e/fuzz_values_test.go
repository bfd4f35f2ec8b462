package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
)

// jsonValue is a JSON value in its written form, so that it can be one that no encoder writes: an object with duplicate
// names, an invalid number, a truncated string.
type jsonValue struct {
	written string // of all but objects and arrays
	open    byte   // { or [ of these
	names   []string
	inner   []*jsonValue
}

// scalar is a value that is written as encoding/json does.
func scalar(v any) *jsonValue {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return &jsonValue{written: string(text)}
}

func asWritten(text string) *jsonValue { return &jsonValue{written: text} }

func (v *jsonValue) add(name string, inner *jsonValue) {
	quote, _ := json.Marshal(name)
	v.names, v.inner = append(v.names, string(quote)), append(v.inner, inner)
}

func (v *jsonValue) String() string {
	var out strings.Builder
	v.write(&out)
	return out.String()
}

func (v *jsonValue) write(out *strings.Builder) {
	if v.open == 0 {
		out.WriteString(v.written)
		return
	}
	out.WriteByte(v.open)
	for i, inner := range v.inner {
		if i > 0 {
			out.WriteByte(',')
		}
		if v.open == '{' {
			out.WriteString(v.names[i] + ":")
		}
		inner.write(out)
	}
	out.WriteByte(v.open + 2) // ] and } are two after what they close
}

// all are v and everything within it.
func (v *jsonValue) all() []*jsonValue {
	list := []*jsonValue{v}
	for _, inner := range v.inner {
		list = append(list, inner.all()...)
	}
	return list
}

// oddities are values that hardly any schema accepts, and some that are not JSON.
var oddities = []string{
	`null`, `true`, `0`, `-1`, `1.5`, `-0`, `1e400`, `-1E+308`, `1e-400`, `2147483648`, `9223372036854775807`,
	`9223372036854775808`, `18446744073709551616`,
	strings.Repeat("9", 65), strings.Repeat("9", 5000), `0.` + strings.Repeat("3", 400), `NaN`, `-Infinity`, `+1`, `01`,
	`1.`, `.5`, `0x10`, `1_000`,
	`""`, `" "`, `"a\u0000b"`, "\"\x00\"", `"\ud800"`, `"\udc00\ud800"`, "\"\xff\xfe\"", "\"\xed\xa0\x80\"",
	"\"\xc0\xaf\"", `"\u202e\u200d\ufeff"`, `"é́́́"`, `"👩‍👩‍👧‍👦"`, `'x'`, `"\x"`, `"tab	inside"`,
	`"../../etc/passwd"`, `"%00%2f"`, `"' OR 1=1 --"`, `"{{#a}}"`, `"{{> x}}"`, `"<script>"`, `"javascript:alert(1)"`,
	`"file:///etc/passwd"`, `"https://127.0.0.1:1/a.csv"`, `"http://[::1]:0/"`,
	`"9999-12-31T23:59:59Z"`, `"0000-01-01T00:00:00Z"`, `"2026-02-30T00:00:00Z"`, `"2026-01-01T00:00:00+99:99"`,
	`"292277026597-01-01T00:00:00Z"`, `"-1"`,
	`{}`, `[]`, `[null]`, `{"":{}}`, `{"__proto__":{"a":1}}`, `{"a":1,"a":2}`, `{"a\u0000":1}`, `[[[[[[]]]]]]`,
	`"` + strings.Repeat("x", 300) + `"`, `"` + strings.Repeat("é", 3000) + `"`,
	`"` + strings.Repeat("x", 70_000) + `"`,
	strings.Repeat("[", 40) + strings.Repeat("]", 40), strings.Repeat("[", 20_000), strings.Repeat(`{"a":`, 5000) +
		"1" + strings.Repeat("}", 5000),
	`undefined`, ``, `{`, `]`, `"`, `/**/1`,
}

// damage changes one thing about a value, in place.
func damage(rnd *rand.Rand, full *jsonValue) {
	all := full.all()
	v := all[rnd.IntN(len(all))]
	if v == full && rnd.IntN(4) > 0 && len(all) > 1 { // else most bodies would be refused for what they are as a whole
		v = all[1+rnd.IntN(len(all)-1)]
	}
	odd := func() *jsonValue { return asWritten(oddities[rnd.IntN(len(oddities))]) }
	if v.open == 0 || rnd.IntN(3) == 0 {
		*v = *odd()
		return
	}
	n := len(v.inner)
	switch kind := rnd.IntN(6); {
	case kind == 0 && n > 0: // leave one out
		i := rnd.IntN(n)
		v.inner = append(v.inner[:i:i], v.inner[i+1:]...)
		if v.open == '{' {
			v.names = append(v.names[:i:i], v.names[i+1:]...)
		}
	case kind == 1 && n > 0: // duplicate a member or an element
		i := rnd.IntN(n)
		v.inner = append(v.inner, v.inner[i])
		if v.open == '{' {
			v.names = append(v.names, v.names[i])
		}
	case kind == 2 && n > 0 && v.open == '[': // and another very often
		for first := v.inner[0]; len(v.inner) < 250; {
			v.inner = append(v.inner, first)
		}
	case kind == 3 && n > 1: // two change places
		i, j := rnd.IntN(n), rnd.IntN(n)
		v.inner[i], v.inner[j] = v.inner[j], v.inner[i]
	case v.open == '{': // one that nobody knows
		v.add([]string{"unknown", "", "id", "owner_id", "__proto__", "a\x00b", "org_id", "revision", "role",
			strings.Repeat("n", 200)}[rnd.IntN(10)], odd())
	default:
		v.inner = append(v.inner, odd())
	}
}

// scramble damages a text at random.
func scramble(rnd *rand.Rand, text string) string {
	if text == "" {
		return "\ufeff"
	}
	index := rnd.IntN(len(text))
	switch rnd.IntN(6) {
	case 0:
		return text[:index]
	case 1:
		return text + []string{"{}", "\x00", ",", "]", text, " \n"}[rnd.IntN(6)]
	case 2:
		return "\ufeff" + text
	case 3:
		return text[:index] + string(rune(rnd.IntN(256))) + text[index:]
	case 4:
		return text[:index] + string([]byte{byte(rnd.IntN(256))}) + text[index+1:]
	default:
		return text[index:] + text[:index]
	}
}
