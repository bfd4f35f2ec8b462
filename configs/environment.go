package configs

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
)

const (
	variablePrefix = "ATRIUM_"
	fileVariable   = variablePrefix + "CONFIG"
)

// secretKeys may also be given as the path to a file that contains the value, in a variable that ends in _FILE: this is
// how container platforms pass secrets.
var secretKeys = []string{"database.url", "keyring.keyset", "mail.smtp.password", "redis.url"}

// argument is a value that came as text, from a variable or a flag: unlike one of the file, it may represent a number
// or a boolean.
type argument string

// variableOf returns the name for a key's variable: ATRIUM_SERVER_RATE_LIMIT_BURST is server.rate_limit.burst. No two
// keys share one.
func variableOf(key string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// pickEnvironment picks the variables that are Atrium's.
func pickEnvironment(all []string) map[string]string {
	env := map[string]string{}
	for _, entry := range all {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, variablePrefix) {
			env[name] = value
		}
	}
	return env
}

// readEnvironment reads ATRIUM_* variables. One that names no key is refused: a typo must not
// pass silently.
func readEnvironment(env map[string]string, found *problems) layer {
	byVariable, paths := map[string]string{}, map[string]string{}
	for key := range keyTypes() {
		byVariable[variableOf(key)] = key
	}
	for _, key := range secretKeys {
		paths[variableOf(key)+"_FILE"] = key
	}
	values := layer{}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		key, secretPath := byVariable[name], paths[name]
		switch {
		case name == fileVariable:
		case key != "":
			found.origin[key] = name
			values[key] = argument(env[name])
		case secretPath != "" && values[secretPath] != nil: // set by the name without _FILE, which sorts first
			found.refuse(name, "%s: is given by %s too", secretPath, variableOf(secretPath))
		case secretPath != "":
			found.origin[secretPath] = name
			text, err := os.ReadFile(env[name])
			if err != nil {
				found.add(secretPath, "the file cannot be read: %w", errors.Unwrap(err))
				continue
			}
			values[secretPath] = argument(strings.TrimRight(string(text), "\r\n"))
		default:
			found.refuse(name, "unknown variable: it names no key")
		}
	}
	return values
}

// readFlags reads dotted keys.
func readFlags(flags map[string]string, found *problems) layer {
	types, values := keyTypes(), layer{}
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		if _, ok := types[key]; !ok {
			found.refuse("flag", "%s: unknown key", key)
			continue
		}
		found.origin[key] = "flag"
		values[key] = argument(flags[key])
	}
	return values
}
