package contract

import (
	"context"
	"testing"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// mebibyte is in bytes.
const mebibyte = 1 << 20

// newFile returns a file of by that waits for a content.
func newFile(t *testing.T, by identity.Actor, size int64) *source.File {
	t.Helper()
	f, err := source.NewFile(by, "Contacts.csv", size)
	must(t, err)
	f.Key = []byte{0, 255}
	return f
}

// receive adds a part to a stored file.
func receive(t *testing.T, a Adapter, by identity.Actor, id source.FileID, r source.FileRange, part string) {
	t.Helper()
	_, err := a.SourceFiles.Update(t.Context(), by.Workspace, id,
		func(f *source.File) error { return f.Receive(by, r, part) })
	must(t, err)
}

func sourceFiles(t *testing.T, a Adapter) {
	ctx := t.Context()
	by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
	other := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
	file := newFile(t, by, 10*mebibyte)
	must(t, a.SourceFiles.Add(ctx, by, file))
	get := func(t *testing.T) *source.File {
		t.Helper()
		found, err := a.SourceFiles.Get(ctx, by.Workspace, file.ID)
		must(t, err)
		return found
	}
	used := func(t *testing.T) int64 {
		t.Helper()
		amounts, err := a.Usage.Amounts(ctx, by.Workspace, by.At)
		must(t, err)
		return amounts.StorageBytes
	}

	t.Run("Get returns what Add was given", func(t *testing.T) { same(t, "file", get(t), file) })
	t.Run("quotas count a file from the beginning of its upload, and both contents while it is replaced",
		func(t *testing.T) {
			same(t, "bytes", used(t), int64(10*mebibyte))
			receive(t, a, by, file.ID, source.FileRange{Bytes: 8 * mebibyte, Total: 10 * mebibyte}, "one")
			same(t, "bytes", used(t), int64(10*mebibyte))
			receive(t, a, by, file.ID,
				source.FileRange{First: 8 * mebibyte, Bytes: 2 * mebibyte, Total: 10 * mebibyte}, "two")
			receive(t, a, by, file.ID, source.FileRange{Bytes: 8 * mebibyte, Total: 9 * mebibyte}, "three")
			same(t, "bytes", used(t), int64(19*mebibyte))
		})
	t.Run("Update stores the contents, the parts and the events", func(t *testing.T) {
		got := get(t)
		same(t, "content", got.Content, source.Upload{Size: 10 * mebibyte,
			Parts: []source.FilePart{{ID: "one", Bytes: 8 * mebibyte}, {ID: "two", Bytes: 2 * mebibyte}}})
		same(t, "pending", got.Pending, source.Upload{Size: 9 * mebibyte,
			Parts: []source.FilePart{{ID: "three", Bytes: 8 * mebibyte}}})
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(file.ID))), []string{"file.uploaded"})
	})
	t.Run("a change that fails stores nothing", func(t *testing.T) {
		previous := get(t)
		_, err := a.SourceFiles.Update(ctx, by.Workspace, file.ID, func(f *source.File) error {
			f.Content.Size = 1
			return errBoom
		})
		wantErr(t, err, errBoom)
		same(t, "file", get(t), previous)
	})
	t.Run("another workspace finds no file", func(t *testing.T) {
		_, err := a.SourceFiles.Get(ctx, other.Workspace, file.ID)
		wantErr(t, err, source.ErrFileNotFound)
		_, err = a.SourceFiles.Update(ctx, other.Workspace, file.ID, func(*source.File) error { return nil })
		wantErr(t, err, source.ErrFileNotFound)
		found, err := a.SourceFiles.List(ctx, other.Workspace, page.Query{Limit: 10})
		must(t, err)
		same(t, "files", len(found.Items), 0)
	})
	t.Run("List has pages, newest first", func(t *testing.T) {
		second := newFile(t, by, 1)
		must(t, a.SourceFiles.Add(ctx, by, second))
		first, err := a.SourceFiles.List(ctx, by.Workspace, page.Query{Limit: 1})
		must(t, err)
		same(t, "first page", first.Items[0].ID, second.ID)
		next, err := a.SourceFiles.List(ctx, by.Workspace, page.Query{Limit: 1, After: first.Next})
		must(t, err)
		same(t, "second page", []any{next.Items[0].ID, next.Next}, []any{file.ID, ""})
	})
	t.Run("Readers are the sources that read a file", func(t *testing.T) {
		reading := fixture.SheetReading()
		reading.Location.Sheet.URL = file.URL()
		reader := fixture.Source(t, a.Stores, by, reading)
		fixture.Source(t, a.Stores, by, fixture.SheetReading())
		found, err := a.SourceFiles.Readers(ctx, by.Workspace, file.ID)
		must(t, err)
		same(t, "sources", found, []source.Summary{reader.Summary()})
		found, err = a.SourceFiles.Readers(ctx, other.Workspace, file.ID)
		must(t, err)
		same(t, "other sources", len(found), 0)
	})
	t.Run("a file that change removed is gone, and its event stays", func(t *testing.T) {
		_, err := a.SourceFiles.Update(ctx, by.Workspace, file.ID,
			func(f *source.File) error { return f.Remove(by, nil, nil) })
		must(t, err)
		_, err = a.SourceFiles.Get(ctx, by.Workspace, file.ID)
		wantErr(t, err, source.ErrFileNotFound)
		same(t, "bytes", used(t), int64(1))
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(file.ID))),
			[]string{"file.deleted", "file.uploaded"})
	})
	t.Run("a deleted workspace gets no file", func(t *testing.T) {
		goneTeam := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		_, err := a.Workspaces.Update(ctx, goneTeam.Owner, goneTeam.Owner.Workspace, nil,
			func(w *account.Workspace) error { return w.Delete(goneTeam.Owner, nil) })
		must(t, err)
		wantErr(t, a.SourceFiles.Add(ctx, goneTeam.Member, newFile(t, goneTeam.Member, 1)),
			identity.ErrWorkspaceNotFound)
	})
	t.Run("the last free bytes and the last free place are given once", func(t *testing.T) { fileRaces(t, a) })
}

