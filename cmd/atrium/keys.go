package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/configs"
)

type keysCommand struct {
	List   keysListCommand   `cmd:"" help:"List the keys of the keyring, without key material."`
	Create keysCreateCommand `cmd:"" help:"Create the key file, unless there is one."`
	Rotate keysRotateCommand `cmd:"" help:"Create a new primary key. Old keys still open what they sealed."`
	Reseal keysResealCommand `cmd:"" help:"Seal stored credentials again, under the primary key."`
}

// Help implements kong.HelpProvider.
func (keysCommand) Help() string { return "Example:\n  atrium keys list" }

type keysListCommand struct {
	JSON bool `name:"json" help:"Print a JSON array of keys: id, primary, status."`
}

// Help implements kong.HelpProvider.
func (keysListCommand) Help() string { return "Example:\n  atrium keys list --json" }

// Run implements the command.
func (k *keysListCommand) Run(p *process) error {
	c, err := p.config(nil)
	if err != nil {
		return err
	}
	ring, err := seal.Open(c.Keyring)
	if err != nil {
		return err
	}
	if k.JSON {
		return p.json(ring.Keys())
	}
	var rows [][]string
	for _, key := range ring.Keys() {
		mark := ""
		if key.Primary {
			mark = "primary"
		}
		rows = append(rows, []string{fmt.Sprint(key.ID), key.Status, mark})
	}
	return p.table([]string{"ID", "STATUS", "USE"}, rows)
}

type keysCreateCommand struct {
	JSON bool `name:"json" help:"Print JSON: key_file."`
}

// Help implements kong.HelpProvider.
func (keysCreateCommand) Help() string {
	return `serve creates a key file on its first start. Use this command to create one for several nodes, and
copy it to each.

Example:
  atrium keys create --data /var/lib/atrium`
}

// Run implements the command.
func (k *keysCreateCommand) Run(p *process) error {
	c, err := p.config(nil)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(c.Keyring.KeyFile); err == nil {
		return fmt.Errorf("%s exists already: it is never overwritten; atrium keys rotate adds a key to it",
			c.Keyring.KeyFile)
	}
	if err := refuseSealed(p, c); err != nil {
		return err
	}
	if err := node.CreateKeyFile(c); err != nil {
		return err
	}
	return p.print(k.JSON, map[string]string{"key_file": c.Keyring.KeyFile},
		"Created %s. Back it up: without it sealed secrets are lost.\n", c.Keyring.KeyFile)
}

// refuseSealed returns an error if the database is sealed with another keyring: that key file is missing, and a new
// one would not open the data.
func refuseSealed(p *process, c configs.Config) error {
	db, closeDB, err := sqlstore.Inspect(p.ctx, c.Database, node.OpenPool)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closeDB()
	if pending, err := db.Pending(p.ctx); err != nil || pending > 0 {
		return err
	}
	check, err := db.SealedBy(p.ctx)
	if err == nil && check != nil {
		err = node.KeyFileMissing(c)
	}
	return err
}

type keysRotateCommand struct {
	JSON bool `name:"json" help:"Print JSON: key_id."`
}

// Help implements kong.HelpProvider.
func (keysRotateCommand) Help() string {
	return `On SIGHUP, a running server loads the new key and seals stored credentials with it. With several nodes,
rotate on one, copy the key file to the others, then send each a SIGHUP. A node that finds an unknown key ID reads its
key file again, and must find the key there.

Example:
  atrium keys rotate && pkill -HUP atrium`
}

// Run implements the command.
func (k *keysRotateCommand) Run(p *process) error {
	c, err := p.config(nil)
	if err != nil {
		return err
	}
	ring, err := seal.Open(c.Keyring)
	if err != nil {
		return err
	}
	key, err := ring.Rotate()
	if err != nil {
		return err
	}
	return p.print(k.JSON, map[string]any{"key_id": key.ID},
		"Key %d is now the primary key. Copy the key file to every node, send running servers "+
			"a SIGHUP, and back the file up.\n", key.ID)
}
