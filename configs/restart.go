package configs

import "reflect"

// NeedRestart returns the dotted keys that differ between two configurations and need a restart: all except
// the orgs' settings. It returns only keys, never values, since some are secrets. A reload always reads the
// content of the key file again.
func NeedRestart(running, read Config) []string {
	var keys []string
	var walk func(prefix string, a, b reflect.Value)
	walk = func(prefix string, a, b reflect.Value) {
		for f := range a.Type().Fields() {
			key, x, y := prefix+snakeCase(f.Name), a.FieldByIndex(f.Index), b.FieldByIndex(f.Index)
			switch {
			case key == "orgs" || key == "base_domain" || key == "payments":
			case isSection(f.Type):
				walk(key+".", x, y)
			case !sameValue(x.Interface(), y.Interface()):
				keys = append(keys, key)
			}
		}
	}
	walk("", reflect.ValueOf(running), reflect.ValueOf(read))
	return keys
}

// sameValue compares secrets by their values, since each is hidden in a function of its own.
func sameValue(a, b any) bool {
	if x, ok := a.(interface{ Reveal() string }); ok {
		y, ok := b.(interface{ Reveal() string })
		return ok && x.Reveal() == y.Reveal()
	}
	return reflect.DeepEqual(a, b)
}
