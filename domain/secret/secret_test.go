package secret_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const text = "hunter2-correct-horse"

// exposed reports whether s holds the text, plain or as %x would print it.
func exposed(s string) bool {
	return strings.Contains(s, text) || strings.Contains(strings.ToLower(s), fmt.Sprintf("%x", text))
}

func TestNothingShowsASecret(t *testing.T) {
	type holder struct {
		Name   string
		Secret secret.String
	}
	s := secret.New(text)
	holding := holder{"n", s}

	views := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%t", "%f", "%c", "%U", "%o",
		"%b", "%e", "%10s", "%.3s", "%-5v"} {
		views[verb+" of it"] = fmt.Sprintf(verb, s)
		views[verb+" of a pointer to it"] = fmt.Sprintf(verb, &s)
		views[verb+" of a struct with it"] = fmt.Sprintf(verb, holding)
		views[verb+" of a pointer to a struct with it"] = fmt.Sprintf(verb, &holding)
		views[verb+" of a slice with it"] = fmt.Sprintf(verb, []secret.String{s})
		views[verb+" of a map with it"] = fmt.Sprintf(verb, map[string]secret.String{"k": s})
	}
	views["print"] = fmt.Sprint(s)
	views["String"] = s.String()
	views["GoString"] = s.GoString()
	views["a wrapping error"] = fmt.Errorf("with %v: %w", s,
		errors.Join(fmt.Errorf("in %+v", holding), errors.New("cause"))).Error()

	for name, value := range map[string]any{"it": s, "a pointer to it": &s, "a struct with it": holding,
		"a pointer to a struct with it": &holding, "a map with it": map[string]any{"k": s}} {
		encode := func(kind string, marshal func(any) ([]byte, error)) {
			b, err := marshal(value)
			if err != nil {
				t.Errorf("%s of %s: %v", kind, name, err)
			}
			views[kind+" of "+name] = string(b)
		}
		encode("JSON", json.Marshal)
		encode("YAML", yaml.Marshal)
		var asJSON, asText bytes.Buffer
		slog.New(slog.NewJSONHandler(&asJSON, nil)).Info("m", "k", value, slog.Group("g", "k", value))
		slog.New(slog.NewTextHandler(&asText, nil)).Info("m", "k", value, slog.Group("g", "k", value))
		views["slog's JSON of "+name], views["slog's text of "+name] = asJSON.String(), asText.String()
	}
	asKey, err := json.Marshal(struct{ S []secret.String }{[]secret.String{s}})
	assert.NoError(t, err)
	views["JSON of a slice"] = string(asKey)

	for name, got := range views {
		if exposed(got) {
			t.Errorf("%s shows it: %s", name, got)
		}
		if !strings.Contains(got, "[redacted]") {
			t.Errorf("%s = %q, which does not say [redacted]", name, got)
		}
	}
}

// fmt calls no methods on unexported fields, so the placeholder is not possible there.
func TestAnUnexportedFieldShowsNothing(t *testing.T) {
	holding := struct{ s secret.String }{secret.New(text)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, got := range []string{fmt.Sprintf(verb, holding), fmt.Sprintf(verb, &holding)} {
			if exposed(got) {
				t.Errorf("%s shows it: %s", verb, got)
			}
		}
	}
}

func TestString(t *testing.T) {
	t.Run("Reveal gives the text away", func(t *testing.T) {
		require.Equal(t, "Reveal", secret.New(text).Reveal(), text)
	})

	t.Run("the zero String is no secret, as an empty text is none", func(t *testing.T) {
		for _, s := range []secret.String{{}, secret.New("")} {
			if !s.IsZero() || s.Reveal() != "" {
				t.Errorf("IsZero = %v, Reveal = %q", s.IsZero(), s.Reveal())
			}
		}
		if secret.New(text).IsZero() {
			t.Error("a secret is zero")
		}
	})

	t.Run("nor does printing tell whether there is one", func(t *testing.T) {
		if fmt.Sprint(secret.String{}) != fmt.Sprint(secret.New(text)) {
			t.Error("it does")
		}
	})

	for name, decode := range map[string]func(any) error{
		"JSON": func(target any) error { return json.Unmarshal([]byte(`{"secret":"`+text+`"}`), target) },
		"YAML": func(target any) error { return yaml.Unmarshal([]byte("secret: "+text), target) },
	} {
		t.Run(name+" is read into it", func(t *testing.T) {
			var target struct{ Secret secret.String }
			if err := decode(&target); err != nil || target.Secret.Reveal() != text {
				t.Fatalf("Reveal = %q, %v", target.Secret.Reveal(), err)
			}
		})
	}

	t.Run("what cannot be read into it is not quoted", func(t *testing.T) {
		var target struct{ Secret secret.String }
		for name, err := range map[string]error{
			"a JSON object": json.Unmarshal([]byte(`{"secret":{"`+text+`":1}}`), &target),
			"a JSON array":  json.Unmarshal([]byte(`{"secret":["`+text+`"]}`), &target),
			"a YAML list":   yaml.Unmarshal([]byte("secret: ["+text+"]"), &target),
		} {
			if err == nil || exposed(err.Error()) {
				t.Errorf("%s: error = %v", name, err)
			}
		}
	})
}
