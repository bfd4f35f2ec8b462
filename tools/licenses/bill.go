package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
)

// The members of a bill of materials in CycloneDX 1.6 that this program fills in.
type (
	bill struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type     string    `json:"type"`
		Name     string    `json:"name"`
		Version  string    `json:"version"`
		PURL     string    `json:"purl"`
		Licences []licence `json:"licenses,omitempty"`
	}
	licence struct {
		Licence named `json:"license"`
	}
	named struct {
		ID   string `json:"id,omitempty"` // of SPDX
		Name string `json:"name,omitempty"`
	}
)

// consoleLock names the packages of npm that the console holds.
const consoleLock = "web/package-lock.json"

// writeBill writes what the binary of a version consists of: modules, Go's standard library, the console's packages of
// npm, and the licences of each.
// It has no time and no serial number, so that the same source gives the same bill.
func writeBill(w io.Writer, version string, program []module) error {
	const path = "github.com/atrium-hq/atrium"
	out := bill{Format: "CycloneDX", Spec: "1.6", Version: 1}
	out.Metadata.Component = component{"application", path, version, purl(path, version), under("Apache-2.0")}
	std := strings.TrimPrefix(runtime.Version(), "go")
	out.Components = []component{{"library", "std", std, purl("std", std), under("BSD-3-Clause")}}
	for _, m := range program {
		found, err := m.licences()
		if err != nil {
			return err
		}
		out.Components = append(out.Components,
			component{"library", m.path, m.version, purl(m.path, m.version), under(found...)})
	}
	console, err := npmPackages(consoleLock)
	if err != nil {
		return err
	}
	out.Components = append(out.Components, console...)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(out)
}

// npmPackages returns the packages of a lock file that go into what is built. Those that only some systems need do not:
// they are tools.
func npmPackages(lockFile string) ([]component, error) {
	text, err := os.ReadFile(lockFile)
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License           string
			Dev, DevOptional, Optional bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", lockFile, err)
	}
	var all []component
	for _, path := range slices.Sorted(maps.Keys(lock.Packages)) {
		p := lock.Packages[path]
		if path == "" || p.Dev || p.DevOptional || p.Optional {
			continue
		}
		name := path[strings.LastIndex(path, "node_modules/")+len("node_modules/"):]
		all = append(all, component{"library", name, p.Version,
			"pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version, under(p.License)})
	}
	return all, nil
}

// purl returns the package URL of a Go module.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// under returns licences; a name with a space is no identifier of SPDX.
func under(names ...string) []licence {
	var all []licence
	for _, name := range names {
		if strings.Contains(name, " ") {
			all = append(all, licence{named{Name: name}})
		} else {
			all = append(all, licence{named{ID: name}})
		}
	}
	return all
}
