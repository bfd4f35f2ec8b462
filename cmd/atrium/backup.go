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
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/secret"
)

// A backup contains the database, and the folders of files that people put into the data directory or have uploaded. It
// does not contain the key file: a stolen backup must not reveal sealed secrets.
const databaseInBackup = "atrium.db"

func foldersInBackup() []string { return []string{"sheets", "warehouses", "files"} }

type backupCommand struct {
	File string `arg:"" help:"File to write. It must not exist yet." type:"path"`
	JSON bool   `name:"json" help:"Print JSON: file, needs."`
}

// Help implements kong.HelpProvider.
func (backupCommand) Help() string {
	return `Writes a consistent snapshot of the SQLite database and the files of the data directory, while the
server runs. The key file (keyring.json) is left out on purpose: without it no one can open the credentials in a backup.
You need it for a restore: keep a copy in another place. For PostgreSQL, use pg_dump, and keep the key file.

Example:
  atrium backup /var/backups/atrium-$(date +%F).tar.gz --data /var/lib/atrium`
}

// Run implements the command.
func (b *backupCommand) Run(p *process) error {
	c, err := p.config(nil)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(b.File); err == nil {
		return fmt.Errorf("%s exists already: name a new file", b.File)
	}
	db, closeDB, err := sqlstore.Inspect(p.ctx, c.Database, node.OpenPool)
	if errors.Is(err, fs.ErrNotExist) {
		return p.noData(c)
	}
	if err != nil {
		return err
	}
	defer closeDB()
	draft := b.File + ".new"
	out, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft) }()
	if err := errors.Join(writeBackup(p.ctx, out, c, db), out.Sync(), out.Close()); err != nil {
		return err
	}
	if err := os.Link(draft, b.File); err != nil { // unlike a rename, it replaces no file
		return err
	}
	return p.print(b.JSON, map[string]string{"file": b.File, "needs": c.Keyring.KeyFile},
		"Wrote %s. It can only be opened with %s, which is not in it: keep a copy of that "+
			"file elsewhere.\n", b.File, c.Keyring.KeyFile)
}

// writeBackup writes a copy of the database, and the files in the data folder that belong to it, as a compressed
// archive.
func writeBackup(ctx context.Context, out io.Writer, c configs.Config, db *sqlstore.Store) error {
	writer := gzip.NewWriter(out)
	archive := tar.NewWriter(writer)
	scratch, err := os.MkdirTemp(filepath.Dir(c.Database.File()), "backup-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	database := filepath.Join(scratch, databaseInBackup)
	if err := db.CopyTo(ctx, database); err != nil {
		return err
	}
	if err := addFile(archive, database, databaseInBackup); err != nil {
		return err
	}
	for _, folder := range foldersInBackup() {
		root := filepath.Join(c.Data, folder)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || (err == nil && !entry.Type().IsRegular()) {
				return nil
			}
			if err != nil {
				return err
			}
			name, err := filepath.Rel(c.Data, path)
			if err != nil {
				return err
			}
			if err := addFile(archive, path, filepath.ToSlash(name)); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil // it was removed since
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), writer.Close())
}

func addFile(archive *tar.Writer, path, name string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.CopyN(archive, file, info.Size()) // later additions go into the next backup
	return err
}

type restoreCommand struct {
	File string `arg:"" help:"File that backup wrote." type:"existingfile"`
	JSON bool   `name:"json" help:"Print JSON: database, note."`
}

// Help implements kong.HelpProvider.
func (restoreCommand) Help() string {
	return `Fills a data directory that has no database yet. Also put the key file of the data (keyring.json)
there, before or after the restore: serve does not start without it. The next serve migrates a backup of an older
Atrium.

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
	paths := []string{target, target + "-wal"}
	for _, folder := range foldersInBackup() {
		paths = append(paths, filepath.Join(c.Data, folder))
	}
	for _, path := range paths {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("%s already exists: restore into a data directory that is empty "+
				"except for the key file", path))
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
	err = readBackup(r.File, scratch)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the backup is cut off: the end of the file is missing")
	}
	if err != nil {
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
	// last: it completes the restore
	if err := os.Rename(filepath.Join(scratch, databaseInBackup), target); err != nil {
		return err
	}
	return p.print(r.JSON, map[string]string{"database": target, "note": note}, "Restored %s. %s\n", target, note)
}

// readBackup unpacks a backup below folder, and refuses files that no backup contains.
func readBackup(file, folder string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	reader, err := gzip.NewReader(in)
	if err != nil {
		return errors.New("this is not a backup of Atrium")
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	archive, isComplete := tar.NewReader(reader), false
	for {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF) && isComplete:
			_, err := io.Copy(io.Discard, reader) //nolint:gosec // to verify the checksum; the data is discarded
			return err
		case errors.Is(err, io.EOF):
			return errors.New("this is not a backup of Atrium: it contains no database")
		case err != nil:
			return err
		}
		top, _, _ := strings.Cut(header.Name, "/")
		database := header.Name == databaseInBackup
		if header.Typeflag != tar.TypeReg || (!database && !slices.Contains(foldersInBackup(), top)) {
			return fmt.Errorf("it contains %q, which is never in a backup", header.Name)
		}
		isComplete = isComplete || database
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

// checkRestored returns an error if the database is damaged, comes from a newer Atrium, or is sealed with another
// keyring than the configured one. The note lists what is left to do.
func checkRestored(ctx context.Context, c configs.Config, file string) (note string, err error) {
	database := c.Database
	database.URL = secret.New("sqlite:" + file)
	db, closeDB, err := sqlstore.Inspect(ctx, database, node.OpenPool)
	if err != nil {
		return "", err
	}
	defer closeDB()
	if err := db.CheckIntegrity(ctx); err != nil {
		return "", err
	}
	if _, err := db.Pending(ctx); err != nil {
		return "", err
	}
	ring, err := seal.Open(c.Keyring)
	if errors.Is(err, seal.ErrNoKeyFile) {
		return "Now copy its key file to " + c.Keyring.KeyFile + ".", nil
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
