package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	atrium "github.com/atrium-hq/atrium/clients/go"
	"github.com/atrium-hq/atrium/domain/promptfile"
)

// promptChange is what a command did with a prompt, or a difference that it found.
type promptChange struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

func (p *process) promptChanges(asJSON bool, changes []promptChange) error {
	if asJSON {
		return p.json(append([]promptChange{}, changes...))
	}
	rows := make([][]string, len(changes))
	for i, c := range changes {
		rows[i] = []string{c.Name, c.State}
	}
	return p.table([]string{"NAME", "STATE"}, rows)
}

func sortedChanges(states map[string]string, kinds ...string) (changes []promptChange) {
	for _, name := range slices.Sorted(maps.Keys(states)) {
		if len(kinds) == 0 || slices.Contains(kinds, states[name]) {
			changes = append(changes, promptChange{name, states[name]})
		}
	}
	return changes
}

type promptsPullCommand struct {
	remoteFlags
	Dir    string `arg:"" help:"Local folder. It is created if it does not exist." type:"path"`
	Folder string `help:"Only templates in this folder. Default: that of the last pull." placeholder:"FOLDER"`
	Force  bool   `help:"Overwrite files that were changed locally."`
	JSON   bool   `name:"json" help:"Print a JSON array: name and state of each prompt that was written or removed."`
}

// Help implements kong.HelpProvider.
func (promptsPullCommand) Help() string {
	return `Writes the latest version of each prompt to a Markdown file, and prompts.lock.json, which records the
versions of the files. Files of prompts that the server no longer has are removed. Nothing is written if files were
changed locally, unless you use --force.

Example:
  atrium prompts pull prompts --folder support`
}

// Run implements the command.
func (c *promptsPullCommand) Run(p *process) error {
	if err := os.MkdirAll(c.Dir, 0o750); err != nil {
		return err
	}
	files, err := p.openPrompts(c.remoteFlags, c.Dir, c.Folder)
	if err != nil {
		return err
	}
	defer func() { _ = files.root.Close() }()
	states := files.drift()
	edits := sortedChanges(states, changedHere, changedBoth, movedHere, deletedHere, deletedEdited)
	if len(edits) > 0 && !c.Force {
		return fmt.Errorf("%s is %s: push it, or overwrite it with --force", edits[0].Name, edits[0].State)
	}
	changes := sortedChanges(states, changedHere, changedThere, changedBoth, newThere, movedHere, deletedHere,
		deletedThere, deletedEdited)
	for _, change := range changes {
		if _, ok := files.remote[change.Name]; ok {
			continue
		}
		if err := files.root.Remove(filepath.FromSlash(change.Name) + ".md"); err != nil {
			return err
		}
	}
	files.lock.Prompts = map[string]locked{}
	for key, s := range files.remote {
		if err := files.keep(key, s); err != nil {
			return err
		}
	}
	if err := files.save(); err != nil {
		return err
	}
	return p.promptChanges(c.JSON, changes)
}

type promptsDiffCommand struct {
	remoteFlags
	Dir  string `arg:"" help:"Local folder of an earlier pull." type:"existingdir"`
	JSON bool   `name:"json" help:"Print a JSON array: name and state of each prompt that differs."`
}

// Help implements kong.HelpProvider.
func (promptsDiffCommand) Help() string {
	return `Lists the prompts whose file differs from the latest version of the server, and exits with 1 if
there are any.

Example:
  atrium prompts diff prompts`
}

// Run implements the command.
func (c *promptsDiffCommand) Run(p *process) error {
	files, err := p.openPrompts(c.remoteFlags, c.Dir, "")
	if err != nil {
		return err
	}
	defer func() { _ = files.root.Close() }()
	changes := sortedChanges(files.drift())
	if err := p.promptChanges(c.JSON, changes); err != nil || len(changes) == 0 {
		return err
	}
	return fmt.Errorf("prompts that differ: %d", len(changes))
}

type promptsPushCommand struct {
	remoteFlags
	Dir      string   `arg:"" help:"Local folder of an earlier pull." type:"existingdir"`
	Message  string   `short:"m" help:"Commit message of the new versions." placeholder:"TEXT"`
	Activate bool     `help:"Make the new versions the active ones."`
	Label    []string `help:"Give the new versions a label. Can be repeated." placeholder:"LABEL"`
	JSON     bool     `name:"json" help:"Print a JSON array: name and state of each prompt that was sent."`
}

// Help implements kong.HelpProvider.
func (promptsPushCommand) Help() string {
	return `Creates a version of each prompt whose file was changed locally, and a prompt for each new file. A file
that was moved and not changed renames its prompt. Nothing is sent if one of these prompts was changed on the
server too: pull it first. Deleted files are ignored.
Without the setting variables, the server infers the variables from the text. All files that are wrong are
reported; the others are sent.

Example:
  atrium prompts push prompts --message 'Shorter answers' --label staging`
}

