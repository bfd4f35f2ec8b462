package sources

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// fileKeySize is the size in bytes of the key that encrypts a file's content.
const fileKeySize = 32

// errRehearsed undoes a transaction that succeeded.
var errRehearsed = errors.New("rehearsed")

// Files returns the workspace's uploaded files, newest first.
func (s *Service) Files(ctx context.Context, by identity.Actor, q page.Query) (page.Of[source.File], error) {
	found, err := s.files.List(ctx, by.Workspace, q)
	if err != nil {
		return page.Of[source.File]{}, err
	}
	out := page.Of[source.File]{Next: found.Next}
	for i := range found.Items {
		if f := &found.Items[i]; f.Access(by) >= source.See {
			out.Items = append(out.Items, *f)
		}
	}
	return out, nil
}

// File returns an uploaded file.
func (s *Service) File(ctx context.Context, by identity.Actor, id source.FileID) (*source.File, error) {
	f, err := s.files.Get(ctx, by.Workspace, id)
	if err != nil {
		return nil, err
	}
	return f, f.Allow(by, source.See)
}

// NewFile returns a file for AddFile, which waits for a content of size bytes. If content is not nil, it is the whole
// content, which NewFile stores. Requires the member role.
func (s *Service) NewFile(
	ctx context.Context, by identity.Actor, name string, size int64, content []byte,
) (*source.File, error) {
	if content != nil {
		size = int64(len(content))
	}
	f, err := source.NewFile(by, name, size)
	if err != nil {
		return nil, err
	}
	if s.deps.FileParts == nil {
		return nil, source.ErrUploadsNotConfigured
	}
	key := make([]byte, fileKeySize)
	_, _ = rand.Read(key) // it never fails
	if f.Key, err = s.deps.Sealer.Seal(key, f.KeyPlace()); err != nil || content == nil {
		return f, err
	}
	if err := s.rehearse(ctx, by, func(tx ports.Stores) error { return tx.SourceFiles.Add(ctx, by, f) }); err != nil {
		return nil, err
	}
	part := source.NewPartID()
	if err := f.Receive(by, source.FileRange{Bytes: size, Total: size}, part); err != nil {
		return nil, err
	}
	return f, s.deps.FileParts.Put(ctx, f.Workspace, f.ID, part, key, content)
}

// AddFile stores a file of NewFile. A *quota.LimitError if the workspace has no room for it.
func (s *Service) AddFile(ctx context.Context, by identity.Actor, f *source.File) error {
	err := s.counted(ctx, by, nil, func(tx ports.Stores) error { return tx.SourceFiles.Add(ctx, by, f) })
	s.discard(ctx, by, err, f.ID)
	return err
}

// counted makes a change in a transaction, and undoes it if the workspace then uses more than its quota, or to return
// outcome. Changes to a workspace's files wait for each other.
func (s *Service) counted(
	ctx context.Context, by identity.Actor, outcome error, change func(ports.Stores) error,
) error {
	limits, err := s.deps.Quotas(ctx, by)
	if err != nil {
		return err
	}
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := tx.Usage.Lock(ctx, by.Workspace); err != nil {
			return err
		}
		if err := change(tx); err != nil {
			return err
		}
		if err := tx.CheckUsage(ctx, by, limits, quota.StorageBytes); err != nil {
			return err
		}
		return outcome
	})
}

// rehearse makes a change as counted does, and undoes it: what is refused is known before a part is written, so that
// refused requests fill no disk.
func (s *Service) rehearse(ctx context.Context, by identity.Actor, change func(ports.Stores) error) error {
	if err := s.counted(ctx, by, errRehearsed, change); !errors.Is(err, errRehearsed) {
		return err
	}
	return nil
}

// discard removes parts that were stored for a change that was refused; all of the file's if none is named. After
// another error, the change may be made again.
func (s *Service) discard(
	ctx context.Context, by identity.Actor, err error, id source.FileID, parts ...string,
) {
	if _, isRefused := errors.AsType[*fault.Error](err); isRefused {
		_ = s.deps.FileParts.Remove(ctx, by.Workspace, id, parts...) // what fails here, the sweep does
	}
}

// StorePart stores a part, which has a place in a file's content, for AcceptPart. Requires the admin role, unless by
// created the file. It returns the part's id.
func (s *Service) StorePart(
	ctx context.Context, by identity.Actor, id source.FileID, place source.FileRange, content []byte,
) (part string, err error) {
	f, err := s.files.Get(ctx, by.Workspace, id)
	if err != nil {
		return "", err
	}
	if err := f.Allow(by, source.Manage); err != nil {
		return "", err
	}
	if s.deps.FileParts == nil {
		return "", source.ErrUploadsNotConfigured
	}
	part = source.NewPartID()
	if err := s.rehearse(ctx, by, func(tx ports.Stores) error {
		_, err := receive(ctx, tx, by, id, place, part)
		return err
	}); err != nil {
		return "", err
	}
	key, err := s.openKey(f)
	if err != nil {
		return "", err
	}
	return part, s.deps.FileParts.Put(ctx, by.Workspace, id, part, key, content)
}

// receive adds a part to a file.
func receive(
	ctx context.Context, tx ports.Stores, by identity.Actor, id source.FileID, place source.FileRange, part string,
) (*source.File, error) {
	return tx.SourceFiles.Update(ctx, by.Workspace, id,
		func(f *source.File) error { return f.Receive(by, place, part) })
}

