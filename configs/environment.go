package configs

import (
	"errors"
	"maps"
	"os"
	"regexp"
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

// toolVariables are the names after ATRIUM_ that the clients, the command line, the examples and the scripts of this
// project read.
var toolVariables = []string{
	"CLIENT_LOG", "KEY", "PICTURES", "PROGRAM", "PROVE", "RELEASES", "SCHEMA", "URL", "VERSION", "WEBHOOK_SECRET",
}

// serviceVariable matches the names that Kubernetes gives to the containers of a namespace with a service that is
// called atrium, or atrium- and more
// (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables).
var serviceVariable = regexp.MustCompile(
	`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// serviceAddress matches the value of the variable of such a service whose name ends in _PORT.
var serviceAddress = regexp.MustCompile(`^(tcp|udp|sctp)://`)

// isForeign reports whether a variable is for another program.
func isForeign(name, value string) bool {
	return slices.Contains(toolVariables, strings.TrimPrefix(name, variablePrefix)) ||
		serviceVariable.MatchString(name) ||
		(strings.HasSuffix(name, "_PORT") && serviceAddress.MatchString(value))
}

// settingMeant returns the variable of a setting that a name is close to: in its section, or one or two letters away.
// It returns "" if not found.
func settingMeant(name string, variables []string) string {
	closest, smallest := "", len(name)
	for _, variable := range variables {
		if d := distance(name, variable); d < smallest {
			closest, smallest = variable, d
		}
	}
	isInSection := slices.ContainsFunc(variables, func(variable string) bool {
		section, _, isNested := strings.Cut(strings.TrimPrefix(variable, variablePrefix), "_")
		section = variablePrefix + section
		return strings.HasPrefix(name, variable+"_") ||
			(isNested && (name == section || strings.HasPrefix(name, section+"_")))
	})
	if isInSection || smallest <= 2 {
		return closest
	}
	return ""
}

// Ignored returns the ATRIUM_* variables that are neither settings nor for another program, sorted.
func Ignored(environ []string) []string {
	found := newProblems()
	readEnvironment(pickEnvironment(environ), found)
	return found.ignored
}

// readEnvironment reads ATRIUM_* variables. One that is close to a setting is refused: a typo must not pass silently.
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
		case isForeign(name, env[name]):
		default:
			if setting := settingMeant(name, slices.Sorted(maps.Keys(byVariable))); setting != "" {
				found.refuse(name, "unknown variable: did you mean %s?", setting)
			} else {
				found.ignored = append(found.ignored, name)
			}
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
