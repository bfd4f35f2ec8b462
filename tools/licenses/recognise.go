package main

import (
	"slices"
	"strings"
)

// recognise returns the SPDX names of the licences in a text, and none if it knows none. It looks for sentences that
// are unique to each licence, and ignores line breaks and comment marks.
func recognise(text string) (names []string) {
	text = strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !(('a' <= r && r <= 'z') || ('0' <= r && r <= '9'))
	}), " ")
	has := func(sentence string) bool { return strings.Contains(text, sentence) }
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case has("mozilla public license version 2 0"): // which speaks of the GPL
		add("MPL-2.0")
		return names
	case has("spdx license identifier bsd 3 clause or gpl 2 0 only"): // of which we choose the first
		add("BSD-3-Clause")
		return names
	case has("gnu affero general public license"), has("gnu lesser general public license"),
		has("gnu general public license"):
		return gnu(text)
	}
	if has("apache license version 2 0") {
		add("Apache-2.0")
	}
	if has("permission is hereby granted free of charge to any person obtaining a copy") {
		add("MIT")
	}
	if has("permission to use copy modify and or distribute this software for any purpose with or without fee is " +
		"hereby granted") {
		add("ISC")
	}
	if has("redistribution and use in source and binary forms with or without modification are permitted") {
		if has("neither the name") || has("may not be used to endorse or promote") {
			add("BSD-3-Clause")
		} else {
			add("BSD-2-Clause")
		}
	}
	if has("in place of a legal notice here is a blessing") || (has("public domain") && len(names) == 0) {
		add("public domain")
	}
	return names
}

// gnu tells GNU's licences apart by their titles: the lesser and the Affero one speak of the others.
func gnu(text string) []string {
	title := text[:min(len(text), 400)]
	switch {
	case strings.Contains(title, "affero"):
		return []string{"AGPL-3.0"}
	case strings.Contains(title, "lesser"):
		return []string{"LGPL"}
	case strings.Contains(title, "version 3"):
		return []string{"GPL-3.0"}
	}
	return []string{"GPL"}
}
