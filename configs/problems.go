package configs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// problems collects a configuration's errors, one reason per key, so that an operator can fix all of them at once.
type problems struct {
	origin map[string]string // of each key that was set: a line of the file, a variable, a flag
	wrong  map[string]bool   // keys that have their reason
	all    []error

	ignored []string // variables that are neither settings nor for another program
}

func newProblems() *problems {
	return &problems{origin: map[string]string{}, wrong: map[string]bool{}}
}

// add records why the value of key cannot be used. A key that is already wrong, or is part of one that is, gets no
// second reason.
func (p *problems) add(key, reason string, args ...any) {
	for k := key; k != ""; k = parentKey(k) {
		if p.wrong[k] {
			return
		}
	}
	p.wrong[key] = true
	problem := fmt.Errorf("%s: "+reason, append([]any{key}, args...)...)
	if origin := p.find(key); origin != "" {
		problem = fmt.Errorf("%s: %w", origin, problem)
	}
	p.all = append(p.all, problem)
}

// find returns where key was set, or else the section or list that should hold it.
func (p *problems) find(key string) string {
	for ; key != ""; key = parentKey(key) {
		if origin := p.origin[key]; origin != "" {
			return origin
		}
	}
	return ""
}

// refuse records a name that is not a key.
func (p *problems) refuse(origin, reason string, args ...any) {
	p.all = append(p.all, fmt.Errorf("%s: "+reason, append([]any{origin}, args...)...))
}

func (p *problems) err() error { return errors.Join(p.all...) }

var lastStep = regexp.MustCompile(`(\.[^.\[\]]+|\[\d+\]|^[^.\[\]]+)$`)

// parentKey returns the key that holds key, empty for the outermost: orgs[0].slug, orgs[0], orgs.
func parentKey(key string) string {
	return strings.TrimSuffix(key, lastStep.FindString(key))
}
