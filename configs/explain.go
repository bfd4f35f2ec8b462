package configs

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/secret"
)

// Setting is one effective value of the configuration.
type Setting struct {
	Key   string `json:"key"`   // dotted: orgs[0].hosts
	Value any    `json:"value"` // as the file would hold it; a secret is redacted
	From  string `json:"from"`  // a line of the file, a variable, a flag, or default
}

// Default is the From of values that no source sets, those that follow from other settings included.
const Default = "default"

// Explain returns every setting that Load would use, in the order of Config, and where each comes from. It returns the
// same error as Load.
func Explain(s Source) ([]Setting, error) {
	c, found := mustLoad(s)
	if err := found.err(); err != nil {
		return nil, err
	}
	var all []Setting
	var walk func(key string, v reflect.Value)
	walk = func(key string, v reflect.Value) {
		switch {
		case isSection(v.Type()):
			for f := range v.Type().Fields() {
				walk(strings.TrimPrefix(key+"."+snakeCase(f.Name), "."), v.FieldByIndex(f.Index))
			}
		case v.Kind() == reflect.Slice && isSection(v.Type().Elem()) && v.Len() > 0:
			for i := range v.Len() {
				walk(fmt.Sprintf("%s[%d]", key, i), v.Index(i))
			}
		default:
			from := found.origin[key]
			if from == "" {
				from = Default
			}
			all = append(all, Setting{key, redacted(v), from})
		}
	}
	walk("", reflect.ValueOf(c))
	return all, nil
}

// redacted returns a value as the file would hold it, and never a secret.
func redacted(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case secret.String:
		return shownSecret(x)
	case time.Duration:
		return formatDuration(x)
	case slog.Level:
		return strings.ToLower(x.String())
	case Document:
		return json.RawMessage(x)
	case fmt.Stringer:
		return x.String()
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return redacted(v.Elem())
	case reflect.Slice:
		items := make([]any, v.Len())
		for i := range items {
			items[i] = redacted(v.Index(i))
		}
		return items
	}
	return v.Interface()
}

// shownSecret returns where a secret URL leads, without its user, password and parameters, and nothing of any other
// secret.
func shownSecret(s secret.String) string {
	text := s.Reveal()
	u, err := url.Parse(text)
	switch {
	case text == "" || strings.HasPrefix(text, "sqlite:"):
		return text
	case err != nil || u.Host == "":
		return s.String()
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// formatDuration writes a duration as ParseDuration reads it, without parts that are zero.
func formatDuration(d time.Duration) string {
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
