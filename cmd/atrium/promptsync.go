package main

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
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
	edits := sortedChanges(states, changedHere, changedBoth, deletedHere, deletedEdited)
	if len(edits) > 0 && !c.Force {
		return fmt.Errorf("%s is %s: push it, or overwrite it with --force", edits[0].Name, edits[0].State)
	}
	for name := range files.there { // before anything is written
		if _, err := promptfile.Path(name); err != nil {
			return err
		}
	}
	changes := sortedChanges(states, changedHere, changedThere, changedBoth, newThere, deletedHere, deletedThere,
		deletedEdited)
	for _, change := range changes {
		if _, ok := files.there[change.Name]; ok {
			continue
		}
		path, err := promptfile.Path(change.Name)
		if err == nil {
			err = files.root.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	files.lock.Prompts = map[string]locked{}
	for name, s := range files.there {
		if err := files.keep(name, s); err != nil {
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
	Dir      string `arg:"" help:"Local folder of an earlier pull." type:"existingdir"`
	Message  string `short:"m" help:"Commit message of the new versions." placeholder:"TEXT"`
	Activate bool   `help:"Make the new versions the active ones."`
	JSON     bool   `name:"json" help:"Print a JSON array: name and state of each prompt that was sent."`
}

// Help implements kong.HelpProvider.
func (promptsPushCommand) Help() string {
	return `Creates a version of each prompt whose file was changed locally, and a prompt for each new file. Nothing
is sent if one of these prompts was changed on the server too: pull it first. Deleted files are ignored.
Without the setting variables, the server infers the variables from the text.

Example:
  atrium prompts push prompts --message 'Shorter answers'`
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
	changes, content := sortedChanges(states, changedHere, newHere), map[string]promptfile.Prompt{}
	for _, change := range changes { // before anything is sent
		content[change.Name], err = promptfile.Decode(files.here[change.Name])
		if err != nil {
			return fmt.Errorf("%s.md: %w", change.Name, err)
		}
		if name := content[change.Name].Name; name != "" && name != change.Name {
			return fmt.Errorf("%s.md has the setting name: the path of a file is the name of its prompt", change.Name)
		}
		if f := files.lock.Folder; f != "" && !strings.HasPrefix(change.Name, f+"/") {
			return fmt.Errorf("%s.md is not in the folder %s of the last pull", change.Name, f)
		}
	}
	for _, change := range changes {
		if err := c.send(p, files, change.Name, content[change.Name]); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", change.Name, err), files.save())
		}
	}
	if err := files.save(); err != nil {
		return err
	}
	return p.promptChanges(c.JSON, changes)
}

// pushed is a version as the API accepts it.
type pushed struct {
	promptfile.Content
	CommitMessage string `json:"commit_message,omitempty"`
	Base          string `json:"base_version_id,omitempty"`
	Activate      bool   `json:"activate,omitempty"`
}

// send creates a prompt version, or the prompt, and enters it in the lock.
func (c *promptsPushCommand) send(p *process, files *promptFiles, name string, prompt promptfile.Prompt) error {
	version := pushed{Content: prompt.Content, CommitMessage: c.Message, Activate: c.Activate}
	fields := map[string]any{"description": prompt.Description, "tags": append([]string{}, prompt.Tags...)}
	var t atrium.PromptTemplate
	if current, ok := files.there[name]; ok {
		version.Base = current.version
		path := "/api/prompt-templates/" + url.PathEscape(current.id)
		var zero struct{} // read again below
		if err := files.client.Request(p.ctx, "POST", path+"/versions", version, &zero); err != nil {
			return err
		}
		if err := files.client.Request(p.ctx, "PATCH", path, fields, &t); err != nil {
			return err
		}
	} else {
		fields["name"], fields["type"], fields["version"] = name, prompt.Type, version
		if err := files.client.Request(p.ctx, "POST", "/api/prompt-templates", fields, &t); err != nil {
			return err
		}
	}
	latest, err := files.latest(p.ctx, &t)
	if err != nil {
		return err
	}
	return files.keep(name, latest)
}
