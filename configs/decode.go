package configs

import (
	"errors"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/v2"

	"github.com/atrium-hq/atrium/domain/secret"
)

// layer has the values that one source sets, by dotted key or as nested sections.
type layer map[string]any

// applyLayers applies the layers to c, later ones over earlier ones.
func applyLayers(layers []layer, c *Config, found *problems) {
	merge := koanf.New(".")
	for _, l := range layers {
		for key, value := range l {
			_ = merge.Set(key, value) // fails only under StrictMerge
		}
	}
	err := merge.UnmarshalWithConf("", c, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		DecodeHook:   mapstructure.DecodeHookFuncValue(convert),
		ErrorUnused:  true, // the sources refuse unknown keys before, with their lines
		MapFieldName: snakeCase,
		MatchName:    func(key, field string) bool { return key == field },
	}})
	failures := decodeErrors(err)
	slices.SortFunc(failures, func(a, b *mapstructure.DecodeError) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range failures {
		found.add(e.Name(), "%w", e.Unwrap())
	}
}

// decodeErrors splits err into errors that each name a key.
func decodeErrors(err error) []*mapstructure.DecodeError {
	if e, ok := err.(*mapstructure.DecodeError); ok { //nolint:errorlint // walks the tree itself
		return []*mapstructure.DecodeError{e}
	}
	var all []*mapstructure.DecodeError
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, decodeErrors(inner)...)
		}
	case interface{ Unwrap() error }:
		all = decodeErrors(e.Unwrap())
	}
	return all
}

// reader converts text to a type that YAML does not have.
type reader struct {
	want string // the error for any other value
	read func(string) (any, bool)
}

var readers = map[reflect.Type]reader{
	reflect.TypeFor[time.Duration](): {wantDuration, func(s string) (any, bool) { return duration(s) }},
	reflect.TypeFor[netip.Prefix]():  {"must be an IP address or a network such as 10.0.0.0/8", parseNetwork},
	reflect.TypeFor[slog.Level]():    {"must be debug, info, warn or error", parseLevel},
	reflect.TypeFor[secret.String](): {"must be a text; quote it",
		func(s string) (any, bool) { return secret.New(s), true }},
}

// convert is called for every value on its way into Config. It is strict about types, since
// mapstructure would cut 1.5 down to 1 and take 30 for 30 ns.
func convert(from, to reflect.Value) (any, error) {
	data := from.Interface()
	text, isText := data.(string)
	arg, isArgument := data.(argument)
	if isArgument {
		text, isText = string(arg), true
	}
	if to.Type() == reflect.TypeFor[Document]() {
		return data, nil
	}
	if r, ok := readers[to.Type()]; ok {
		if isText {
			if value, ok := r.read(text); ok {
				return value, nil
			}
		}
		return nil, errors.New(r.want)
	}
	switch to.Kind() {
	case reflect.String:
		if !isText {
			return nil, errors.New("must be a text; quote it")
		}
		return text, nil
	case reflect.Int:
		if n, err := strconv.Atoi(text); isArgument && err == nil {
			return n, nil
		}
		if from.Kind() != reflect.Int {
			return nil, errors.New("must be a whole number")
		}
	case reflect.Bool:
		if isArgument && (text == "true" || text == "false") {
			return text == "true", nil
		}
		if from.Kind() != reflect.Bool {
			return nil, errors.New("must be true or false")
		}
	case reflect.Slice:
		if isText {
			return nil, errors.New("is a list, which only the file can set")
		}
	}
	return data, nil
}

const (
	day     = 24 * time.Hour
	maxDays = 36500 // a hundred years; far from where a Duration overflows
)

const wantDuration = "must be a duration such as 30s, 5m, 1h30m or 400d"

// ParseDuration reads a duration in the format of the settings, for other places where a user enters one.
func ParseDuration(s string) (time.Duration, error) {
	d, ok := duration(s)
	if !ok {
		return 0, errors.New(wantDuration)
	}
	return d, nil
}

// duration reads the format of time.ParseDuration, with optional days before it.
func duration(s string) (time.Duration, bool) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		days, rest = "0", s
	} else if rest == "" {
		rest = "0"
	}
	n, errDays := strconv.ParseUint(days, 10, 32)
	d, errRest := time.ParseDuration(rest)
	return time.Duration(n)*day + d, errDays == nil && errRest == nil && n <= maxDays
}

// parseNetwork reads a CIDR, or one address as a network of only that address.
func parseNetwork(s string) (any, bool) {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err == nil
}

func parseLevel(s string) (any, bool) {
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if s == strings.ToLower(l.String()) {
			return l, true
		}
	}
	return nil, false
}
