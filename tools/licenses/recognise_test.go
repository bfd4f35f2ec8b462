package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

func TestLicencesAreToldApart(t *testing.T) {
	const (
		mit    = "Permission is hereby granted, free of charge, to any person\nobtaining a copy of this software"
		apache = "Apache License\n    Version 2.0, January 2004"
		bsd2   = "// Redistribution and use in source and binary forms, with or without\n// modification, are " +
			"permitted provided that"
		bsd3 = bsd2 + " … Neither the name of Google Inc. nor"
	)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"MIT": {mit, []string{"MIT"}},
		"ISC": {"Permission to use, copy, modify, and/or distribute this software for any\npurpose " +
			"with or without fee is hereby granted", []string{"ISC"}},
		"Apache":               {apache, []string{"Apache-2.0"}},
		"BSD with two clauses": {bsd2, []string{"BSD-2-Clause"}},
		"BSD with three":       {bsd3, []string{"BSD-3-Clause"}},
		"two in one file":      {apache + "\n" + mit, []string{"Apache-2.0", "MIT"}},
		"Mozilla, which names GNU": {"Mozilla Public License Version 2.0 … the GNU General Public License, " +
			"Version 2.0", []string{"MPL-2.0"}},
		"GNU": {"GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007", []string{"GPL-3.0"}},
		"Affero, which names GNU": {"GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3 … GNU General Public License",
			[]string{"AGPL-3.0"}},
		"a choice that has BSD in it": {"SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only … GNU General Public " +
			"License", []string{"BSD-3-Clause"}},
		"SQLite": {"The author disclaims copyright. In place of a legal notice, here is a blessing:",
			[]string{"public domain"}},
		"an unknown one": {"You may use this on Sundays.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := recognise(c.text); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestAModuleWithoutALicenceThatIsKnownIsRefused(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"none at all":         {"README": "MIT"},
		"one that is unknown": {"LICENSE": "You may use this on Sundays."},
		"one beside a known": {"LICENSE": "Apache License Version 2.0",
			"LICENSE-THIRD": "You may use this on Sundays."},
	} {
		t.Run(name, func(t *testing.T) {
			m := module{path: "example.com/m", folder: t.TempDir()}
			for file, text := range files {
				require.NoError(t, os.WriteFile(filepath.Join(m.folder, file), []byte(text), 0o600))
			}
			if found, err := m.licences(); err == nil {
				t.Errorf("it is taken for %v", found)
			}
		})
	}
}
