package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	atrium "github.com/atrium-hq/atrium/clients/go"
	"github.com/atrium-hq/atrium/domain/promptfile"
)

// lockName is the file that records the version of each file.
const lockName = "prompts.lock.json"

// maxPromptFile is more than the file of the largest version has.
const maxPromptFile = 4 << 20

// lock is the content of the lock file. Its keys are the paths of files, without their ending: mostly the names of
// their templates.
type lock struct {
	Folder  string            `json:"folder"`
	Prompts map[string]locked `json:"prompts"`
}

type locked struct {
	ID      string `json:"id"`
	Version string `json:"version_id"`
	Number  int    `json:"version_number"`
	Digest  string `json:"sha256"` // of the file
}

// promptFiles are a local folder's files, and the server's prompts.
type promptFiles struct {
	root   *os.Root
	client *atrium.Client
	lock   lock
	local  map[string][]byte // by path, without the ending
	remote map[string]served
	moves  map[string]string // the former paths of files that were moved here, by their paths; drift finds them
}

// served is a template's latest version, as a file.
type served struct {
	id, name, version string
	number            int
	file              []byte
}

func digest(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// openPrompts reads the files below dir, and what the server has in a folder. The empty folder is the folder of the
// lock file.
func (p *process) openPrompts(f remoteFlags, dir, folder string) (*promptFiles, error) {
	client, err := p.connect(f)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir) // no name and no link leads out of it
	if err != nil {
		return nil, err
	}
	files := &promptFiles{root: root, client: client, local: map[string][]byte{}, remote: map[string]served{}}
	if err := files.read(); err != nil {
		_ = root.Close()
		return nil, err
	}
	if folder != "" {
		files.lock.Folder = strings.TrimSuffix(folder, "/")
	}
	if err := files.fetch(p.ctx); err != nil {
		_ = root.Close()
		return nil, err
	}
	return files, nil
}

// read loads the lock file and the prompts below the folder. Names that begin with a dot are not read.
func (f *promptFiles) read() error {
	text, err := f.root.ReadFile(lockName)
	if err == nil {
		err = json.Unmarshal(text, &f.lock)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", lockName, err)
	}
	if f.lock.Prompts == nil {
		f.lock.Prompts = map[string]locked{}
	}
	return fs.WalkDir(f.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != ".":
			return fs.SkipDir
		case !d.Type().IsRegular() || !strings.HasSuffix(path, ".md") || strings.HasPrefix(d.Name(), "."):
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > maxPromptFile {
			return errors.Join(err, fmt.Errorf("%s is too large for a prompt", path))
		}
		file, err := f.root.ReadFile(path)
		f.local[strings.TrimSuffix(path, ".md")] = file
		return err
	})
}

// fetch reads the files of the latest versions from the server. The versions are listed before: of one that is saved in
// between, the file is newer than its number, so that a push of it is refused.
func (f *promptFiles) fetch(ctx context.Context) error {
	latest := map[string]served{}
	for t, err := range f.client.PromptTemplates.List(ctx, atrium.PromptTemplatesListQuery{Folder: f.lock.Folder,
		Limit: 100}) {
		if err != nil {
			return err
		}
		if v := t.LatestVersion; v != nil {
			latest[keyOf(t.Name)] = served{id: t.ID, name: t.Name, version: v.ID, number: v.Number}
		}
	}
	export, err := f.client.PromptTemplates.ExportFiles(ctx,
		atrium.PromptTemplatesExportFilesQuery{Folder: f.lock.Folder, Ref: "latest"})
	if err != nil {
		return err
	}
	f.remote = map[string]served{}
	for _, file := range export.Files {
		key := strings.TrimSuffix(file.Path, ".md")
		if s, isListed := latest[key]; isListed {
			s.file = []byte(file.Content)
			f.remote[key] = s
		}
	}
	return nil
}

// keyOf returns where a prompt's file is, without the ending.
func keyOf(name string) string {
	path, _ := promptfile.Place(name)
	return strings.TrimSuffix(path, ".md")
}

// The states for a prompt whose file and version differ.
const (
	changedHere   = "changed here"
	changedThere  = "changed on the server"
	changedBoth   = "changed here and on the server"
	newHere       = "new here"
	movedHere     = "moved here"
	newThere      = "new on the server"
	deletedHere   = "deleted here"
	deletedThere  = "deleted on the server"
	deletedEdited = "changed here, deleted on the server"
)

// drift returns the states of the prompts that differ, by the paths of their files.
func (f *promptFiles) drift() map[string]string {
	states := map[string]string{}
	names := slices.Concat(slices.Collect(maps.Keys(f.local)), slices.Collect(maps.Keys(f.remote)))
	for _, name := range names {
		if state := f.state(name); state != "" {
			states[name] = state
		}
	}
	f.findMoves(states)
	return states
}

// findMoves treats a new file with the content of a deleted file as that file at another path.
func (f *promptFiles) findMoves(states map[string]string) {
	removals := map[string]string{} // paths by digest
	for _, c := range sortedChanges(states, deletedHere) {
		if _, isRemote := f.remote[c.Name]; isRemote {
			removals[f.lock.Prompts[c.Name].Digest] = c.Name
		}
	}
	f.moves = map[string]string{}
	for _, c := range sortedChanges(states, newHere) {
		sum := digest(f.local[c.Name])
		if oldPath, ok := removals[sum]; ok {
			f.moves[c.Name], states[c.Name] = oldPath, movedHere
			delete(states, oldPath)
			delete(removals, sum)
		}
	}
}

// state compares the file, the server and the state of the last sync. It returns "" if both sides agree.
func (f *promptFiles) state(name string) string {
	file, isLocal := f.local[name]
	server, isRemote := f.remote[name]
	entry, isLocked := f.lock.Prompts[name]
	isEdited, isMoved := digest(file) != entry.Digest, digest(server.file) != entry.Digest
	switch {
	case isLocal && isRemote && bytes.Equal(file, server.file):
		return ""
	case isLocal && isRemote && !isLocked, isLocal && isRemote && isEdited && isMoved:
		return changedBoth
	case isLocal && isRemote && isEdited:
		return changedHere
	case isLocal && isRemote:
		return changedThere
	case isLocal && !isLocked:
		return newHere
	case isLocal && isEdited:
		return deletedEdited
	case isLocal:
		return deletedThere
	case isLocked:
		return deletedHere
	default:
		return newThere
	}
}

// keep writes a prompt of the server to its file, and its version to the lock file.
func (f *promptFiles) keep(key string, s served) error {
	path := filepath.FromSlash(key) + ".md"
	if err := f.root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := f.root.WriteFile(path, s.file, 0o644); err != nil {
		return err
	}
	f.lock.Prompts[key] = locked{ID: s.id, Version: s.version, Number: s.number, Digest: digest(s.file)}
	return nil
}

// save writes the lock file.
func (f *promptFiles) save() error {
	text, err := json.MarshalIndent(f.lock, "", "  ")
	if err != nil {
		return err
	}
	return f.root.WriteFile(lockName, append(text, '\n'), 0o644)
}
