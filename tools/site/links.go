package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	reference = regexp.MustCompile(`(?:href|src)="?([^" >]+)`)
	anchor    = regexp.MustCompile(`\sid="?([^" >]+)`)
)

// checkLinks follows every link from one file of the site to another, and to an anchor in it. It returns their number.
func checkLinks(site string) (followed int, err error) {
	files := map[string]string{}
	err = filepath.WalkDir(site, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		relative, _ := filepath.Rel(site, name)
		files[filepath.ToSlash(relative)] = string(text)
		return err
	})
	if err != nil {
		return 0, err
	}
	anchors := map[string]map[string]bool{}
	for name, text := range files {
		anchors[name] = map[string]bool{}
		for _, found := range anchor.FindAllStringSubmatch(text, -1) {
			anchors[name][found[1]] = true
		}
	}
	var broken []error
	for name, text := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, found := range reference.FindAllStringSubmatch(text, -1) {
			u, err := url.Parse(strings.ReplaceAll(found[1], "&amp;", "&"))
			if err != nil || u.Scheme != "" {
				if err != nil {
					broken = append(broken, fmt.Errorf("%s: %s is no link", name, found[1]))
				}
				continue
			}
			followed++
			to := name
			if u.Path != "" {
				to = path.Join(path.Dir(name), u.Path)
			}
			if _, ok := files[to]; !ok {
				broken = append(broken, fmt.Errorf("%s: %s leads nowhere", name, found[1]))
			} else if u.Fragment != "" && !anchors[to][u.Fragment] {
				broken = append(broken, fmt.Errorf("%s: %s names no heading", name, found[1]))
			}
		}
	}
	if followed == 0 {
		return 0, errors.New("there are no links")
	}
	return followed, errors.Join(broken...)
}
