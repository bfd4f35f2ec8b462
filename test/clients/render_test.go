package clients

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/test/support/histories"
	"github.com/atrium-hq/atrium/test/support/require"
)

// renderCase is one prompt with its values. The server says what the result is.
type renderCase struct {
	Name    string `json:"name"`
	Version object `json:"version"` // as promptTemplates.versions.create wants it
	Values  object `json:"values"`
	Mode    string `json:"mode"`
}

// TestClientsRenderAsTheServerDoes renders every case on the server and with each client, and compares every byte. The
// version comes from the server each time, with the variables that it inferred.
func TestClientsRenderAsTheServerDoes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/render.json")
	require.NoError(t, err)
	var cases []renderCase
	require.NoError(t, json.Unmarshal(text, &cases))
	w := newWorld(t, sqlite)
	drivers := map[string]driver{}
	for name, start := range languages {
		drivers[name] = start(t)
	}
	s := w.connect(t, drivers["Go"])
	ids := map[bool]string{false: s.must(t, create(newName())).at(t, "id"), true: s.must(t, command{
		Name: "promptTemplates.create", HasBody: true, Body: object{"name": newName(), "type": "chat"}}).at(t, "id")}
	for _, tt := range cases {
		id := ids[tt.Version["messages"] != nil]
		version := s.must(t, command{Name: "promptTemplates.versions.create", Args: []string{id}, HasBody: true,
			Body: tt.Version})
		body := object{"ref": version.at(t, "id"), "variables": tt.Values}
		if tt.Mode != "" {
			body["mode"] = tt.Mode
		}
		want := s.call(t, command{Name: "promptTemplates.render", Args: []string{id}, HasBody: true, Body: body})
		for language, d := range drivers {
			got := d.do(t, command{Do: "render", Version: version.Value.(object), Values: tt.Values, Mode: tt.Mode},
				nil)
			if want.Error != nil {
				if got.Error == nil || got.Error.Kind != "render" || got.Error.Code != want.Error.Code {
					t.Errorf("%s in %s: %+v, and on the server %s", tt.Name, language, got.Error, want.Error.Text)
				}
				continue
			}
			if got.Error != nil {
				t.Errorf("%s in %s failed: %s", tt.Name, language, got.Error.Text)
				continue
			}
			for _, member := range []string{"text", "messages", "missing", "unused"} {
				g, w := rendering(t, got, member), rendering(t, want, member)
				if g != w {
					t.Errorf("%s in %s: %s is %s, and on the server %s", tt.Name, language, member, g, w)
				}
			}
		}
	}
	if len(cases) < 60 {
		t.Errorf("only %d cases", len(cases))
	}
}

func TestWhatClientsInsertForAPlaceholderComesOutByteEqual(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, d driver) {
		rapid.Check(t, func(draw *rapid.T) {
			list := "[" + strings.Join(histories.Draw(draw), ",") + "]"
			if r := d.do(t, command{Do: "inserted", Text: list}, nil); r.Error != nil || r.Value != true {
				draw.Fatalf("%s is not what is rendered: %+v", list, r.Error)
			}
		})
	})
}

// rendering returns a member of a rendered prompt as JSON. No text is an empty one.
func rendering(t *testing.T, r result, member string) string {
	t.Helper()
	value := r.Value.(object)[member]
	if value == nil && member == "text" {
		value = ""
	}
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
