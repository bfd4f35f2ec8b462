package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// released returns the contract of the last release; none before the first. It is kept in the tree, since source
// archives and shallow clones have no tags. If there are tags, it must be that of the newest one.
func released() (text []byte, complaints []string, err error) {
	files, err := filepath.Glob(filepath.Join(releases, "v*.yaml"))
	if err != nil {
		return nil, nil, err
	}
	tag, err := lastTag()
	if err != nil {
		return nil, nil, err
	}
	switch {
	case len(files) == 0 && tag == "":
		return nil, nil, nil
	case len(files) != 1 || (tag != "" && filepath.Base(files[0]) != tag+".yaml"):
		return nil, []string{fmt.Sprintf("%s: has %q, but must have only the contract of the last release, %s",
			releases, files, tag)}, nil
	}
	if text, err = os.ReadFile(files[0]); err != nil || tag == "" {
		return text, nil, err
	}
	tagged, err := git("show", tag+":./"+document)
	if err == nil && !bytes.Equal(tagged, text) {
		complaints = append(complaints, files[0]+": is not what was released as "+tag)
	}
	return text, complaints, err
}

// lastTag is the newest release that git knows of here, if any.
func lastTag() (string, error) {
	if _, err := os.Stat("../../.git"); os.IsNotExist(err) {
		return "", nil // a source archive
	}
	out, err := git("tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname")
	tag, _, _ := strings.Cut(string(out), "\n")
	return tag, err
}

func git(args ...string) ([]byte, error) {
	out, err := exec.Command("git", args...).Output() //nolint:gosec // the arguments are constants
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, nil
}
