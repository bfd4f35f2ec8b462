package configs

import (
	"iter"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// fields yields the keys of a section, which is a struct type, in the order of declaration.
func fields(section reflect.Type) iter.Seq2[string, reflect.Type] {
	return func(yield func(string, reflect.Type) bool) {
		for f := range section.Fields() {
			if !yield(snakeCase(f.Name), f.Type) {
				return
			}
		}
	}
}

// fieldType returns the type of one section key.
func fieldType(section reflect.Type, name string) (reflect.Type, bool) {
	for n, t := range fields(section) {
		if n == name {
			return t, true
		}
	}
	return nil, false
}

// isSection reports whether a struct has keys; others, such as secrets, are values.
func isSection(t reflect.Type) bool {
	_, value := readers[t]
	return t.Kind() == reflect.Struct && !value
}

// keyTypes returns the type of each dotted key outside of lists: what a variable or a flag can name.
func keyTypes() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	var walk func(prefix string, section reflect.Type)
	walk = func(prefix string, section reflect.Type) {
		for name, t := range fields(section) {
			if isSection(t) {
				walk(prefix+name+".", t)
			} else {
				all[prefix+name] = t
			}
		}
	}
	walk("", reflect.TypeFor[Config]())
	return all
}

// knownKeys lists a section's keys for an error about another.
func knownKeys(section reflect.Type) string {
	var names []string
	for name := range fields(section) {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// snakeCase turns a Go field's name into its key: CORSOrigins is cors_origins.
func snakeCase(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		begins := i > 0 && unicode.IsUpper(r) &&
			(unicode.IsLower(letters[i-1]) || (i+1 < len(letters) && unicode.IsLower(letters[i+1])))
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
