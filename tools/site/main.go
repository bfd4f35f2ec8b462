// Command site writes the content of the documentation's site from docs/, the contract and the example configuration,
// runs Hugo, and checks every link of the result. Call it in tools/site; the folder of the site is its argument:
//
//	go run . ../../dist/site
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const root = "../.."

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: site FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// run collects the pages in a temporary folder, lets Hugo build the site from there, and checks its links.
func run(target string) error {
	work, err := os.MkdirTemp("", "atrium-site-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	pages, err := collect()
	if err != nil {
		return err
	}
	for i, p := range pages {
		if err := p.write(filepath.Join(work, "content"), i); err != nil {
			return err
		}
	}
	if err := writeExtras(filepath.Join(work, "static"), pages); err != nil {
		return err
	}
	target, err = filepath.Abs(target)
	if err != nil {
		return err
	}
	for _, folder := range []string{"layouts", "static"} {
		if err := os.CopyFS(filepath.Join(work, folder), os.DirFS(folder)); err != nil {
			return err
		}
	}
	config, err := filepath.Abs("hugo.yaml")
	if err != nil {
		return err
	}
	hugo := exec.Command("go", "tool", "hugo", "--source", work, "--config", config, "--destination", target,
		"--cleanDestinationDir", "--quiet", "--panicOnWarning")
	hugo.Stdout, hugo.Stderr = os.Stderr, os.Stderr
	if err := hugo.Run(); err != nil {
		return fmt.Errorf("hugo: %w", err)
	}
	links, err := checkLinks(target)
	if err != nil {
		return err
	}
	fmt.Printf("%d pages and %d links in %s\n", len(pages), links, target)
	return nil
}

// page is one page of the site.
type page struct {
	path  string // below the content folder: operating.md
	title string
	group string // page: in the navigation; detail: reached by links
	text  string // Markdown without its first heading
}

// url is the address of the page below the site's root.
func (p page) url() string {
	if p.path == "_index.md" {
		return "index.html"
	}
	return strings.TrimSuffix(p.path, ".md") + ".html"
}

func (p page) write(folder string, weight int) error {
	front, err := json.Marshal(map[string]any{"title": p.title, "weight": weight + 1, "group": p.group})
	if err != nil {
		return err
	}
	path := filepath.Join(folder, filepath.FromSlash(p.path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(string(front)+"\n\n"+p.text), 0o644)
}

// writeExtras writes the index of the search, and llms.txt (llmstxt.org) with the documentation for language models.
func writeExtras(folder string, pages []page) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	type entry struct {
		Title  string `json:"title"`
		URL    string `json:"url"`
		Search string `json:"search"`
	}
	var index []entry
	llms := "# Atrium\n\n> The workspace backend behind AI products: one Go binary with a REST API.\n\n## " +
		"Documentation\n\n"
	for _, p := range pages {
		index = append(index, entry{p.title, p.url(), strings.ToLower(p.title + " " + p.text)})
		if p.group == "page" && p.path != "_index.md" {
			llms += fmt.Sprintf("- [%s](%s)\n", p.title, p.url())
		}
	}
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "search.json"), text, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "llms.txt"), []byte(llms), 0o644)
}

// order is that of the navigation; other pages follow by name.
var order = []string{"_index.md", "quickstart.md", "quickstart-go.md", "quickstart-typescript.md",
	"quickstart-python.md", "tour.md", "prompt-to-answer.md", "install.md", "first-day.md", "configuration.md",
	"settings.md", "deployment.md", "kubernetes.md", "upgrading.md", "operating.md", "security.md", "errors.md"}

func sortPages(pages []page) {
	rank := func(p page) int {
		if i := slices.Index(order, p.path); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(pages, func(a, b page) int {
		if by := rank(a) - rank(b); by != 0 {
			return by
		}
		return strings.Compare(a.path, b.path)
	})
}
