package prompts

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// withoutEach calls use with copies of v, each without one of its fields.
func withoutEach[T any](v T, use func(T)) {
	for i := range reflect.TypeFor[T]().NumField() {
		without := v
		reflect.ValueOf(&without).Elem().Field(i).SetZero()
		use(without)
	}
}

func TestAVersionIsEncodedAsTheContractsTypeIs(t *testing.T) {
	for _, kind := range []prompt.Type{prompt.Text, prompt.Chat} {
		of := &prompt.Reading{Type: kind, ActiveVersion: "pver_1"}
		same := func(v prompt.Version) {
			t.Helper()
			var want bytes.Buffer
			if err := server.Encode(&want, toVersion(of, &v)); err != nil {
				t.Fatal(err)
			}
			if got, err := versionBody(of, &v); err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%v\n%s\n%s", err, got, want.Bytes())
			}
		}
		for _, text := range []string{"", "Tea", "<b>&\u2028\"\\/\n\t\x00\x7f", "é🍵", "pver_1"} {
			var v prompt.Version
			fixture.Fill(t, reflect.ValueOf(&v).Elem(), text)
			same(v)
			withoutEach(v, same)
			with := func(c prompt.Content) {
				v := v
				v.Content = c
				same(v)
			}
			withoutEach(v.VersionInfo, func(info prompt.VersionInfo) {
				v := v
				v.VersionInfo = info
				same(v)
			})
			withoutEach(v.Content, with)
			c := v.Content
			for _, m := range []prompt.ModelConfig{*c.Model, {Provider: text, MaxTokens: new(0), TopP: new(0.7)}} {
				withoutEach(m, func(m prompt.ModelConfig) {
					c.Model = &m
					with(c)
				})
			}
			for _, f := range []float64{0, 1, -1, 1e-7, 0.000001, 1e20, 1e21, 1.0 / 3} {
				c.Model = &prompt.ModelConfig{Temperature: &f, TopP: &f}
				with(c)
			}
			for _, variable := range []prompt.Variable{c.Variables[0], {Name: text, Description: text, Type: "any"}} {
				withoutEach(variable, func(variable prompt.Variable) {
					c.Variables = []prompt.Variable{variable, {Name: "b"}}
					with(c)
				})
			}
			for _, m := range []prompt.Message{c.Messages[0], {Role: "user", Content: text}} {
				withoutEach(m, func(m prompt.Message) {
					c.Messages = []prompt.Message{m, {Role: "user", Content: "b"}}
					with(c)
				})
			}
		}
	}
}

func TestAVersionWhoseJSONIsDamagedIsAnError(t *testing.T) {
	v := &prompt.Version{}
	v.Content.Tools = []byte("[")
	if body, err := versionBody(&prompt.Reading{}, v); err == nil {
		t.Errorf("%s", body)
	}
}
