package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/secret"
)

// What a backup holds: the database, and the folders of files that people put into the data
// directory. The key file is not in it: whoever finds a backup must not be able to open what it seals.
const databaseInBackup = "atrium.db"

func foldersInBackup() []string { return []string{"sheets", "warehouses"} }

type backupCommand struct {
	File string `arg:"" help:"Where to write the backup; must not be there yet." type:"path"`
}

// Help implements kong.HelpProvider.
func (backupCommand) Help() string {
	return `Writes the SQLite database as it is at one moment, and the files of the data directory, while serve goes on. The key file
(keyring.json) is left out on purpose: without it nobody who finds the backup opens the credentials in it, and neither do
you. Keep a copy of it elsewhere. PostgreSQL has tools of its own: pg_dump, and the same key file.

Example:
  atrium backup /var/backups/atrium-$(date +%F).tar.gz --data /var/lib/atrium`
}

// Run implements the command.
func (b *backupCommand) Run(p *process) error {
	c, err := p.config(nil)
	if err != nil {
		return err
	}
	db, closeDB, err := sqlstore.Inspect(p.ctx, c.Database, openPool)
	if err != nil {
		return err
	}
	defer closeDB()
	unfinished := b.File + ".new"
	out, err := os.OpenFile(unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(unfinished) }()
	if err := errors.Join(writeBackup(p.ctx, out, c, db), out.Sync(), out.Close()); err != nil {
		return err
	}
	if err := os.Link(unfinished, b.File); err != nil { // which, unlike a rename, replaces nothing
		return err
	}
	return p.print(false, nil, "Wrote %s. It opens with %s alone, which is not in it: keep a copy of that elsewhere.\n", b.File, c.Keyring.KeyFile)
}

func writeBackup(ctx context.Context, out io.Writer, c configs.Config, db *sqlstore.DB) error {
	zipped := gzip.NewWriter(out)
	archive := tar.NewWriter(zipped)
	scratch, err := os.MkdirTemp(filepath.Dir(c.Database.File()), "backup-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	copied := filepath.Join(scratch, databaseInBackup)
	if err := db.CopyTo(ctx, copied); err != nil {
		return err
	}
	if err := addFile(archive, copied, databaseInBackup); err != nil {
		return err
	}
	for _, folder := range foldersInBackup() {
		root := filepath.Join(c.Data, folder)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
				return nil
			}
			if err != nil {
				return err
			}
			name, err := filepath.Rel(c.Data, path)
			if err != nil {
				return err
			}
			return addFile(archive, path, filepath.ToSlash(name))
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}

func addFile(archive *tar.Writer, path, name string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.CopyN(archive, file, info.Size()) // what is appended meanwhile waits for the next one
	return err
}

type restoreCommand struct {
	File string `arg:"" help:"What backup wrote." type:"existingfile"`
}

// Help implements kong.HelpProvider.
func (restoreCommand) Help() string {
	return `Fills a data directory that has no database yet. Put the key file that belongs to the data (keyring.json) there too, before or
after: serve refuses to start without it, and says so. A backup of an older Atrium is brought up to date by the next serve.

Example:
  atrium restore /var/backups/atrium-2026-11-21.tar.gz --data /var/lib/atrium`
}

// Run implements the command.
func (r *restoreCommand) Run(p *process) error {
	c, err := p.config(nil)
	if err != nil {
		return err
	}
	target := c.Database.File()
	if target == "" {
		return sqlstore.ErrNoCopy
	}
	taken := []string{target, target + "-wal"}
	for _, folder := range foldersInBackup() {
		taken = append(taken, filepath.Join(c.Data, folder))
	}
	for _, taken := range taken {
		if _, err := os.Lstat(taken); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("%s is there already: a backup is restored into a data directory that holds nothing yet but the key file", taken))
		}
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	scratch, err := os.MkdirTemp(c.Data, "restore-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	if err := readBackup(r.File, scratch); err != nil {
		return fmt.Errorf("%s: %w", r.File, err)
	}
	note, err := checkRestored(p.ctx, c, filepath.Join(scratch, databaseInBackup))
	if err != nil {
		return fmt.Errorf("%s: %w", r.File, err)
	}
	for _, folder := range foldersInBackup() {
		err := os.Rename(filepath.Join(scratch, folder), filepath.Join(c.Data, folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(filepath.Join(scratch, databaseInBackup), target); err != nil { // last: with it all is there
		return err
	}
	return p.print(false, nil, "Restored %s. %s\n", target, note)
}

// readBackup unpacks what backup wrote, and nothing else, below folder.
func readBackup(file, folder string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	zipped, err := gzip.NewReader(in)
	if err != nil {
		return errors.New("this is no backup of Atrium")
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	archive, whole := tar.NewReader(zipped), false
	for {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF) && whole:
			_, err := io.Copy(io.Discard, zipped) //nolint:gosec // to its checksum; nothing is kept of it
			return err
		case errors.Is(err, io.EOF):
			return errors.New("this is no backup of Atrium: it holds no database")
		case err != nil:
			return err
		}
		top, _, _ := strings.Cut(header.Name, "/")
		database := header.Name == databaseInBackup
		if header.Typeflag != tar.TypeReg || !database && !slices.Contains(foldersInBackup(), top) {
			return fmt.Errorf("it holds %q, which no backup does", header.Name)
		}
		whole = whole || database
		if err := unpack(root, header, archive); err != nil {
			return err
		}
	}
}

func unpack(root *os.Root, header *tar.Header, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(header.Name), 0o700); err != nil {
		return err
	}
	out, err := root.OpenFile(header.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, content, header.Size)
	return errors.Join(err, out.Sync(), out.Close())
}

// checkRestored refuses a database that is damaged, of a newer Atrium, or sealed with other keys than
// those that are there. It returns what is left to do.
func checkRestored(ctx context.Context, c configs.Config, file string) (note string, err error) {
	database := c.Database
	database.URL = secret.New("sqlite:" + file)
	db, closeDB, err := sqlstore.Inspect(ctx, database, openPool)
	if err != nil {
		return "", err
	}
	defer closeDB()
	if err := db.Whole(ctx); err != nil {
		return "", err
	}
	if _, err := db.Pending(ctx); err != nil {
		return "", err
	}
	ring, err := seal.Open(c.Keyring)
	if errors.Is(err, seal.ErrNoKeyFile) {
		return "Now put the key file that belongs to it to " + c.Keyring.KeyFile + ".", nil
	}
	if err != nil {
		return "", err
	}
	check, err := db.SealedBy(ctx)
	if err == nil && check != nil {
		err = ring.Verify(check)
	}
	return "The keyring opens what it holds.", err
}
