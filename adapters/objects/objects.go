// Package objects stores the content of uploaded files in a folder of the data directory: in it each workspace has a
// folder, and there each uploaded file has one, with a file for each of its parts.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Folder implements ports.FileParts.
type Folder struct{ path string }

var _ ports.FileParts = (*Folder)(nil)

// New returns a Folder at a path, which is created with the first part.
func New(path string) *Folder { return &Folder{path: path} }

// PartsFolder returns the folder of a file's parts, below the path of a Folder.
func PartsFolder(path string, ws identity.WorkspaceID, file source.FileID) string {
	return filepath.Join(path, string(ws), string(file))
}

// errName is the error for a name that does not come from this server.
var errName = errors.New("objects: not an identifier")

// valid reports whether all names are identifiers, which contain nothing that leads elsewhere.
func valid(ws identity.WorkspaceID, file source.FileID, parts ...string) bool {
	return id.Valid(identity.WorkspacePrefix, string(ws)) && id.Valid(source.FilePrefix, string(file)) &&
		!slices.ContainsFunc(parts, func(part string) bool { return !id.Valid(source.FilePrefix, part) })
}

// Put implements ports.FileParts.
func (f *Folder) Put(
	_ context.Context, ws identity.WorkspaceID, file source.FileID, part string, key, content []byte,
) error {
	if !valid(ws, file, part) {
		return errName
	}
	sealed, err := seal(file, part, key, content)
	if err != nil {
		return err
	}
	folder := PartsFolder(f.path, ws, file)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("objects: %w", err)
	}
	path := filepath.Join(folder, part)
	if err := write(path, sealed); err != nil {
		_ = os.Remove(path) // the sweep removes it otherwise
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			return fmt.Errorf("%w: no room for a file: %w", ports.ErrUnavailable, err)
		}
		return fmt.Errorf("objects: %w", err)
	}
	for _, parent := range []string{folder, filepath.Dir(folder), f.path} { // so that the names are on the disk, too
		if err := syncFolder(parent); err != nil {
			return fmt.Errorf("objects: %w", err)
		}
	}
	return nil
}

// write writes a new file, and returns once it is on the disk.
func write(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Remove implements ports.FileParts.
func (f *Folder) Remove(_ context.Context, ws identity.WorkspaceID, file source.FileID, parts ...string) error {
	if !valid(ws, file, parts...) {
		return errName
	}
	folder := PartsFolder(f.path, ws, file)
	if len(parts) == 0 {
		return os.RemoveAll(folder)
	}
	var failures []error
	for _, part := range parts {
		if err := os.Remove(filepath.Join(folder, part)); !errors.Is(err, fs.ErrNotExist) {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// listing returns the parts that a file has.
type listing = func(context.Context, identity.WorkspaceID, source.FileID) ([]string, error)

// Sweep implements ports.FileParts. An error about one file does not keep the others. What has another name was not
// stored by Put, and stays.
func (f *Folder) Sweep(ctx context.Context, end time.Time, list listing) error {
	workspaces, err := os.ReadDir(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	failures := []error{err}
	for _, workspace := range workspaces {
		ws := identity.WorkspaceID(workspace.Name())
		entries, err := os.ReadDir(filepath.Join(f.path, workspace.Name()))
		if err != nil && workspace.IsDir() {
			failures = append(failures, err)
		}
		for _, entry := range entries {
			if file := source.FileID(entry.Name()); valid(ws, file) && ctx.Err() == nil {
				failures = append(failures, f.sweep(ctx, ws, file, end, list))
			}
		}
		if id.Valid(identity.WorkspacePrefix, string(ws)) {
			_ = os.Remove(filepath.Join(f.path, workspace.Name())) // it stays while something is in it
		}
	}
	return errors.Join(append(failures, ctx.Err())...)
}

// sweep removes parts that their file does not have, and its folder if nothing is left in it.
func (f *Folder) sweep(
	ctx context.Context, ws identity.WorkspaceID, file source.FileID, end time.Time, list listing,
) error {
	folder := PartsFolder(f.path, ws, file)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	parts, err := list(ctx, ws, file) // after the folder was read: what is added since is not among its entries
	if err != nil {
		return err
	}
	var failures []error
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || slices.Contains(parts, entry.Name()) || !info.ModTime().Before(end) {
			continue
		}
		failures = append(failures, os.Remove(filepath.Join(folder, entry.Name())))
	}
	if len(parts) == 0 {
		_ = os.Remove(folder) // it stays while something is in it
	}
	return errors.Join(failures...)
}