// noParts stores no parts.
type noParts struct{ ports.FileParts }

func (noParts) Remove(context.Context, identity.WorkspaceID, source.FileID, ...string) error {
	return nil
}

// fileRaces has concurrent writers add files to a workspace that has room for three.
func fileRaces(t *testing.T, a Adapter) {
	const writers, room = 8, 3
	ctx := t.Context()
	by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
	limits := quota.Limits{Amounts: quota.Default()}
	limits.StorageBytes = room*64*mebibyte + 1
	service := sources.NewService(a.Atomic, a.SourceStores, sources.Deps{FileParts: noParts{},
		Quotas: func(context.Context, identity.Actor) (quota.Limits, error) { return limits, nil }})
	add := func(size int64) func(int) error {
		var files []*source.File
		for range writers {
			files = append(files, newFile(t, by, size))
		}
		return func(i int) error { return service.AddFile(ctx, by, files[i]) }
	}
	same(t, "files within the quota", got(t, atOnce(writers, add(64*mebibyte)), quota.ErrExceeded), room)
	fileGrowths(t, a, service, &limits)
	limits.StorageBytes = quota.Unlimited
	must(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
		for range source.MaxFiles - room - 2 {
			f := newFile(t, by, 1)
			f.Log = event.Log{}
			if err := tx.SourceFiles.Add(ctx, by, f); err != nil {
				return err
			}
		}
		return nil
	}))
	same(t, "files within the limit", got(t, atOnce(writers, add(1)), source.ErrFileLimit), 2)
	found, err := a.SourceFiles.List(ctx, by.Workspace, page.Query{Limit: source.MaxFiles + 10})
	must(t, err)
	same(t, "files", len(found.Items), source.MaxFiles)
}

// fileGrowths has concurrent writers begin next contents of files in a workspace that has room for three of them.
func fileGrowths(t *testing.T, a Adapter, service *sources.Service, limits *quota.Limits) {
	t.Helper()
	const writers, room = 8, 3
	by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
	var files []source.FileID
	for range writers {
		f := newFile(t, by, 1)
		must(t, a.SourceFiles.Add(t.Context(), by, f))
		files = append(files, f.ID)
	}
	limits.StorageBytes = room*64*mebibyte + writers
	same(t, "contents within the quota", got(t, atOnce(writers, func(i int) error {
		_, err := service.AcceptPart(t.Context(), by, files[i],
			source.FileRange{Bytes: 8 * mebibyte, Total: 64 * mebibyte}, "part")
		return err
	}), quota.ErrExceeded), room)
}
