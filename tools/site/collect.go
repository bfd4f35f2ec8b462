package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// source is where links to files outside of the documentation lead.
const source = "https://github.com/atrium-hq/atrium/blob/main/"

// collect returns every page of the site.
func collect() ([]page, error) {
	pages, err := documents()
	if err != nil {
		return nil, err
	}
	problems, err := problemPages()
	if err != nil {
		return nil, err
	}
	settings, err := settingsPage()
	if err != nil {
		return nil, err
	}
	pages = append(append(pages, problems...), settings)
	sortPages(pages)
	return pages, nil
}

// documents returns README.md, CHANGELOG.md and the pages in docs/.
func documents() (pages []page, err error) {
	add := func(file, to string) error {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		group := "page"
		if strings.HasPrefix(to, "adr/") {
			group = "detail"
		}
		p, err := document(string(text), file, to, group)
		pages = append(pages, p)
		return err
	}
	if err := add("README.md", "_index.md"); err != nil {
		return nil, err
	}
	if err := add("CHANGELOG.md", "changelog.md"); err != nil {
		return nil, err
	}
	clients, err := filepath.Glob(filepath.Join(root, "clients", "*", "README.md"))
	if err != nil {
		return nil, err
	}
	for _, file := range clients {
		language := filepath.Base(filepath.Dir(file))
		if err := add("clients/"+language+"/README.md", "quickstart-"+language+".md"); err != nil {
			return nil, err
		}
		pages[len(pages)-1].title = "Quickstart: " + nameOf(language)
	}
	docs := os.DirFS(filepath.Join(root, "docs"))
	err = fs.WalkDir(docs, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		return add("docs/"+name, pageOf(name))
	})
	return pages, err
}

// pageOf returns the page of a file in docs/. Hugo writes paths in lower case, so a README gets its own name.
func pageOf(name string) string {
	if name == "adr/README.md" {
		return "adr/decisions.md"
	}
	return name
}

// nameOf returns how a language is written.
func nameOf(language string) string {
	if language == "typescript" {
		return "TypeScript"
	}
	return strings.ToUpper(language[:1]) + language[1:]
}

var firstHeading = regexp.MustCompile(`(?m)^# (.+)\n`)

func document(text, file, to, group string) (page, error) {
	found := firstHeading.FindStringSubmatchIndex(text)
	if found == nil {
		return page{}, fmt.Errorf("%s has no title", file)
	}
	title := text[found[2]:found[3]]
	return page{to, title, group, relink(text[:found[0]]+text[found[1]:], path.Dir(file), path.Dir(to))}, nil
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// relink turns links between files of the repository into links between pages, or into links to the repository.
func relink(text, folder, at string) string {
	return link.ReplaceAllStringFunc(text, func(whole string) string {
		target, anchor, hasAnchor := strings.Cut(whole[2:len(whole)-1], "#")
		if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			return whole
		}
		file := path.Join(folder, target)
		to := source + file
		switch {
		case file == "README.md":
			to = up(at) + "index.html"
		case strings.HasPrefix(file, "clients/") && path.Base(file) == "README.md":
			to = up(at) + "quickstart-" + path.Base(path.Dir(file)) + ".html"
		case file == "CHANGELOG.md":
			to = up(at) + "changelog.html"
		case strings.HasPrefix(file, "docs/") && path.Ext(file) == ".md":
			to = up(at) + strings.TrimSuffix(pageOf(strings.TrimPrefix(file, "docs/")), ".md") + ".html"
		}
		if hasAnchor {
			to += "#" + anchor
		}
		return "](" + to + ")"
	})
}

// up leads from a folder of the site to its root.
func up(at string) string {
	if at == "." {
		return ""
	}
	return strings.Repeat("../", strings.Count(at, "/")+1)
}

// problemPages returns a page for each problem code of the contract, and their list.
func problemPages() ([]page, error) {
	text, err := os.ReadFile(filepath.Join(root, "adapters/rest/openapi/openapi.yaml"))
	if err != nil {
		return nil, err
	}
	var contract struct {
		Problems map[string]struct {
			Status             int
			Title, Description string
		} `yaml:"x-problems"`
	}
	if err := yaml.Unmarshal(text, &contract); err != nil {
		return nil, err
	}
	if len(contract.Problems) == 0 {
		return nil, fmt.Errorf("the contract has no x-problems")
	}
	var pages []page
	var list strings.Builder
	list.WriteString("An error of the API is a problem (RFC 9457) with one of these codes.\n\n" +
		"| code | status | title |\n|---|---|---|\n")
	for _, code := range slices.Sorted(maps.Keys(contract.Problems)) {
		p := contract.Problems[code]
		fmt.Fprintf(&list, "| [`%s`](problems/%s.html) | %d | %s |\n", code, code, p.Status, p.Title)
		body := fmt.Sprintf("Code `%s`, status %d.\n\n%s\n\n[All errors](../errors.html)\n", code, p.Status,
			p.Description)
		pages = append(pages, page{"problems/" + code + ".md", p.Title, "detail", body})
	}
	return append(pages, page{"errors.md", "Errors", "page", list.String()}), nil
}

// settingsPage returns the example configuration, whose comments document each setting.
func settingsPage() (page, error) {
	text, err := os.ReadFile(filepath.Join(root, "configs/atrium.example.yaml"))
	body := "[Configuration](configuration.html) shows what to write for common needs. `atrium config show` prints the " +
		"effective settings.\n\n```yaml\n" + string(text) + "```\n"
	return page{"settings.md", "All settings", "page", body}, err
}
