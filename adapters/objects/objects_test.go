package objects_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"github.com/atrium-hq/atrium/adapters/objects"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// team is a workspace.
const team identity.WorkspaceID = "wsp_01jb4rqnx1fnrsd6zzyk1p1m0q"

// stored is a file of some parts, in a folder.
type stored struct {
	*objects.Folder
	path    string
	file    ports.StoredFile
	content []byte
}

// store stores a file with parts of random bytes.
func store(t *testing.T, sizes ...int) *stored {
	t.Helper()
	s := &stored{path: filepath.Join(t.TempDir(), "files")}
	s.Folder = objects.New(s.path)
	s.file = ports.StoredFile{Workspace: team, ID: source.FileID(id.New(source.FilePrefix)),
		Key: bytes.Repeat([]byte{7}, 32)}
	for _, size := range sizes {
		content := make([]byte, size)
		_, _ = rand.Read(content) // it never fails
		part := source.FilePart{ID: source.NewPartID(), Bytes: int64(size)}
		require.NoError(t, s.Put(t.Context(), team, s.file.ID, part.ID, s.file.Key, content))
		s.file.Parts = append(s.file.Parts, part)
		s.content = append(s.content, content...)
	}
	return s
}

// part returns the path of a part.
func (s *stored) part(i int) string {
	return filepath.Join(objects.PartsFolder(s.path, team, s.file.ID), s.file.Parts[i].ID)
}

// read returns the file's content.
func (s *stored) read() ([]byte, error) {
	c, err := objects.Open(s.path, &s.file)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
}

func TestAContentReadsAsItWasStored(t *testing.T) {
	const chunk = 64 << 10
	for _, sizes := range [][]int{{1}, {chunk}, {chunk + 1, 3*chunk - 1, 5}, {chunk - 1, 1, chunk}} {
		s := store(t, sizes...)
		c, err := objects.Open(s.path, &s.file)
		require.NoError(t, err)
		require.NoError(t, iotest.TestReader(io.NewSectionReader(c, 0, c.Size()), s.content))
		assert.Equal(t, "size", c.Size(), int64(len(s.content)))
		require.NoError(t, c.Close())
	}
}