// Run implements the command.
func (c *promptsPushCommand) Run(p *process) error {
	files, err := p.openPrompts(c.remoteFlags, c.Dir, "")
	if err != nil {
		return err
	}
	defer func() { _ = files.root.Close() }()
	states := files.drift()
	if conflicts := sortedChanges(states, changedBoth, deletedEdited); len(conflicts) > 0 {
		return fmt.Errorf("%s was %s: pull it first", conflicts[0].Name, conflicts[0].State)
	}
	changes := sortedChanges(states, changedHere, newHere, movedHere)
	content, mistakes := files.decoded(changes)
	var pushes []promptChange
	for _, change := range changes {
		if _, isValid := content[change.Name]; !isValid {
			continue
		}
		err := c.send(p, files, change.Name, content[change.Name])
		if err == nil {
			pushes = append(pushes, change)
			continue
		}
		found := fileErrors(change.Name, content[change.Name], err)
		if mistakes = append(mistakes, found...); len(found) == 0 {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", change.Name, err))
			break
		}
	}
	if err := errors.Join(append(mistakes, files.record(p.ctx, pushes))...); err != nil {
		return err
	}
	return p.promptChanges(c.JSON, pushes)
}

// decoded reads the files that changed, and returns what is wrong with the others.
func (f *promptFiles) decoded(changes []promptChange) (map[string]promptfile.Prompt, []error) {
	content, mistakes := map[string]promptfile.Prompt{}, []error{}
	for _, change := range changes {
		prompt, err := promptfile.Decode(f.local[change.Name])
		folder := f.lock.Folder
		if prompt.Name == "" {
			prompt.Name = cmp.Or(f.remote[change.Name].name, change.Name)
		}
		switch key := keyOf(prompt.Name); {
		case err != nil:
			err = fmt.Errorf("%s.md: %w", change.Name, err)
		case key != change.Name:
			err = fmt.Errorf("%s.md: the file of the prompt %q is %s.md", change.Name, prompt.Name, key)
		case folder != "" && !strings.HasPrefix(prompt.Name, folder+"/"):
			err = fmt.Errorf("%s.md is not in the folder %s of the last pull", change.Name, folder)
		}
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		content[change.Name] = prompt
	}
	return content, mistakes
}

// fileErrors returns what the server found wrong with the file of a prompt, each with its line. There are none if the
// error is about something else.
func fileErrors(key string, prompt promptfile.Prompt, err error) (mistakes []error) {
	refusal, ok := errors.AsType[*atrium.Error](err)
	if !ok {
		return nil
	}
	for _, e := range refusal.Errors {
		mistakes = append(mistakes,
			fmt.Errorf("%s.md: %w", key, prompt.Locate(strings.TrimPrefix(e.Pointer, "/version"), e.Detail)))
	}
	return mistakes
}

// record enters prompts that were sent in the lock, and writes their files as the server has them.
func (f *promptFiles) record(ctx context.Context, pushes []promptChange) error {
	if len(pushes) == 0 {
		return nil
	}
	if err := f.fetch(ctx); err != nil {
		return err
	}
	for _, change := range pushes {
		delete(f.lock.Prompts, f.moves[change.Name])
		if s, isRemote := f.remote[change.Name]; isRemote {
			if err := f.keep(change.Name, s); err != nil {
				return err
			}
		}
	}
	return f.save()
}

// pushed is a version as the API accepts it.
type pushed struct {
	promptfile.Content
	CommitMessage string   `json:"commit_message,omitempty"`
	Base          string   `json:"base_version_id,omitempty"`
	Activate      bool     `json:"activate,omitempty"`
	Labels        []string `json:"labels,omitempty"`
}

// send creates a prompt version, or the prompt, or renames it.
func (c *promptsPushCommand) send(p *process, files *promptFiles, key string, prompt promptfile.Prompt) error {
	version := pushed{Content: prompt.Content, CommitMessage: c.Message, Activate: c.Activate, Labels: c.Label}
	fields := map[string]any{"description": prompt.Description, "tags": append([]string{}, prompt.Tags...)}
	var ignored struct{} // read again later
	const templates = "/api/prompt-templates/"
	if oldPath, isMoved := files.moves[key]; isMoved {
		path := templates + url.PathEscape(files.remote[oldPath].id)
		return files.client.Request(p.ctx, "PATCH", path, map[string]any{"name": prompt.Name}, &ignored)
	}
	current, isRemote := files.remote[key]
	if !isRemote {
		fields["name"], fields["type"], fields["version"] = prompt.Name, prompt.Type, version
		return files.client.Request(p.ctx, "POST", "/api/prompt-templates", fields, &ignored)
	}
	version.Base = current.version
	path := templates + url.PathEscape(current.id)
	if err := files.client.Request(p.ctx, "POST", path+"/versions", version, &ignored); err != nil {
		return err
	}
	return files.client.Request(p.ctx, "PATCH", path, fields, &ignored)
}