// AcceptPart adds a part of StorePart to a file. With the last part the content is complete, and the sources that read
// the file are refreshed. *quota.LimitError as for AddFile.
func (s *Service) AcceptPart(
	ctx context.Context, by identity.Actor, id source.FileID, place source.FileRange, part string,
) (f *source.File, err error) {
	err = s.counted(ctx, by, nil, func(tx ports.Stores) (err error) {
		if f, err = receive(ctx, tx, by, id, place, part); err != nil || f.Pending.Size > 0 {
			return err
		}
		return s.refreshReaders(ctx, tx, by, f)
	})
	if err != nil {
		s.discard(ctx, by, err, id, part)
		return nil, err
	}
	for _, p := range f.Dropped {
		_ = s.deps.FileParts.Remove(ctx, by.Workspace, id, p.ID) // what fails here, the sweep does
	}
	return f, nil
}

// refreshReaders queues a refresh of each source that reads a file, unless it is paused.
func (s *Service) refreshReaders(ctx context.Context, tx ports.Stores, by identity.Actor, f *source.File) error {
	readers, err := tx.SourceFiles.Readers(ctx, by.Workspace, f.ID)
	if err != nil {
		return err
	}
	for i := range readers {
		src, err := tx.Sources.Update(ctx, by.Workspace, readers[i].ID,
			func(src *source.Source) error { return src.Due(by, s.deps.Limits.Refresh) })
		if errors.Is(err, source.ErrPaused) || errors.Is(err, source.ErrForbidden) {
			continue
		}
		if err != nil {
			return err
		}
		if err := tx.Jobs.Enqueue(ctx, refreshOf(src, by)); err != nil {
			return err
		}
	}
	return nil
}

// RemoveFile removes a file that no source reads. Requires the admin role, unless by created the file.
func (s *Service) RemoveFile(
	ctx context.Context, by identity.Actor, id source.FileID, match revision.Match,
) error {
	if err := s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		_, err := tx.SourceFiles.Update(ctx, by.Workspace, id, func(f *source.File) error {
			readers, err := tx.SourceFiles.Readers(ctx, by.Workspace, f.ID)
			if err != nil {
				return err
			}
			return f.Remove(by, match, readers)
		})
		return err
	}); err != nil {
		return err
	}
	if s.deps.FileParts != nil {
		_ = s.deps.FileParts.Remove(ctx, by.Workspace, id) // what fails here, the sweep does
	}
	return nil
}

// partsKept is how long parts that no file has are kept: parts that running requests have stored are among them.
const partsKept = time.Hour

// SweepFiles removes the stored parts that no file has: of files that were removed, with their workspaces too, of
// uploads that were given up, and of requests that failed.
func (s *Service) SweepFiles(ctx context.Context, now time.Time) error {
	if s.deps.FileParts == nil {
		return nil
	}
	return s.deps.FileParts.Sweep(ctx, now.Add(-partsKept), s.partsOf)
}

// partsOf returns the ids of a file's parts; nil if there is no such file.
func (s *Service) partsOf(ctx context.Context, ws identity.WorkspaceID, id source.FileID) (parts []string, err error) {
	f, err := s.files.Get(ctx, ws, id)
	if errors.Is(err, source.ErrFileNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Concat(f.Content.Parts, f.Pending.Parts) {
		parts = append(parts, p.ID)
	}
	return parts, nil
}

// stored returns the uploaded file that a location names; nil for other locations. source.ErrSheetNotFound if the
// workspace has no such file, or nothing complete of it.
func (s *Service) stored(
	ctx context.Context, ws identity.WorkspaceID, location source.SheetLocation,
) (*ports.StoredFile, error) {
	id, ok := source.UploadedFile(location.URL)
	if !ok {
		return nil, nil //nolint:nilnil // another location
	}
	f, err := s.files.Get(ctx, ws, id)
	switch {
	case errors.Is(err, source.ErrFileNotFound):
		return nil, source.ErrSheetNotFound
	case err != nil:
		return nil, err
	case f.Content.Size == 0:
		return nil, source.ErrSheetNotFound.Because("The file has not been received completely.")
	}
	key, err := s.openKey(f)
	if err != nil {
		return nil, err
	}
	return &ports.StoredFile{Workspace: f.Workspace, ID: f.ID, Name: f.Name, Key: key, Parts: f.Content.Parts}, nil
}

// openKey returns the key of a file's content.
func (s *Service) openKey(f *source.File) ([]byte, error) {
	key, err := s.deps.Sealer.Open(f.Key, f.KeyPlace())
	if err != nil {
		return nil, fmt.Errorf("the key of %s: %w", f.ID, err)
	}
	return key, nil
}

// lockFile keeps the uploaded file that a location names from being removed until tx ends; source.ErrSheetNotFound if
// it was removed.
func lockFile(ctx context.Context, tx ports.Stores, by identity.Actor, location source.SheetLocation) error {
	id, ok := source.UploadedFile(location.URL)
	if !ok {
		return nil
	}
	_, err := tx.SourceFiles.Update(ctx, by.Workspace, id, func(*source.File) error { return nil })
	if errors.Is(err, source.ErrFileNotFound) {
		return source.ErrSheetNotFound
	}
	return err
}