func TestThePlainContentIsNotOnTheDisk(t *testing.T) {
	s := store(t)
	secret := bytes.Repeat([]byte("ada@example.com;"), 5000)
	part := source.NewPartID()
	require.NoError(t, s.Put(t.Context(), team, s.file.ID, part, s.file.Key, secret))
	path := filepath.Join(objects.PartsFolder(s.path, team, s.file.ID), part)
	sealed, err := os.ReadFile(path)
	require.NoError(t, err)
	if bytes.Contains(sealed, []byte("example")) {
		t.Error("the disk has the content")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestChangedPartsAreNotRead(t *testing.T) {
	const chunk = 64<<10 + 16 // on the disk
	rewrite := func(change func(b []byte) []byte) func(*testing.T, *stored) {
		return func(t *testing.T, s *stored) {
			b, err := os.ReadFile(s.part(0))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(s.part(0), change(b), 0o600))
		}
	}
	for name, change := range map[string]func(*testing.T, *stored){
		"a changed byte": rewrite(func(b []byte) []byte { b[chunk+5] ^= 1; return b }),
		"chunks that change places": rewrite(func(b []byte) []byte {
			return slices.Concat(b[chunk:2*chunk], b[:chunk], b[2*chunk:])
		}),
		"a missing end":  rewrite(func(b []byte) []byte { return b[:2*chunk] }),
		"a longer end":   rewrite(func(b []byte) []byte { return append(b, 0) }),
		"a missing part": func(t *testing.T, s *stored) { require.NoError(t, os.Remove(s.part(1))) },
		"parts that change places": func(t *testing.T, s *stored) {
			other := s.part(0) + "x"
			require.NoError(t, errors.Join(os.Rename(s.part(0), other), os.Rename(s.part(1), s.part(0)),
				os.Rename(other, s.part(1))))
		},
		"a part's other size":   func(_ *testing.T, s *stored) { s.file.Parts[0].Bytes-- },
		"another key":           func(_ *testing.T, s *stored) { s.file.Key = bytes.Repeat([]byte{8}, 32) },
		"another file's folder": func(t *testing.T, s *stored) { moveToOther(t, s) },
		"a name that leads out": func(_ *testing.T, s *stored) { s.file.Parts[0].ID = "../" + s.file.Parts[0].ID },
	} {
		t.Run(name, func(t *testing.T) {
			s := store(t, 3*64<<10, 3*64<<10)
			change(t, s)
			if got, err := s.read(); err == nil {
				t.Errorf("%d bytes are read", len(got))
			}
		})
	}
}

// moveToOther moves a file's parts to another file, which has the same key.
func moveToOther(t *testing.T, s *stored) {
	t.Helper()
	other := source.FileID(id.New(source.FilePrefix))
	require.NoError(t, os.Rename(objects.PartsFolder(s.path, team, s.file.ID),
		objects.PartsFolder(s.path, team, other)))
	s.file.ID = other
}

func TestAPartIsNeverOverwritten(t *testing.T) {
	s := store(t, 5)
	if err := s.Put(t.Context(), team, s.file.ID, s.file.Parts[0].ID, s.file.Key, []byte("other")); err == nil {
		t.Error("it is overwritten")
	}
}

func TestPartsThatAreRemovedStayReadableWhereTheyAreOpen(t *testing.T) {
	s := store(t, 100<<10, 5)
	c, err := objects.Open(s.path, &s.file)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, s.Remove(t.Context(), team, s.file.ID, s.file.Parts[0].ID))
	require.NoError(t, s.Remove(t.Context(), team, s.file.ID, s.file.Parts[0].ID)) // it is gone
	got, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
	require.NoError(t, err)
	if !bytes.Equal(got, s.content) {
		t.Error("another content is read")
	}
	if _, err := os.Stat(s.part(1)); err != nil {
		t.Errorf("the other part: %v", err)
	}
	require.NoError(t, s.Remove(t.Context(), team, s.file.ID))
	if _, err := s.read(); err == nil {
		t.Error("a removed file is read")
	}
}

func TestTheSweepRemovesOldPartsThatNoFileHas(t *testing.T) {
	s := store(t, 1, 2, 3)
	gone := source.FileID(id.New(source.FilePrefix))
	orphan := source.NewPartID()
	require.NoError(t, s.Put(t.Context(), team, gone, orphan, s.file.Key, []byte("x")))
	foreign := filepath.Join(s.path, "notes")
	require.NoError(t, os.MkdirAll(foreign, 0o700))
	hour := time.Now().Add(-time.Hour)
	orphanPath := filepath.Join(objects.PartsFolder(s.path, team, gone), orphan)
	for _, path := range []string{s.part(0), s.part(1), orphanPath, foreign} {
		require.NoError(t, os.Chtimes(path, hour, hour))
	}
	sweep := func(list func(context.Context, identity.WorkspaceID, source.FileID) ([]string, error)) error {
		return s.Sweep(t.Context(), time.Now().Add(-time.Minute), list)
	}
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }

	errAway := errors.New("the store is away")
	err := sweep(func(context.Context, identity.WorkspaceID, source.FileID) ([]string, error) { return nil, errAway })
	if !errors.Is(err, errAway) || !exists(s.part(0)) {
		t.Errorf("what is unknown is removed: %v", err)
	}
	require.NoError(t, sweep(func(_ context.Context, _ identity.WorkspaceID, file source.FileID) ([]string, error) {
		if file == s.file.ID {
			return []string{s.file.Parts[0].ID}, nil
		}
		return nil, nil
	}))
	for name, check := range map[string]bool{
		"a part of a file stays":           exists(s.part(0)),
		"a part of no file is removed":     !exists(s.part(1)),
		"a new part stays":                 exists(s.part(2)),
		"a file's folder is removed":       !exists(objects.PartsFolder(s.path, team, gone)),
		"a folder of someone else's stays": exists(foreign),
	} {
		assert.That(t, check, "%s: no", name)
	}
	require.NoError(t, objects.New(filepath.Join(s.path, "none")).Sweep(t.Context(), time.Now(), nil))
}
